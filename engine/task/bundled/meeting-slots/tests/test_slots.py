import unittest
from datetime import datetime, time, timedelta

from slots import Person, Span, find, gaps, merge, read_feed
from slots.text import listing

START = datetime(2025, 3, 10)
DAY = Span(START, START + timedelta(days=1))


def at(start, end):
    return Span(START + timedelta(hours=start), START + timedelta(hours=end))


class SpanTest(unittest.TestCase):
    def test_merge_inside(self):
        self.assertEqual(merge([at(9, 16), at(10, 11)]), [at(9, 16)])
        self.assertEqual(merge([at(9, 16), at(9, 10), at(15, 17)]), [at(9, 17)])

    def test_merge_touching(self):
        self.assertEqual(merge([at(10, 11), at(9, 10), at(12, 13)]), [at(9, 11), at(12, 13)])

    def test_gaps_stay_within(self):
        self.assertEqual(gaps([at(6, 7), at(18, 19)], at(9, 17)), [at(9, 17)])
        self.assertEqual(gaps([at(6, 10), at(16, 19)], at(9, 17)), [at(10, 16)])
        self.assertEqual(gaps([at(6, 19)], at(9, 17)), [])


class PlacesTest(unittest.TestCase):
    def test_working_hours_in_utc(self):
        self.assertEqual(Person("Bo", offset=120).working(DAY), [at(7, 15)])

    def test_far_west(self):
        self.assertEqual(Person("Cy", offset=-600).working(DAY), [at(0, 3), at(19, 24)])

    def test_far_east(self):
        self.assertEqual(Person("Di", offset=720).working(DAY), [at(0, 5), at(21, 24)])

    def test_feed(self):
        spans = read_feed("2025-03-10 09:00 / 10:30 planning\n2025-03-10 01:00 / 02:00 call\n", 120)
        self.assertEqual(spans, [at(7, 8.5), at(-1, 0)])

    def test_feed_and_hours_together(self):
        bo = Person("Bo", offset=120, busy=read_feed("2025-03-10 09:00 / 10:00 planning", 120))
        self.assertEqual(bo.free(DAY), [at(8, 15)])


class FinderTest(unittest.TestCase):
    def test_inside_a_long_appointment(self):
        ann = Person("Ann", busy=[at(9, 16), at(10, 11)])
        self.assertEqual(find([ann], DAY, 30), [at(16, 17)])

    def test_outside_the_hours(self):
        ann = Person("Ann", busy=[at(6, 7), at(18, 19)])
        self.assertEqual(find([ann], DAY, 30), [at(9, 17)])

    def test_three_places(self):
        ann = Person("Ann", busy=[at(12, 13)])
        bo = Person("Bo", offset=120)
        cy = Person("Cy", offset=-300, opens=time(7))
        self.assertEqual(find([ann, bo, cy], DAY, 60), [at(13, 15)])
        self.assertEqual(listing(find([ann, bo, cy], DAY, 60), 120), "2025-03-10 15:00 / 17:00")

    def test_shared_time_is_not_cut(self):
        night = Person("Eve", opens=time(0), closes=time(23, 59))
        self.assertEqual(find([night, Person("Ann")], DAY, 60), [at(9, 17)])
