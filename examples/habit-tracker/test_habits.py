"""Run with `python3 -m pytest -q`, or with `python3 test_habits.py` where pytest is missing."""

from datetime import date

from habits import longest_run


def test_no_days_is_no_run():
    assert longest_run([]) == 0


def test_a_gap_ends_a_run():
    days = [date(2026, 3, 4), date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 3), date(2026, 3, 9)]
    assert longest_run(days) == 3


def test_a_run_goes_on_over_the_end_of_a_month():
    days = [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 2)]
    assert longest_run(days) == 4


if __name__ == "__main__":
    failed = 0
    for name, test in sorted(list(globals().items())):
        if not name.startswith("test_"):
            continue
        try:
            test()
            print(f"{name}: passed")
        except AssertionError:
            failed += 1
            print(f"{name}: FAILED")
    print(f"{3 - failed} passed, {failed} failed")
    raise SystemExit(1 if failed else 0)
