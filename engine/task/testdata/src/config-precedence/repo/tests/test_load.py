import os
import tempfile
import unittest

from layers import Key, Schema, explain, load

SCHEMA = Schema(Key("web.port", int, 8080), Key("web.name", str))


class LoadTest(unittest.TestCase):
    def test_defaults(self):
        settings = load(SCHEMA, environ={})
        self.assertEqual(settings["web.port"], 8080)
        self.assertEqual(settings.origin("web.port"), "default")
        self.assertEqual(settings.section("web"), {"port": 8080, "name": None})

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.conf")
            with open(path, "w", encoding="utf-8") as file:
                file.write("web.port = 9090\n")
            settings = load(SCHEMA, path, environ={})
        self.assertEqual(settings["web.port"], 9090)
        self.assertEqual(settings.origin("web.port"), path)

    def test_explain(self):
        text = explain(SCHEMA, load(SCHEMA, environ={}))
        self.assertEqual(text, "web.name = unset  (default)\nweb.port = 8080  (default)")

    def test_unknown_setting(self):
        with self.assertRaises(ValueError):
            load(SCHEMA, environ={})["web.prot"]


if __name__ == "__main__":
    unittest.main()
