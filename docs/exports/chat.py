"""Rows of `rollbench export --format chat` for supervised fine-tuning. Python only.

    examples = chat.load("FILE")                # {"messages", "tools"}: weight says which replies train
    examples = chat.prompt_completion("FILE")   # {"prompt", "completion", "tools"}: for trainers without weights
"""
import json


def rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def load(path, arguments="text"):
    """Conversations. arguments="object" parses those of tool calls, as many
    chat templates want them; text that is no JSON object stays text."""
    return [{"messages": [convert(m, arguments) for m in row["messages"]], "tools": row["tools"]} for row in rows(path)]


def convert(message, arguments):
    if arguments == "text" or "tool_calls" not in message:
        return message
    calls = [{**c, "function": {**c["function"], "arguments": parsed(c["function"]["arguments"])}} for c in message["tool_calls"]]
    return {**message, "tool_calls": calls}


def parsed(text):
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def prompt_completion(path, arguments="text"):
    """One example for each reply that trains: what came before it, and it. A
    trainer that learns completions alone then learns no other reply."""
    examples = []
    for row in load(path, arguments):
        plain = [{k: v for k, v in m.items() if k != "weight"} for m in row["messages"]]
        for i, message in enumerate(row["messages"]):
            if message.get("weight") == 1:
                examples.append({"prompt": plain[:i], "completion": [plain[i]], "tools": row["tools"]})
    return examples
