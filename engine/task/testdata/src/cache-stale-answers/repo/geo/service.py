"""What the rest of the program calls."""

from .cached import cached
from .lru import LRU


class Service:
    def __init__(self, gazetteer, lru=None):
        self._gazetteer = gazetteer
        self.cache = lru or LRU(100, max_age=3600)
        self.find = cached(self.cache)(self._find)
        self.count = cached(self.cache)(self._count)

    def _find(self, name, country=None, limit=10):
        """Places with that name (case does not matter), the largest first."""
        wanted = name.casefold()
        found = self._gazetteer.scan(
            lambda place: place.name.casefold() == wanted and country in (None, place.country)
        )
        return found[:limit]

    def _count(self, country):
        """How many places we know in a country."""
        return len(self._gazetteer.scan(lambda place: place.country == country))
