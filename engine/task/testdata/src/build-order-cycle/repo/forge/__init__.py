"""Plans the steps of a build."""

from .graph import CycleError, Graph
from .parse import parse
from .plan import plan, rebuild
from .target import Target

__all__ = ["CycleError", "Graph", "Target", "parse", "plan", "rebuild"]
