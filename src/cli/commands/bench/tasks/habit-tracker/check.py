import sys
from datetime import date, timedelta

from habits import longest_run

first = date(2027, 12, 20)
assert longest_run([]) == 0
assert longest_run([first]) == 1
assert longest_run([first + timedelta(n) for n in range(100)]) == 100
assert longest_run([date(2028, 2, 28), date(2028, 3, 1)]) == 1
assert longest_run([date(2028, 2, 28), date(2028, 2, 29), date(2028, 3, 1)]) == 3
assert longest_run([date(2026, 1, 5), date(2026, 2, 6), date(2026, 3, 7)]) == 1
assert longest_run([date(2025, 12, 31), date(2026, 1, 1), date(2026, 1, 1)]) == 2
print(sys.argv[1])
