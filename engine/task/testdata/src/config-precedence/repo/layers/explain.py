"""Say what each setting is and why."""


def show(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)


def explain(schema, settings):
    lines = []
    for key in sorted(schema, key=lambda key: key.name):
        value = settings[key.name]
        text = "unset" if value is None else show(value)
        lines.append(f"{key.name} = {text}  ({settings.origin(key.name)})")
    return "\n".join(lines)
