"""Command line: print the commands of a build."""

import argparse
import sys

from .parse import parse
from .plan import plan, rebuild


def main(argv=None, out=sys.stdout):
    p = argparse.ArgumentParser(prog="forge")
    p.add_argument("file")
    p.add_argument("target")
    p.add_argument("--changed", action="append", default=[])
    args = p.parse_args(argv)
    with open(args.file, encoding="utf-8") as file:
        text = file.read()
    try:
        targets = parse(text)
        if args.changed:
            commands = rebuild(targets, args.target, args.changed)
        else:
            commands = plan(targets, args.target)
    except ValueError as problem:
        print(f"forge: {problem}", file=out)
        return 1
    for command in commands:
        print(command, file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
