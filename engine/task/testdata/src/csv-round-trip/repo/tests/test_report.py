import unittest

from ledger import Entry, balances, split
from ledger.report import text


class ReportTest(unittest.TestCase):
    def test_split(self):
        self.assertEqual(split(100, ["Ann", "Bo", "Cy"]), {"Ann": 34, "Bo": 33, "Cy": 33})

    def test_balances(self):
        entries = [Entry("d", "Ann", 900, people=("Ann", "Bo", "Cy")), Entry("d", "Bo", 100, people=("Ann",))]
        self.assertEqual(balances(entries), {"Ann": 500, "Bo": -200, "Cy": -300})

    def test_text(self):
        self.assertEqual(text([Entry("d", "Ann", 200, people=("Bo",))]), "Ann gets 2.00\nBo pays 2.00")


if __name__ == "__main__":
    unittest.main()
