def area(width, height):
    """The area of a rectangle."""
    return width * height


def calc_all(sizes):
    """The area of several rectangles together."""
    return sum(area(width, height) for width, height in sizes)
