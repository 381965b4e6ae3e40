"""A small catalogue of books."""

from .book import Book
from .query import Query
from .store import Store

__all__ = ["Book", "Query", "Store"]
