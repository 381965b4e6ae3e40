import io
import json
import os
import tempfile
import unittest

from shelf import Book, Query, Store, cli
from shelf.listing import footer
from shelf.paging import cut, page_count


def catalogue(count):
    return Store(Book(f"Book {n:02}", "Ines Maro", 1900 + n) for n in range(count))


class PagesTest(unittest.TestCase):
    def test_page_count(self):
        self.assertEqual([page_count(n, 20) for n in (0, 1, 19, 20, 21, 40, 47, 60)], [1, 1, 1, 1, 2, 2, 3, 3])
        with self.assertRaises(ValueError):
            page_count(3, 0)

    def test_exact_multiple_has_no_empty_page(self):
        page = cut(range(40), 2, 20)
        self.assertFalse(page.has_next)
        self.assertEqual(footer(page), "21-40 of 40, page 2 of 2")
        with self.assertRaises(IndexError):
            cut(range(40), 3, 20)

    def test_footer_of_the_last_page(self):
        self.assertEqual(footer(cut(range(47), 3, 20)), "41-47 of 47, page 3 of 3")
        self.assertEqual(footer(cut(range(47), 2, 20)), "21-40 of 47, page 2 of 3 (next: --page 3)")
        self.assertEqual(footer(cut((), 1, 20)), "nothing found")

    def test_every_page_once(self):
        for count in (1, 5, 10, 11, 47):
            pages = list(Query(catalogue(count)).pages(5))
            self.assertEqual([page.number for page in pages], list(range(1, len(pages) + 1)))
            self.assertEqual([book.year for page in pages for book in page.items], [1900 + n for n in range(count)])

    def test_no_page_of_nothing(self):
        self.assertEqual(list(Query(catalogue(3)).author("nobody").pages(5)), [])


class CommandLineTest(unittest.TestCase):
    def run_cli(self, count, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "books.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump([book.to_dict() for book in catalogue(count)], file)
            out = io.StringIO()
            return cli.main([path, *args], out), out.getvalue()

    def test_all(self):
        code, text = self.run_cli(47, "--all", "--size", "20")
        self.assertEqual(code, 0)
        self.assertEqual(text.count("Ines Maro"), 47)
        self.assertNotIn("no such page", text)
        self.assertTrue(text.endswith("41-47 of 47, page 3 of 3\n"))

    def test_page_that_does_not_exist(self):
        code, text = self.run_cli(47, "--page", "4", "--size", "20")
        self.assertEqual((code, text), (1, "no such page: page 4 of 3\n"))
