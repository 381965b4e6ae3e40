import os
import tempfile
import unittest

from ledger import Entry, load, money, save, table


class TableTest(unittest.TestCase):
    def test_round_trip(self):
        for cell in ('a "b" c', '12" pizza, large', "two\nlines", "two\r\nlines", '"', '""', ",", "\n", "plain", "a\rb"):
            rows = [["x", cell, ""], [cell, "", "y"]]
            self.assertEqual(table.read(table.write(rows)), rows, repr(cell))

    def test_written_form(self):
        self.assertEqual(table.write([['say "hi"', "plain", "b, c"]]), '"say ""hi""",plain,"b, c"\n')

    def test_foreign_files(self):
        self.assertEqual(table.read('a,"b ""q"" c"\r\n\r\n"d\ne",f\r\n'), [["a", 'b "q" c'], ["d\ne", "f"]])
        self.assertEqual(table.read("a,b\n\n,c"), [["a", "b"], ["", "c"]])

    def test_open_quote(self):
        for text in ('a,"b', 'a,"b\nc,d\n'):
            with self.assertRaises(ValueError):
                table.read(text)


class MoneyTest(unittest.TestCase):
    def test_negative(self):
        for text, cents in {"-1.95": -195, "-0.05": -5, "-7": -700, "-12.30": -1230}.items():
            self.assertEqual(money.parse(text), cents)
        for cents, text in {-195: "-1.95", -5: "-0.05", -700: "-7.00", 0: "0.00", 5: "0.05"}.items():
            self.assertEqual(money.show(cents), text)

    def test_refuses(self):
        for text in ("", "x", "1.5", "1,50", "1.505", "-"):
            with self.assertRaises(ValueError):
                money.parse(text)


class FilesTest(unittest.TestCase):
    def test_round_trip(self):
        entries = [
            Entry("2025-03-01", "Ann", -5, 'the "good" bread', ("Ann", "Bo")),
            Entry("2025-03-02", "Bo", -195, "Mill Lane 3\r\nLower Town"),
            Entry("2025-03-03", "Bo", 1230, "a\nb, c"),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "book.csv")
            save(path, entries)
            self.assertEqual(load(path), entries)

    def test_row_number_in_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "book.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write('day,payer,amount,note,for\nd,Ann,1.00,"a\nb",\nd,Ann,one,,\n')
            with self.assertRaisesRegex(ValueError, "row 3: not an amount"):
                load(path)
