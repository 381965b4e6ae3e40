"""Slots for people to read, in their local time."""


def show(span, offset=0):
    local = span.shift(offset)
    end = f"{local.end:%H:%M}" if local.end.date() == local.start.date() else f"{local.end:%Y-%m-%d %H:%M}"
    return f"{local.start:%Y-%m-%d %H:%M} / {end}"


def listing(spans, offset=0):
    return "\n".join(show(span, offset) for span in spans) or "no common time"
