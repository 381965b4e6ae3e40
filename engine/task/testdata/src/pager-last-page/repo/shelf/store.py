"""Where books are kept: in memory, loaded from and saved to a JSON file."""

import json

from .book import Book


class Store:
    def __init__(self, books=()):
        self._books = list(books)

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(Book.from_dict(raw) for raw in json.load(file))

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump([book.to_dict() for book in self._books], file, indent=2)

    def add(self, book):
        if book in self._books:
            raise ValueError(f"already in the catalogue: {book.title}")
        self._books.append(book)

    def __len__(self):
        return len(self._books)

    def __iter__(self):
        return iter(sorted(self._books, key=Book.sort_key))
