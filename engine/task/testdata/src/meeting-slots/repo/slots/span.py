"""Spans of time: from a start up to, and without, an end."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, order=True)
class Span:
    start: datetime
    end: datetime

    def __post_init__(self):
        if self.end <= self.start:
            raise ValueError(f"ends at {self.end}, not after its start {self.start}")

    @property
    def length(self):
        return self.end - self.start

    def shift(self, minutes):
        moved = timedelta(minutes=minutes)
        return Span(self.start + moved, self.end + moved)

    def cut(self, other):
        """The part inside the other span, or None."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Span(start, end) if start < end else None


def merge(spans):
    """The same time in as few spans as possible, in order."""
    merged = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged


def gaps(spans, within):
    """What the spans leave free of `within`."""
    free, at = [], within.start
    for span in merge(spans):
        if span.start > at:
            free.append(Span(at, span.start))
        at = span.end
    if at < within.end:
        free.append(Span(at, within.end))
    return free
