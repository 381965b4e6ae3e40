import unittest
from datetime import datetime

from slots import Span, read_feed


class FeedTest(unittest.TestCase):
    def test_events(self):
        spans = read_feed("2025-03-10 09:00 / 10:30 planning\n\n2025-03-10 23:00 / 2025-03-11 01:00 release\n")
        self.assertEqual(spans, [
            Span(datetime(2025, 3, 10, 9), datetime(2025, 3, 10, 10, 30)),
            Span(datetime(2025, 3, 10, 23), datetime(2025, 3, 11, 1)),
        ])

    def test_past_midnight(self):
        spans = read_feed("2025-03-10 23:00 / 01:00 release")
        self.assertEqual(spans[0].end, datetime(2025, 3, 11, 1))

    def test_line_number(self):
        with self.assertRaisesRegex(ValueError, "line 2: expected"):
            read_feed("2025-03-10 09:00 / 10:00 a\nnonsense\n")


if __name__ == "__main__":
    unittest.main()
