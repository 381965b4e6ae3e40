"""Find slots at which everybody is free."""

from datetime import timedelta

from .span import merge


def common(first, second):
    """Time that is in both lists of spans."""
    both = [cut for a in first for b in second if (cut := a.cut(b))]
    return merge(both)


def find(people, within, minutes):
    """Free time of all people of at least that length, in UTC, in order."""
    if not people:
        raise ValueError("nobody to meet")
    if minutes < 1:
        raise ValueError("a meeting takes at least a minute")
    free = people[0].free(within)
    for person in people[1:]:
        free = common(free, person.free(within))
    return [span for span in free if span.length >= timedelta(minutes=minutes)]
