"""What settings there are: name, type and default of each."""

from dataclasses import dataclass

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True)
class Key:
    name: str  # section.key
    type: type
    default: object = None

    def parse(self, text):
        """The value that a text from a file or the environment stands for."""
        text = text.strip()
        if self.type is bool:
            word = text.lower()
            if word in TRUE:
                return True
            if word in FALSE:
                return False
            raise ValueError(f"{self.name}: {text!r} is neither true nor false")
        if self.type is list:
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return self.type(text)
        except ValueError:
            raise ValueError(f"{self.name}: {text!r} is not a {self.type.__name__}") from None


class Schema:
    def __init__(self, *keys):
        self._keys = {key.name: key for key in keys}
        if len(self._keys) != len(keys):
            raise ValueError("a key is defined twice")

    def __iter__(self):
        return iter(self._keys.values())

    def __contains__(self, name):
        return name in self._keys

    def __getitem__(self, name):
        try:
            return self._keys[name]
        except KeyError:
            raise ValueError(f"unknown setting: {name}") from None
