PRICES = {"apple": 50, "bread": 320, "coffee": 899}


def price_of(name: str) -> int:
    return PRICES[name]


def discount_of(pieces: int) -> int:
    if pieces >= 100:
        return 25
    if pieces >= 10:
        return 10
    return 0
