import unittest

from ledger import table


class TableTest(unittest.TestCase):
    def test_write(self):
        self.assertEqual(table.write([["a", "b, c"], ["", "d"]]), 'a,"b, c"\n,d\n')

    def test_read(self):
        self.assertEqual(table.read('a,"b, c"\n\n,d\n'), [["a", "b, c"], ["", "d"]])

    def test_open_quote(self):
        with self.assertRaises(ValueError):
            table.read('a,"b')


if __name__ == "__main__":
    unittest.main()
