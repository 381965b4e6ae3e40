import unittest

from layers import Key, Schema, source

SCHEMA = Schema(Key("web.port", int, 8080), Key("web.debug", bool, False), Key("web.hosts", list, ["localhost"]))


class SourceTest(unittest.TestCase):
    def test_lines(self):
        found = source.from_lines(SCHEMA, ["# comment", "", "web.port = 99", "web.hosts = a, b"])
        self.assertEqual(found, {"web.port": 99, "web.hosts": ["a", "b"]})

    def test_line_without_equals(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            source.from_lines(SCHEMA, ["web.port = 1", "web.debug"])

    def test_unknown_key(self):
        with self.assertRaisesRegex(ValueError, "unknown setting: web.prot"):
            source.from_lines(SCHEMA, ["web.prot = 1"])

    def test_bad_number(self):
        with self.assertRaisesRegex(ValueError, "web.port: 'many' is not a int"):
            source.from_lines(SCHEMA, ["web.port = many"])

    def test_foreign_variables_are_ignored(self):
        self.assertEqual(source.from_environment(SCHEMA, {"PATH": "/bin", "APP_COLOUR": "red"}), {})


if __name__ == "__main__":
    unittest.main()
