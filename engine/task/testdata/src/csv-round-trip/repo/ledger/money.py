"""Amounts of money in whole cents."""


def parse(text):
    """Cents of an amount such as "12.30", "-0.05" or "7"."""
    text = text.strip()
    whole, point, cents = text.partition(".")
    if point and len(cents) != 2 or not (whole.lstrip("-") + cents).isdigit():
        raise ValueError(f"not an amount: {text!r}")
    amount = int(whole) * 100
    return amount + int(cents or 0)


def show(cents):
    return f"{cents // 100}.{cents % 100:02}"
