from shapes import calc, calc_all


def describe(sizes):
    lines = [f"{w} x {h}: {calc(w, h)}" for w, h in sizes]
    lines.append(f"together: {calc_all(sizes)}")
    return "\n".join(lines)
