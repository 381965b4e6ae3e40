import unittest

from layers.merge import merge


class MergeTest(unittest.TestCase):
    def test_later_layer_wins(self):
        values, origin = merge([("a", {"x": 1, "y": 2}), ("b", {"y": 3})])
        self.assertEqual(values, {"x": 1, "y": 3})
        self.assertEqual(origin, {"x": "a", "y": "b"})

    def test_no_layers(self):
        self.assertEqual(merge([]), ({}, {}))


if __name__ == "__main__":
    unittest.main()
