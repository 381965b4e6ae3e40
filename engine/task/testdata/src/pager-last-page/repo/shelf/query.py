"""Search the catalogue."""

from . import paging


class Query:
    def __init__(self, store):
        self._store = store
        self._tests = []

    def author(self, name):
        wanted = name.casefold()
        return self._where(lambda book: book.author.casefold() == wanted)

    def tag(self, tag):
        return self._where(lambda book: tag in book.tags)

    def between(self, first_year, last_year):
        return self._where(lambda book: first_year <= book.year <= last_year)

    def text(self, words):
        wanted = words.casefold().split()
        return self._where(lambda book: all(word in book.title.casefold() for word in wanted))

    def _where(self, test):
        narrowed = Query(self._store)
        narrowed._tests = [*self._tests, test]
        return narrowed

    def __iter__(self):
        return (book for book in self._store if all(test(book) for test in self._tests))

    def page(self, number, size):
        return paging.cut(self, number, size)

    def pages(self, size):
        """Every page of the result, one after the other."""
        number = 1
        while True:
            page = self.page(number, size)
            if not page.items:
                return
            yield page
            number += 1
