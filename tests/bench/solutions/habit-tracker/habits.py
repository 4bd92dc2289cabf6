"""A small habit tracker: on which days was a habit done, and how long was the best run?"""

from datetime import date


def longest_run(days: list[date]) -> int:
    """The number of days in the longest run of consecutive days. Repeated days count once."""
    best = run = 0
    previous = None
    for day in sorted(set(days)):
        if previous is not None and (day - previous).days == 1:
            run += 1
        else:
            run = 1
        best = max(best, run)
        previous = day
    return best
