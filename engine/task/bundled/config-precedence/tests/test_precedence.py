import os
import tempfile
import unittest

from layers import Key, Schema, explain, load, source
from layers.merge import merge

SCHEMA = Schema(
    Key("web.port", int, 8080),
    Key("web.debug", bool, True),
    Key("web.max_size", int, 1000),
    Key("web.hosts", list, ["localhost"]),
    Key("web.name", str),
)


class PrecedenceTest(unittest.TestCase):
    def load(self, text, environ):
        with tempfile.TemporaryDirectory() as folder:
            self.path = os.path.join(folder, "app.conf")
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(text)
            return load(SCHEMA, self.path, environ)

    def test_environment_beats_the_file(self):
        settings = self.load("web.port = 9090\nweb.debug = no\n", {"APP_WEB__PORT": "7070"})
        self.assertEqual(settings["web.port"], 7070)
        self.assertEqual(settings.origin("web.port"), "environment")
        self.assertEqual(settings.origin("web.debug"), self.path)

    def test_environment_without_a_file(self):
        self.assertEqual(load(SCHEMA, environ={"APP_WEB__PORT": "7070"})["web.port"], 7070)

    def test_names_with_an_underscore(self):
        settings = self.load("", {"APP_WEB__MAX_SIZE": "50"})
        self.assertEqual(settings["web.max_size"], 50)

    def test_one_underscore_is_no_separator(self):
        self.assertEqual(source.from_environment(SCHEMA, {"APP_WEB_PORT": "1"}), {})

    def test_false_zero_and_empty_count(self):
        settings = self.load("web.debug = false\nweb.max_size = 0\nweb.hosts =\n", {})
        self.assertIs(settings["web.debug"], False)
        self.assertEqual(settings["web.max_size"], 0)
        self.assertEqual(settings["web.hosts"], [])
        for name in ("web.debug", "web.max_size", "web.hosts"):
            self.assertEqual(settings.origin(name), self.path)

    def test_false_in_the_environment(self):
        self.assertIs(self.load("web.debug = yes\n", {"APP_WEB__DEBUG": "off"})["web.debug"], False)

    def test_explain(self):
        text = explain(SCHEMA, self.load("web.debug = off\n", {"APP_WEB__HOSTS": "a,b"}))
        self.assertEqual(text.splitlines(), [
            f"web.debug = false  ({self.path})",
            "web.hosts = a, b  (environment)",
            "web.max_size = 1000  (default)",
            "web.name = unset  (default)",
            "web.port = 8080  (default)",
        ])

    def test_merge(self):
        values, origin = merge([("a", {"x": 1, "y": 2}), ("b", {"y": 0})])
        self.assertEqual((values, origin), ({"x": 1, "y": 0}, {"x": "a", "y": "b"}))
