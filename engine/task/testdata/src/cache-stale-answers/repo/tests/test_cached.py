import unittest

from geo.cached import cached
from geo.lru import LRU


class CachedTest(unittest.TestCase):
    def test_calls_once(self):
        calls = []

        @cached(LRU(5))
        def double(n):
            calls.append(n)
            return 2 * n

        self.assertEqual([double(2), double(2), double(3)], [4, 4, 6])
        self.assertEqual(calls, [2, 3])

    def test_keeps_the_name(self):
        @cached(LRU(5))
        def double(n):
            return 2 * n

        self.assertEqual(double.__name__, "double")


if __name__ == "__main__":
    unittest.main()
