"""Rows of `rollbench export --format transitions`. Python only.

    for row in transitions.load("FILE"): …      # prompts are whole, however they were written
"""
import json


def load(path):
    """The rows with whole prompts: those of --prompt delta are rebuilt."""
    sequences = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["prompt_token_ids"] is not None:
                key = row["instance_id"], row["trajectory_id"]
                kept = sequences.get(key, [])[:row["prompt_prefix_length"]]
                row["prompt_token_ids"] = kept + row["prompt_token_ids"]
                row["prompt_prefix_length"] = 0
                sequences = {key: row["prompt_token_ids"] + (row["output_token_ids"] or [])}
            yield row
