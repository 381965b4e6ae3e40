import unittest

from ledger import money


class MoneyTest(unittest.TestCase):
    def test_parse(self):
        self.assertEqual([money.parse(t) for t in ("12.30", "7", "0.05", " 3.00 ")], [1230, 700, 5, 300])

    def test_refuses(self):
        for text in ("", "x", "1.5", "1,50", "1.505"):
            with self.assertRaises(ValueError):
                money.parse(text)

    def test_show(self):
        self.assertEqual([money.show(c) for c in (1230, 5, 700)], ["12.30", "0.05", "7.00"])


if __name__ == "__main__":
    unittest.main()
