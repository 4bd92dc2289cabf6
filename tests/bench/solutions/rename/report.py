from shapes import area, calc_all


def describe(sizes):
    lines = [f"{w} x {h}: {area(w, h)}" for w, h in sizes]
    lines.append(f"together: {calc_all(sizes)}")
    return "\n".join(lines)
