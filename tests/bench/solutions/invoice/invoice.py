from prices import discount_of, price_of


def line_total(name: str, pieces: int) -> int:
    """What one line of an invoice costs in cents, discount taken off, rounded down."""
    full = price_of(name) * pieces
    return full * (100 - discount_of(pieces)) // 100


def total(lines: list[tuple[str, int]]) -> int:
    """What the whole invoice costs in cents."""
    return sum(line_total(name, pieces) for name, pieces in lines)
