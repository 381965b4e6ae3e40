"""From targets to the commands to run."""

from .graph import Graph


def plan(targets, goal):
    """Commands that build the goal from nothing."""
    return _commands(targets, Graph(targets).order(goal))


def rebuild(targets, goal, changed):
    """Commands that bring the goal up to date after some targets changed."""
    graph = Graph(targets)
    stale = set(changed)
    for name in changed:
        stale.update(graph.users(name))
    return _commands(targets, [name for name in graph.order(goal) if name in stale])


def _commands(targets, names):
    return [command for name in names for command in targets[name].commands]
