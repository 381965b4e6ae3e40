"""Keep entries in a file."""

from . import table
from .entry import COLUMNS, Entry


def save(path, entries):
    rows = [list(COLUMNS), *(entry.to_row() for entry in entries)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(table.write(rows))


def load(path):
    with open(path, encoding="utf-8") as file:
        rows = table.read(file.read())
    if not rows or tuple(rows[0]) != COLUMNS:
        raise ValueError(f"{path}: the first line must name the columns {', '.join(COLUMNS)}")
    entries = []
    for number, row in enumerate(rows[1:], 2):
        try:
            entries.append(Entry.from_row(row))
        except ValueError as problem:
            raise ValueError(f"{path}: row {number}: {problem}") from None
    return entries
