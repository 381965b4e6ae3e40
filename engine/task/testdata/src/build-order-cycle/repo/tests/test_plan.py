import unittest

from forge import parse, plan, rebuild

BUILD = """
app: core
    compile app

core:
    compile core

doc:
    write doc
"""


class PlanTest(unittest.TestCase):
    def test_plan(self):
        self.assertEqual(plan(parse(BUILD), "app"), ["compile core", "compile app"])

    def test_rebuild_after_a_change(self):
        self.assertEqual(rebuild(parse(BUILD), "app", ["core"]), ["compile core", "compile app"])
        self.assertEqual(rebuild(parse(BUILD), "app", ["app"]), ["compile app"])

    def test_change_elsewhere(self):
        self.assertEqual(rebuild(parse(BUILD), "app", ["doc"]), [])


if __name__ == "__main__":
    unittest.main()
