import io
import os
import tempfile
import unittest

from forge import CycleError, Graph, cli, parse, plan, rebuild

CHAIN = """
app: core tool
    compile app
core: lib
    compile core
lib: base
    compile lib
base:
    compile base
tool: base
    compile tool
doc: lib
    write doc
"""


class RebuildTest(unittest.TestCase):
    def test_far_users_are_stale(self):
        self.assertEqual(rebuild(parse(CHAIN), "app", ["lib"]), ["compile lib", "compile core", "compile app"])

    def test_everything_after_the_base(self):
        self.assertEqual(sorted(rebuild(parse(CHAIN), "app", ["base"])), sorted(plan(parse(CHAIN), "app")))

    def test_only_what_is_stale(self):
        self.assertEqual(rebuild(parse(CHAIN), "app", ["tool"]), ["compile tool", "compile app"])
        self.assertEqual(rebuild(parse(CHAIN), "app", ["doc"]), [])

    def test_several_changes(self):
        self.assertEqual(rebuild(parse(CHAIN), "app", ["tool", "core"]), ["compile core", "compile tool", "compile app"])

    def test_unknown_name(self):
        with self.assertRaisesRegex(ValueError, "no such target: lbi"):
            rebuild(parse(CHAIN), "app", ["lbi"])

    def test_stale_cycle_elsewhere_ends(self):
        targets = parse("a: b\n  x\nb:\n  y\nc: d b\nd: c\n")
        self.assertEqual(rebuild(targets, "a", ["b"]), ["y", "x"])


class CycleTest(unittest.TestCase):
    def path(self, text, goal):
        with self.assertRaises(CycleError) as caught:
            Graph(parse(text)).order(goal)
        return caught.exception.path

    def test_only_the_cycle(self):
        text = "app: core tool\ncore: base\nbase:\ntool: gen\ngen: tool\n"
        self.assertEqual(self.path(text, "app"), ["tool", "gen", "tool"])

    def test_behind_the_goal(self):
        self.assertEqual(self.path("a: b\nb: c\nc: b\n", "a"), ["b", "c", "b"])

    def test_itself(self):
        self.assertEqual(self.path("a: a\n", "a"), ["a", "a"])
        self.assertEqual(self.path("x: y a\ny:\na: y a\n", "x"), ["a", "a"])

    def test_shared_needs_are_no_cycle(self):
        graph = Graph(parse("a: b c\nb: d\nc: d b\nd:\n"))
        self.assertEqual(graph.order("a"), ["d", "b", "c", "a"])


class CommandLineTest(unittest.TestCase):
    def run_cli(self, text, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "build.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            out = io.StringIO()
            return cli.main([path, *args], out), out.getvalue()

    def test_changed(self):
        self.assertEqual(self.run_cli(CHAIN, "app", "--changed", "lib"), (0, "compile lib\ncompile core\ncompile app\n"))

    def test_mistyped(self):
        self.assertEqual(self.run_cli(CHAIN, "app", "--changed", "lbi"), (1, "forge: no such target: lbi\n"))

    def test_cycle(self):
        self.assertEqual(self.run_cli("a: b\nb: c\nc: b\n", "a"), (1, "forge: cycle: b -> c -> b\n"))
