"""Shared expenses: who paid what, who owes whom."""

from .entry import Entry
from .files import load, save
from .report import balances
from .share import split

__all__ = ["Entry", "balances", "load", "save", "split"]
