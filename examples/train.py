"""Something to run: a descent that takes a moment, and prints how it goes."""

import sys
import time

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4
weight = 8.0
for step in range(1, steps + 1):
    weight -= 0.25 * weight
    print(f"step {step} loss {weight * weight:.2f}", flush=True)
    time.sleep(0.5)
