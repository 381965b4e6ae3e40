"""Settings from defaults, a file and the environment."""

from .explain import explain
from .load import Settings, load
from .schema import Key, Schema

__all__ = ["Key", "Schema", "Settings", "explain", "load"]
