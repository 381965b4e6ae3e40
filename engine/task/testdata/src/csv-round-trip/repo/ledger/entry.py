"""One expense."""

from dataclasses import dataclass

from . import money

COLUMNS = ("day", "payer", "amount", "note", "for")


@dataclass(frozen=True)
class Entry:
    day: str
    payer: str
    cents: int
    note: str = ""
    people: tuple = ()

    @classmethod
    def from_row(cls, row):
        if len(row) != len(COLUMNS):
            raise ValueError(f"{len(row)} cells, expected {len(COLUMNS)}")
        day, payer, amount, note, people = row
        return cls(day, payer, money.parse(amount), note, tuple(people.split("+")) if people else ())

    def to_row(self):
        return [self.day, self.payer, money.show(self.cents), self.note, "+".join(self.people)]
