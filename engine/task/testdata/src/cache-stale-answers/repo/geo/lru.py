"""A mapping that forgets: what is old and what is not used."""

from .clock import Clock

MISSING = object()


class LRU:
    def __init__(self, limit, max_age=None, clock=None):
        if limit < 1:
            raise ValueError("limit must be at least 1")
        self.limit = limit
        self.max_age = max_age
        self.hits = self.misses = 0
        self._clock = clock or Clock()
        self._entries = {}  # key -> (value, time stored); the first is the next to go

    def __len__(self):
        return len(self._entries)

    def __contains__(self, key):
        return key in self._entries

    def get(self, key, default=None):
        entry = self._entries.get(key, MISSING)
        if entry is MISSING or self._expired(entry):
            self.misses += 1
            return default
        self.hits += 1
        return entry[0]

    def put(self, key, value):
        if key not in self._entries and len(self._entries) >= self.limit:
            self._evict()
        self._entries[key] = (value, self._clock.now())

    def drop(self, key):
        self._entries.pop(key, None)

    def _expired(self, entry):
        return self.max_age is not None and self._clock.now() - entry[1] >= self.max_age

    def _evict(self):
        del self._entries[next(iter(self._entries))]
