def calc(width, height):
    """The area of a rectangle."""
    return width * height


def calc_all(sizes):
    """The area of several rectangles together."""
    return sum(calc(width, height) for width, height in sizes)
