import subprocess
import sys

out = subprocess.run([sys.executable, "greet.py"], capture_output=True, text=True, timeout=20)
assert out.returncode == 0, out.stderr
assert out.stdout == "Hello, bench!\n", out.stdout
print(sys.argv[1])
