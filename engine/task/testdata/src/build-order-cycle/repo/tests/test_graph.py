import unittest

from forge import CycleError, Graph, parse


class GraphTest(unittest.TestCase):
    def test_chain(self):
        graph = Graph(parse("a: b\nb: c\nc:\n"))
        self.assertEqual(graph.order("a"), ["c", "b", "a"])

    def test_only_what_is_needed(self):
        graph = Graph(parse("a: b\nb:\nz:\n"))
        self.assertEqual(graph.order("a"), ["b", "a"])

    def test_cycle(self):
        graph = Graph(parse("a: b\nb: a\n"))
        with self.assertRaises(CycleError) as caught:
            graph.order("a")
        self.assertEqual(caught.exception.path, ["a", "b", "a"])

    def test_unknown(self):
        with self.assertRaisesRegex(ValueError, "no such target: b"):
            Graph(parse("a: b\n")).order("a")

    def test_users(self):
        graph = Graph(parse("a: c\nb: c\nc:\n"))
        self.assertEqual(graph.users("c"), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
