import os
import tempfile
import unittest

from shelf import Book, Store


class StoreTest(unittest.TestCase):
    def test_round_trip(self):
        store = Store([Book("Tides", "Ines Maro", 1998, frozenset({"sea"}))])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "books.json")
            store.save(path)
            self.assertEqual(list(Store.load(path)), list(store))

    def test_refuses_the_same_book_twice(self):
        book = Book("Tides", "Ines Maro", 1998)
        store = Store([book])
        with self.assertRaises(ValueError):
            store.add(book)

    def test_sorted_by_author_then_year(self):
        late, early = Book("B", "ann", 2001), Book("A", "Ann", 1990)
        self.assertEqual(list(Store([late, early])), [early, late])


if __name__ == "__main__":
    unittest.main()
