import unittest
from datetime import datetime

from slots import Span, gaps, merge


def at(start, end):
    return Span(datetime(2025, 3, 10, start), datetime(2025, 3, 10, end))


class SpanTest(unittest.TestCase):
    def test_merge(self):
        self.assertEqual(merge([at(13, 15), at(9, 11), at(10, 12)]), [at(9, 12), at(13, 15)])

    def test_gaps(self):
        self.assertEqual(gaps([at(10, 11)], at(9, 17)), [at(9, 10), at(11, 17)])

    def test_no_busy_time(self):
        self.assertEqual(gaps([], at(9, 17)), [at(9, 17)])

    def test_empty_span(self):
        with self.assertRaises(ValueError):
            at(9, 9)


if __name__ == "__main__":
    unittest.main()
