"""Cut a list of results into numbered pages. The first page is number 1."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    number: int
    size: int
    total: int
    items: tuple

    @property
    def first(self):
        """Position of the first item on this page, counted from 1."""
        return (self.number - 1) * self.size + 1

    @property
    def last(self):
        """Position of the last item on this page, counted from 1."""
        return self.number * self.size

    @property
    def has_next(self):
        return self.number < page_count(self.total, self.size)

    @property
    def has_previous(self):
        return self.number > 1


def page_count(total, size):
    """How many pages `total` items fill. Nothing at all still has one page."""
    if size < 1:
        raise ValueError("page size must be at least 1")
    return total // size + 1


def cut(items, number, size):
    """Page `number` of the items."""
    items = list(items)
    pages = page_count(len(items), size)
    if not 1 <= number <= pages:
        raise IndexError(f"page {number} of {pages}")
    start = (number - 1) * size
    return Page(number, size, len(items), tuple(items[start:start + size]))
