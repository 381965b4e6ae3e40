import unittest

from geo import Gazetteer, LRU, Place, Service
from geo.cached import cached
from geo.clock import ManualClock

PLACES = [Place("Halle", "DE", 240_000), Place("Halle", "BE", 41_000), Place("Ghent", "BE", 265_000)]


class LRUTest(unittest.TestCase):
    def test_get_is_a_use(self):
        lru = LRU(2)
        lru.put("a", 1)
        lru.put("b", 2)
        self.assertEqual(lru.get("a"), 1)
        lru.put("c", 3)
        self.assertEqual([key in lru for key in "abc"], [True, False, True])

    def test_put_is_a_use(self):
        lru = LRU(2)
        for key, value in (("a", 1), ("b", 2), ("a", 9), ("c", 3)):
            lru.put(key, value)
        self.assertEqual([lru.get(key) for key in "abc"], [9, None, 3])
        self.assertEqual(len(lru), 2)

    def test_a_miss_is_no_use(self):
        lru = LRU(2)
        lru.put("a", 1)
        lru.put("b", 2)
        lru.get("x")
        lru.put("c", 3)
        self.assertEqual([key in lru for key in "abc"], [False, True, True])

    def test_old_entries_are_absent(self):
        clock = ManualClock()
        lru = LRU(3, max_age=10, clock=clock)
        lru.put("a", 1)
        clock.advance(9)
        self.assertIn("a", lru)
        lru.put("b", 2)
        clock.advance(1)
        self.assertNotIn("a", lru)
        self.assertIsNone(lru.get("a"))
        self.assertEqual(len(lru), 1)
        self.assertEqual(lru.get("b"), 2)

    def test_reading_does_not_renew_the_age(self):
        clock = ManualClock()
        lru = LRU(3, max_age=10, clock=clock)
        lru.put("a", 1)
        clock.advance(6)
        lru.get("a")
        clock.advance(6)
        self.assertIsNone(lru.get("a"))

    def test_counts(self):
        lru = LRU(1)
        lru.put("a", None)
        lru.get("a")
        lru.get("b")
        self.assertEqual((lru.hits, lru.misses), (1, 1))


class CachedTest(unittest.TestCase):
    def test_keywords_are_part_of_the_call(self):
        calls = []

        @cached(LRU(9))
        def f(a, b=0, c=0):
            calls.append((a, b, c))
            return (a, b, c)

        self.assertEqual([f(1, b=2), f(1, b=3), f(1, c=2), f(1, b=2)], [(1, 2, 0), (1, 3, 0), (1, 0, 2), (1, 2, 0)])
        f(1, b=5, c=6)
        f(1, c=6, b=5)
        self.assertEqual(len(calls), 4)

    def test_empty_answers_are_answers(self):
        for empty in (0, None, (), False, ""):
            calls = []

            @cached(LRU(9))
            def f(n):
                calls.append(n)
                return empty

            self.assertEqual([f(1), f(1)], [empty, empty])
            self.assertEqual(calls, [1])


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.gazetteer = Gazetteer(PLACES)
        self.service = Service(self.gazetteer)

    def test_country_and_limit(self):
        self.assertEqual([place.country for place in self.service.find("Halle", country="DE")], ["DE"])
        self.assertEqual([place.country for place in self.service.find("Halle", country="BE")], ["BE"])
        self.assertEqual(len(self.service.find("Halle", limit=1)), 1)
        self.assertEqual(len(self.service.find("Halle", limit=5)), 2)

    def test_nothing_is_cached(self):
        for _ in range(3):
            self.assertEqual(self.service.count("XX"), 0)
            self.assertEqual(list(self.service.find("Nowhere")), [])
        self.assertEqual(self.gazetteer.scans, 2)

    def test_own_cache_is_used(self):
        cache = LRU(3)
        Service(self.gazetteer, lru=cache).find("Ghent")
        self.assertEqual(len(cache), 1)

    def test_answers_are_not_shared(self):
        first = self.service.find("Halle")
        try:
            first.clear()
        except AttributeError:
            pass  # an answer that cannot be changed is fine
        self.assertEqual(len(self.service.find("Halle")), 2)
