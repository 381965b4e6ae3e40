"""Time, replaceable in tests."""

import time


class Clock:
    def now(self):
        return time.monotonic()


class ManualClock(Clock):
    def __init__(self, now=0.0):
        self._now = now

    def now(self):
        return self._now

    def advance(self, seconds):
        self._now += seconds
