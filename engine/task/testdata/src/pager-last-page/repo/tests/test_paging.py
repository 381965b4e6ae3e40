import unittest

from shelf import Book, Query, Store
from shelf.paging import cut, page_count


class PagingTest(unittest.TestCase):
    def test_first_page(self):
        page = cut("abcdefg", 1, 3)
        self.assertEqual(page.items, ("a", "b", "c"))
        self.assertTrue(page.has_next)
        self.assertFalse(page.has_previous)

    def test_last_page_is_shorter(self):
        page = cut("abcdefg", 3, 3)
        self.assertEqual(page.items, ("g",))
        self.assertFalse(page.has_next)

    def test_beyond_the_end(self):
        with self.assertRaises(IndexError):
            cut("abcdefg", 4, 3)

    def test_size_must_be_positive(self):
        with self.assertRaises(ValueError):
            page_count(3, 0)

    def test_query_pages(self):
        store = Store(Book(f"T{n}", "A", 1900 + n) for n in range(4))
        page = Query(store).between(1901, 1903).page(1, 2)
        self.assertEqual([book.title for book in page.items], ["T1", "T2"])


if __name__ == "__main__":
    unittest.main()
