import unittest

from forge import Target, parse


class ParseTest(unittest.TestCase):
    def test_targets(self):
        targets = parse("app: core net # all\n    compile app\n    link app\n\ncore:\n\tcompile core\n")
        self.assertEqual(targets["app"], Target("app", ("core", "net"), ("compile app", "link app")))
        self.assertEqual(list(targets), ["app", "core"])

    def test_command_without_target(self):
        with self.assertRaisesRegex(ValueError, "line 1"):
            parse("  compile\n")

    def test_no_colon(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            parse("a:\nb\n")

    def test_twice(self):
        with self.assertRaisesRegex(ValueError, "a is defined twice"):
            parse("a:\n  x\nb:\n\na:\n")


if __name__ == "__main__":
    unittest.main()
