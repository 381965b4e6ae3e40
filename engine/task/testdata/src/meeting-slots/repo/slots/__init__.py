"""Finds times at which several people are free."""

from .feed import read_feed
from .finder import find
from .person import Person
from .span import Span, gaps, merge

__all__ = ["Person", "Span", "find", "gaps", "merge", "read_feed"]
