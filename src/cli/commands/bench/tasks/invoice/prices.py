"""Prices are in cents, so that nothing is lost to rounding."""

PRICES = {"apple": 50, "bread": 320, "coffee": 899}


def price_of(name: str) -> int:
    """The price of one piece in cents. An unknown name is a KeyError."""
    return PRICES[name]


def discount_of(pieces: int) -> int:
    """The discount in percent: 10 from ten pieces on, 25 from a hundred on, else 0."""
    if pieces > 10:
        return 10
    if pieces > 100:
        return 25
    return 0
