import unittest
from datetime import datetime, time

from slots import Person, Span, find
from slots.text import listing

DAY = Span(datetime(2025, 3, 10), datetime(2025, 3, 11))


def at(start, end):
    return Span(datetime(2025, 3, 10, start), datetime(2025, 3, 10, end))


class FinderTest(unittest.TestCase):
    def test_two_people(self):
        ann = Person("Ann", busy=[at(9, 11)])
        bo = Person("Bo", busy=[at(12, 13)], closes=time(16))
        self.assertEqual(find([ann, bo], DAY, 60), [at(11, 12), at(13, 16)])

    def test_length(self):
        ann = Person("Ann", busy=[at(10, 16)])
        self.assertEqual(find([ann], DAY, 61), [])

    def test_listing(self):
        self.assertEqual(listing([at(11, 12)]), "2025-03-10 11:00 / 12:00")
        self.assertEqual(listing([]), "no common time")


if __name__ == "__main__":
    unittest.main()
