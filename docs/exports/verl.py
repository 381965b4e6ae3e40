"""Rows of `rollbench export --format verl` (JSON lines) and `verl-parquet` as
verl takes them. Python only; for Parquet files with rollbench_parquet.py.

    batch = verl.load("FILE", prompt_length=1024, response_length=8192, pad_id=0)
    outputs = verl.agent_loop_outputs("FILE")   # AgentLoopOutput (verl/experimental/agent_loop/agent_loop.py)
"""
import json


def rows(path):
    if not path.endswith(".parquet"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
        return
    import rollbench_parquet

    for row in rollbench_parquet.rows(path):
        flat = row["spans"]
        yield {**row, "spans": [flat[i:i + 3] for i in range(0, len(flat), 3)]}


def load(path, prompt_length, response_length, pad_id=0, uids=None):
    """A DataProto's three parts as lists, padded as verl's agent loop pads
    them: prompts on the left, all else on the right. A row that is longer is
    an error: nothing is cut. uids gives the trainer's own name of a group for
    each of the file's."""
    batch = {name: [] for name in ("prompts", "responses", "response_mask", "input_ids", "attention_mask", "position_ids",
                                   "rollout_log_probs", "rm_scores")}
    other = {"uid": [], "__num_turns__": []}
    for number, row in enumerate(rows(path), 1):
        prompt, response = row["prompts"], row["responses"]
        if len(prompt) > prompt_length or len(response) > response_length:
            raise ValueError(f"{path}: row {number} has {len(prompt)} and {len(response)} tokens; more than {prompt_length} and {response_length}")
        left, right = prompt_length - len(prompt), response_length - len(response)
        attention = [0] * left + [1] * (len(prompt) + len(response)) + [0] * right
        batch["prompts"].append([pad_id] * left + prompt)
        batch["responses"].append(response + [pad_id] * right)
        batch["response_mask"].append(row["response_mask"] + [0] * right)
        batch["input_ids"].append([pad_id] * left + prompt + response + [pad_id] * right)
        batch["attention_mask"].append(attention)
        batch["position_ids"].append(positions(attention))
        if row["rollout_log_probs"] is not None:
            batch["rollout_log_probs"].append(row["rollout_log_probs"] + [0.0] * right)
        batch["rm_scores"].append(row["rm_scores"] + [0.0] * right)
        other["uid"].append(uids[row["uid"]] if uids else row["uid"])
        other["__num_turns__"].append(row["num_turns"])
    if not batch["rollout_log_probs"]:
        del batch["rollout_log_probs"]
    elif len(batch["rollout_log_probs"]) < len(batch["prompts"]):
        raise ValueError(f"{path}: rollout_log_probs is null in some rows")
    return {"batch": batch, "non_tensor_batch": other, "meta_info": {}}


def positions(attention):
    """(cumsum(attention) - 1) * attention"""
    seen, out = 0, []
    for a in attention:
        seen += a
        out.append((seen - 1) * a)
    return out


def load_skyrl_agent(path, prompt_length, response_length, pad_id=0, uids=None):
    """The batch that SkyRL-Agent hands to verl's trainer
    (skyrl-agent/skyrl_agent/integrations/verl/verl_async_manager.py): it is
    padded to the longest row where that is longer, and rewards stand apart."""
    found = list(rows(path))
    data = load(path, max([prompt_length] + [len(r["prompts"]) for r in found]),
                max([response_length] + [len(r["responses"]) for r in found]), pad_id, uids)
    for name in ("rollout_log_probs", "rm_scores"):
        data["batch"].pop(name, None)
    data["non_tensor_batch"]["rewards"] = [r["reward_score"] for r in found]
    return data


def agent_loop_outputs(path):
    """One AgentLoopOutput's fields a row."""
    return [{"prompt_ids": r["prompts"], "response_ids": r["responses"], "response_mask": r["response_mask"],
             "response_logprobs": r["rollout_log_probs"], "reward_score": r["reward_score"], "num_turns": r["num_turns"],
             "metrics": {"generate_sequences": 0.0, "tool_calls": 0.0, "compute_score": 0.0, "num_preempted": -1},
             "extra_fields": {}} for r in rows(path)]
