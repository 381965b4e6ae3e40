"""Command line: print one page of a search."""

import argparse
import sys

from . import listing
from .query import Query
from .store import Store


def parser():
    p = argparse.ArgumentParser(prog="shelf")
    p.add_argument("file")
    p.add_argument("--author")
    p.add_argument("--tag")
    p.add_argument("--text")
    p.add_argument("--page", type=int, default=1)
    p.add_argument("--size", type=int, default=20)
    p.add_argument("--all", action="store_true", help="print every page")
    return p


def search(store, args):
    query = Query(store)
    if args.author:
        query = query.author(args.author)
    if args.tag:
        query = query.tag(args.tag)
    if args.text:
        query = query.text(args.text)
    return query


def main(argv=None, out=sys.stdout):
    args = parser().parse_args(argv)
    query = search(Store.load(args.file), args)
    try:
        pages = query.pages(args.size) if args.all else [query.page(args.page, args.size)]
        for page in pages:
            print(listing.render(page), file=out)
    except IndexError as problem:
        print(f"no such page: {problem}", file=out)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
