import unittest

from geo import Gazetteer, Place, Service

PLACES = [Place("Halle", "DE", 240_000), Place("Halle", "BE", 41_000), Place("Ghent", "BE", 265_000)]


class ServiceTest(unittest.TestCase):
    def test_find(self):
        service = Service(Gazetteer(PLACES))
        self.assertEqual([place.country for place in service.find("halle")], ["DE", "BE"])

    def test_find_in_a_country(self):
        service = Service(Gazetteer(PLACES))
        self.assertEqual(list(service.find("Halle", country="BE")), [PLACES[1]])

    def test_count(self):
        self.assertEqual(Service(Gazetteer(PLACES)).count("BE"), 2)

    def test_second_call_is_cached(self):
        gazetteer = Gazetteer(PLACES)
        service = Service(gazetteer)
        service.find("Ghent")
        service.find("Ghent")
        self.assertEqual(gazetteer.scans, 1)


if __name__ == "__main__":
    unittest.main()
