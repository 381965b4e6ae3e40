import os
import tempfile
import unittest

from ledger import Entry, load, save


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "book.csv")

    def test_round_trip(self):
        entries = [Entry("2025-03-01", "Ann", 1230, "bread, milk", ("Ann", "Bo")), Entry("2025-03-02", "Bo", 5)]
        save(self.path, entries)
        self.assertEqual(load(self.path), entries)

    def test_row_number_in_errors(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("day,payer,amount,note,for\nd,Ann,1.00,,\nd,Ann,one,,\n")
        with self.assertRaisesRegex(ValueError, "row 3: not an amount"):
            load(self.path)


if __name__ == "__main__":
    unittest.main()
