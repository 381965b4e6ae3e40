"""Rows of `rollbench export --format tinker` as Tinker takes them. Python only.

    data = tinker.load("FILE")                          # for loss_fn "ppo" or "importance_sampling"
    data = tinker.load("FILE", loss="cross_entropy")
    Datum.model_validate(data[0])                       # the tinker package's own class
"""
import json
import math


def rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def load(path, loss="ppo", mask=False, normalise=False):
    """Datum dicts. normalise divides the advantages by their deviation over
    the whole file, as SkyRL-Agent does when asked
    (skyrl-agent/skyrl_agent/integrations/tinker/tinker_train.py). mask adds
    the cookbook's mask, which it takes out again before it sends the Datum
    (tinker_cookbook/rl/train.py)."""
    found = list(rows(path))
    scale = normaliser(found) if normalise else lambda advantage: advantage
    data = []
    for row in found:
        datum, trained = row["datum"], shifted_mask(row)
        inputs = datum["loss_fn_inputs"]
        if loss == "cross_entropy":
            inputs = datum["loss_fn_inputs"] = {"target_tokens": inputs["target_tokens"], "weights": tensor(trained)}
        elif normalise:
            inputs["advantages"]["data"] = [scale(row["advantage"]) if m else 0 for m in trained]
        if mask:
            inputs["mask"] = tensor(trained)
        data.append(datum)
    return data


def shifted_mask(row):
    return ([0] * row["prompt_length"] + row["mask"])[1:]


def tensor(values):
    return {"data": values, "dtype": "float32", "shape": [len(values)]}


def normaliser(found):
    """(a - mean) / (std + 1e-8) over the trajectories; 0 when they are alike."""
    values = list({(r["instance_id"], r["trajectory_id"]): r["advantage"] for r in found}.values())
    mean = sum(values) / len(values)
    std = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    if len(values) < 2:
        return lambda advantage: advantage
    if std < 1e-8:
        return lambda advantage: 0.0
    return lambda advantage: (advantage - mean) / (std + 1e-8)
