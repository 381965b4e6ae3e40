"""Somebody with a calendar and working hours."""

from dataclasses import dataclass, field
from datetime import datetime, time, timedelta

from .span import Span, gaps


@dataclass
class Person:
    name: str
    offset: int = 0  # minutes ahead of UTC
    opens: time = time(9)
    closes: time = time(17)
    busy: list = field(default_factory=list)  # spans in UTC

    def working(self, within):
        """Working hours, in UTC, that touch the span."""
        day = within.start.date()
        hours = []
        while day <= within.end.date():
            local = Span(datetime.combine(day, self.opens), datetime.combine(day, self.closes))
            cut = local.shift(self.offset).cut(within)
            if cut:
                hours.append(cut)
            day += timedelta(days=1)
        return hours

    def free(self, within):
        """Free working time, in UTC."""
        return [gap for hours in self.working(within) for gap in gaps(self.busy, hours)]
