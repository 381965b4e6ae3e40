"""Which target needs which."""


class CycleError(ValueError):
    """Targets that need each other. `path` starts and ends with the same one."""

    def __init__(self, path):
        super().__init__("cycle: " + " -> ".join(path))
        self.path = path


class Graph:
    def __init__(self, targets):
        self._targets = targets

    def needs(self, name):
        """What a target needs directly."""
        try:
            return self._targets[name].needs
        except KeyError:
            raise ValueError(f"no such target: {name}") from None

    def users(self, name):
        """Targets that need this one directly."""
        return [target.name for target in self._targets.values() if name in target.needs]

    def order(self, goal):
        """Everything the goal needs, itself included: needs come first."""
        done, visiting = [], []

        def visit(name):
            if name in done:
                return
            if name in visiting:
                raise CycleError(visiting + [name])
            visiting.append(name)
            for need in self.needs(name):
                visit(need)
            done.append(name)

        visit(goal)
        return done
