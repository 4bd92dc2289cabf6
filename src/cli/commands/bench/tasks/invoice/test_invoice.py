from invoice import line_total, total

assert line_total("apple", 1) == 50
assert line_total("apple", 10) == 450
assert line_total("bread", 100) == 24000
assert total([("apple", 2), ("coffee", 12)]) == 100 + 9709
print("all tests passed")
