"""One thing that can be built."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    name: str
    needs: tuple = ()
    commands: tuple = ()
