"""Look up places by name."""

from .gazetteer import Gazetteer, Place
from .lru import LRU
from .service import Service

__all__ = ["Gazetteer", "LRU", "Place", "Service"]
