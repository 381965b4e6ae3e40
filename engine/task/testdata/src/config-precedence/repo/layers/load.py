"""Load settings from everywhere."""

import os

from . import source
from .merge import merge


class Settings:
    """Read-only access by name; `origin` says which layer a value is from."""

    def __init__(self, schema, values, origin):
        self._schema = schema
        self._values = values
        self._origin = origin

    def __getitem__(self, name):
        self._schema[name]
        return self._values.get(name)

    def origin(self, name):
        self._schema[name]
        return self._origin.get(name, "default")

    def section(self, section):
        start = section + "."
        return {
            key.name[len(start):]: self[key.name]
            for key in self._schema
            if key.name.startswith(start)
        }


def load(schema, path=None, environ=None):
    layers = [("default", source.from_defaults(schema))]
    layers.append(("environment", source.from_environment(schema, os.environ if environ is None else environ)))
    if path is not None:
        with open(path, encoding="utf-8") as file:
            layers.append((path, source.from_lines(schema, file)))
    values, origin = merge(layers)
    return Settings(schema, values, origin)
