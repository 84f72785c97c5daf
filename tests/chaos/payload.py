"""What the jobs of these tests run. It keeps a diary outside Fairway: who started when, who ended, and whether another of the same name lived.

    python payload.py FOLDER NAME SECONDS [deaf]

It ends after so many seconds, or when FOLDER/go-NAME is there if that is negative. A lock is held for as long as the process lives, so
two payloads of one job at the same time cannot go unnoticed, however briefly.
"""

import fcntl
import os
import signal
import sys
import time

folder, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
diary = os.open(f"{folder}/diary", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def note(word: str) -> None:
    os.write(diary, f"{word} {name} {os.getpid()} {os.environ.get('POD', '')} {time.time():.3f}\n".encode())


if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = os.open(f"{folder}/lock-{name}", os.O_RDWR | os.O_CREAT, 0o600)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note("double")
note("start")
until = time.monotonic() + seconds
while time.monotonic() < until if seconds >= 0 else not os.path.exists(f"{folder}/go-{name}"):
    time.sleep(0.02)
note("end")
