"""Text for people: one line a book, and where in the result one is."""

from .paging import page_count


def line(book):
    tags = f" [{', '.join(sorted(book.tags))}]" if book.tags else ""
    return f"{book.author}: {book.title} ({book.year}){tags}"


def footer(page):
    if page.total == 0:
        return "nothing found"
    pages = page_count(page.total, page.size)
    text = f"{page.first}-{page.last} of {page.total}, page {page.number} of {pages}"
    if page.has_next:
        text += f" (next: --page {page.number + 1})"
    return text


def render(page):
    return "\n".join([*map(line, page.items), footer(page)])
