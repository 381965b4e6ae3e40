"""One entry of the catalogue."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Book:
    title: str
    author: str
    year: int
    tags: frozenset = field(default_factory=frozenset)

    @classmethod
    def from_dict(cls, raw):
        try:
            return cls(
                title=raw["title"],
                author=raw["author"],
                year=int(raw["year"]),
                tags=frozenset(raw.get("tags", ())),
            )
        except KeyError as missing:
            raise ValueError(f"book without {missing.args[0]}") from None

    def to_dict(self):
        return {
            "title": self.title,
            "author": self.author,
            "year": self.year,
            "tags": sorted(self.tags),
        }

    def sort_key(self):
        return (self.author.casefold(), self.year, self.title.casefold())
