"""Who owes whom."""

from . import money
from .share import split


def everybody(entries):
    names = set()
    for entry in entries:
        names.add(entry.payer)
        names.update(entry.people)
    return sorted(names)


def balances(entries):
    """Cents each person is to get back (positive) or has to pay (negative)."""
    entries = list(entries)
    people = everybody(entries)
    total = dict.fromkeys(people, 0)
    for entry in entries:
        total[entry.payer] += entry.cents
        for person, part in split(entry.cents, entry.people or people).items():
            total[person] -= part
    return total


def text(entries):
    lines = []
    for person, cents in balances(entries).items():
        verb = "gets" if cents >= 0 else "pays"
        lines.append(f"{person} {verb} {money.show(abs(cents))}")
    return "\n".join(lines)
