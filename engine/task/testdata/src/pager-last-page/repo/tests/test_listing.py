import unittest

from shelf import Book
from shelf.listing import footer, line
from shelf.paging import cut


class ListingTest(unittest.TestCase):
    def test_line(self):
        book = Book("Tides", "Ines Maro", 1998, frozenset({"sea", "night"}))
        self.assertEqual(line(book), "Ines Maro: Tides (1998) [night, sea]")

    def test_footer_of_a_full_page(self):
        self.assertEqual(footer(cut("abcdefg", 2, 3)), "4-6 of 7, page 2 of 3 (next: --page 3)")

    def test_footer_of_nothing(self):
        self.assertEqual(footer(cut("", 1, 3)), "nothing found")


if __name__ == "__main__":
    unittest.main()
