import unittest

from geo.clock import ManualClock
from geo.lru import LRU


class LRUTest(unittest.TestCase):
    def test_keeps_and_counts(self):
        lru = LRU(2)
        lru.put("a", 1)
        self.assertEqual(lru.get("a"), 1)
        self.assertIsNone(lru.get("b"))
        self.assertEqual((lru.hits, lru.misses), (1, 1))

    def test_limit(self):
        lru = LRU(2)
        for key in "abc":
            lru.put(key, key)
        self.assertEqual(len(lru), 2)
        self.assertNotIn("a", lru)

    def test_age(self):
        clock = ManualClock()
        lru = LRU(2, max_age=10, clock=clock)
        lru.put("a", 1)
        clock.advance(9)
        self.assertEqual(lru.get("a"), 1)
        clock.advance(1)
        self.assertIsNone(lru.get("a"))

    def test_limit_must_be_positive(self):
        with self.assertRaises(ValueError):
            LRU(0)


if __name__ == "__main__":
    unittest.main()
