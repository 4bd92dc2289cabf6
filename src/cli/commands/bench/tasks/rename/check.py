import inspect
import subprocess
import sys

import report
import shapes

assert not hasattr(shapes, "calc"), "calc is still there"
assert list(inspect.signature(shapes.area).parameters) == ["width", "height"]
assert shapes.area(3, 4) == 12
assert shapes.calc_all([(1, 2), (3, 4)]) == 14
assert report.describe([(2, 2)]) == "2 x 2: 4\ntogether: 4"
out = subprocess.run([sys.executable, "main.py"], capture_output=True, text=True, timeout=20)
assert out.stdout == "2 x 3: 6\n4 x 5: 20\ntogether: 26\none more: 9\n", out.stdout + out.stderr
print(sys.argv[1])
