"""Read busy spans from a feed."""

from datetime import datetime, timedelta

from .span import Span

FULL = "%Y-%m-%d %H:%M"


def read_feed(text, offset=0):
    """Spans in UTC of a feed whose owner is `offset` minutes ahead of UTC."""
    spans = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            spans.append(_event(line).shift(offset))
        except ValueError as problem:
            raise ValueError(f"line {number}: {problem}") from None
    return spans


def _event(line):
    start_text, slash, rest = line.partition(" / ")
    if not slash:
        raise ValueError("expected 'start / end title'")
    start = datetime.strptime(start_text.strip(), FULL)
    words = rest.split()
    if len(words) >= 2 and "-" in words[0]:
        return Span(start, datetime.strptime(" ".join(words[:2]), FULL))
    if not words:
        raise ValueError("no end")
    clock = datetime.strptime(words[0], "%H:%M").time()
    end = datetime.combine(start.date(), clock)
    if end <= start:
        end += timedelta(days=1)
    return Span(start, end)
