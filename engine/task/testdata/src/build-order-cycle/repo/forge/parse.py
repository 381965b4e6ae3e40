"""Read a build file."""

from .target import Target


def parse(text):
    """Targets of a build file, by name, in the order of the file."""
    targets = {}
    name, needs, commands = None, (), []

    def finish():
        if name is not None:
            targets[name] = Target(name, needs, tuple(commands))

    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].rstrip()
        if not line:
            continue
        if line[0] in " \t":
            if name is None:
                raise ValueError(f"line {number}: a command without a target")
            commands.append(line.strip())
            continue
        head, colon, rest = line.partition(":")
        if not colon:
            raise ValueError(f"line {number}: expected 'target: needs'")
        finish()
        name, needs, commands = head.strip(), tuple(rest.split()), []
        if name in targets:
            raise ValueError(f"line {number}: {name} is defined twice")
    finish()
    return targets
