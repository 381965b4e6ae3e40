"""Rows of `rollbench export --format skyrl` as SkyRL takes them. Python only.

    output = skyrl.load("FILE")                 # GeneratorOutput (skyrl/train/generators/base.py)
    output = skyrl.merge_stepwise(output)       # fewer rows for the same tokens
    batch = skyrl.tensors(output, pad_id=0)     # lists; torch.tensor() takes them
    result = skyrl.skyrl_agent("FILE")          # what SkyRL-Agent's generator returns
"""
import json

COLUMNS = {"prompt_token_ids": "prompt_token_ids", "response_ids": "response_ids", "loss_masks": "loss_mask",
           "rewards": "reward", "rollout_logprobs": "rollout_logprobs", "stop_reasons": "stop_reason",
           "trajectory_ids": "trajectory_id", "is_last_step": "is_last_step"}


def rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def load(path, token_rewards=False, advantages=False):
    """The columns of GeneratorOutput.

    token_rewards puts each reward on the last token of its response.
    advantages adds rollbench's own, which SkyRL does not ask for: it computes
    them from the rewards.
    """
    columns = {name: [] for name in COLUMNS}
    extra = []
    for row in rows(path):
        for name, key in COLUMNS.items():
            columns[name].append(row[key])
        extra.append(row["advantage"])
    for name in ("rollout_logprobs", "is_last_step"):  # a field is there for every row or for none
        if all(value is None for value in columns[name]):
            columns[name] = None
        elif any(value is None for value in columns[name]):
            raise ValueError(f"{path}: {name} is null in some rows")
    if token_rewards:
        columns["rewards"] = [on_last(reward, ids) for reward, ids in zip(columns["rewards"], columns["response_ids"])]
    if advantages:
        columns["advantages"] = extra
    columns["rollout_metrics"] = {}
    return columns


def on_last(value, ids):
    return [0.0] * (len(ids) - 1) + [value]


def merge_stepwise(output):
    """Joins the rows of a trajectory while each prompt begins with the row
    before it (SkyRL's merge_stepwise_output). Rewards are one number a row."""
    merged = {name: [] for name, column in output.items() if isinstance(column, list)}
    for i, prompt in enumerate(output["prompt_token_ids"]):
        row = {name: output[name][i] for name in merged}
        if merged["prompt_token_ids"] and continues(merged, row):
            observed = prompt[len(merged["prompt_token_ids"][-1]) + len(merged["response_ids"][-1]):]
            for name, empty in (("response_ids", observed), ("loss_masks", [0] * len(observed)), ("rollout_logprobs", [0.0] * len(observed))):
                if name in merged:
                    merged[name][-1] = merged[name][-1] + empty + row[name]
            merged["rewards"][-1] += row["rewards"]
            for name in merged.keys() - {"prompt_token_ids", "response_ids", "loss_masks", "rollout_logprobs", "rewards"}:
                merged[name][-1] = row[name]
        else:
            for name in merged:
                merged[name].append(row[name])
    return {**output, **merged}


def continues(merged, row):
    before = merged["prompt_token_ids"][-1] + merged["response_ids"][-1]
    return merged["trajectory_ids"][-1] == row["trajectory_ids"] and row["prompt_token_ids"][:len(before)] == before


def tensors(output, pad_id=0):
    """The layout of convert_prompts_responses_to_batch_tensors
    (skyrl/train/dataset/preprocess.py): sequences are padded on the left, and
    what belongs to responses is aligned on the right. rewards are per token.
    With advantages in output, advantage is there too; a row of a group of one
    has none, and cannot be in a batch."""
    prompts, responses = output["prompt_token_ids"], output["response_ids"]
    width = max(len(p) + len(r) for p, r in zip(prompts, responses))
    longest = max(len(r) for r in responses)

    def left(values, size, pad=0):
        return [pad] * (size - len(values)) + values

    def right(column):
        return [left(values, longest) for values in column]

    rewards = [r if isinstance(r, list) else on_last(r, ids) for r, ids in zip(output["rewards"], responses)]
    batch = {
        "sequences": [left(p + r, width, pad_id) for p, r in zip(prompts, responses)],
        "attention_mask": [left([1] * (len(p) + len(r)), width) for p, r in zip(prompts, responses)],
        "response_mask": right([1] * len(r) for r in responses),
        "loss_mask": right(output["loss_masks"]),
        "rewards": right(rewards),
    }
    if output["rollout_logprobs"] is not None:
        batch["rollout_logprobs"] = right(output["rollout_logprobs"])
    if "advantages" in output:
        if None in output["advantages"]:
            raise ValueError("a row has no advantage: its group has one member")
        batch["advantage"] = right([a] * len(r) for a, r in zip(output["advantages"], responses))
    return batch


def skyrl_agent(path):
    """What SkyRL-Agent's _post_process_results returns
    (skyrl-agent/skyrl_agent/agents/base.py): the reward of a trajectory is on
    each of its rows, and once in traj_rewards."""
    output = load(path)
    if output["is_last_step"] is not None:
        output = merge_stepwise(output)
    last = output["is_last_step"] or [True] * len(output["rewards"])
    rewards, episodes, numbers, row = [], [], [], 0
    for i, ends in enumerate(last):
        row += 1
        if ends:
            rewards += [output["rewards"][i]] * row
            numbers.append(output["rewards"][i])
            episodes.append(row)
            row = 0
    return {
        "prompt_token_ids": output["prompt_token_ids"], "response_ids": output["response_ids"],
        "loss_masks": [[float(m) for m in mask] if any(mask) else mask for mask in output["loss_masks"]],
        "rewards": rewards, "traj_rewards": numbers, "episode_nums": episodes, "is_last_episode": last,
        "traj_idx": ["{instance_id}-traj{repetition_id}".format(**t) for t in output["trajectory_ids"]],
        "stop_reasons": [None] * len(last), "rollout_logprobs": output["rollout_logprobs"], "rollout_metrics": {},
    }


def metrics(path):
    """rollout_metrics of the run, as FILE.meta.json has them."""
    with open(path + ".meta.json", encoding="utf-8") as file:
        return json.load(file)["metrics"]
