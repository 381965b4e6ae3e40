"""Divide an amount among people."""


def split(cents, people):
    """Each person's share, in whole cents. The shares sum to the amount; cents
    that do not divide evenly go to the first people."""
    if not people:
        raise ValueError("nobody to share with")
    part, rest = divmod(cents, len(people))
    return {person: part + (1 if index < rest else 0) for index, person in enumerate(people)}
