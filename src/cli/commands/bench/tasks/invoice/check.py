import sys

from invoice import line_total, total
from prices import discount_of, price_of

assert [discount_of(n) for n in (0, 9, 10, 99, 100, 5000)] == [0, 0, 10, 10, 25, 25]
assert price_of("coffee") == 899
assert line_total("coffee", 9) == 8091
assert line_total("coffee", 11) == 8900
assert line_total("bread", 101) == 24240
assert type(line_total("apple", 10)) is int
assert total([]) == 0
assert total([("apple", 100), ("bread", 1)]) == 3750 + 320
print(sys.argv[1])
