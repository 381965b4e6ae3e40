"""The places settings come from. Each gives a dict of name to parsed value."""


def from_defaults(schema):
    return {key.name: key.default for key in schema}


def from_lines(schema, lines):
    """Settings of a file: `section.key = value`, # starts a comment line."""
    found = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator:
            raise ValueError(f"line {number}: no = in {line!r}")
        name = name.strip()
        found[name] = schema[name].parse(value)
    return found


def from_environment(schema, environ, prefix="APP_"):
    """Settings of the environment: APP_SECTION__KEY."""
    found = {}
    for variable, value in environ.items():
        if not variable.startswith(prefix):
            continue
        name = variable[len(prefix):].lower().replace("_", ".")
        if name in schema:
            found[name] = schema[name].parse(value)
    return found
