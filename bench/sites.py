#!/usr/bin/python3
"""What many small sites cost: bench/sites.py PROGRAM [DATA]. Training on a9a (or rows like its own where it is absent) divided among
4 and 10,000 sites, and fedplt baseline on 10, 100 and 1,000; processor time of each call."""
import os
import random
import subprocess
import sys
import tempfile

from figures import figure

program = os.path.abspath(sys.argv[1])
data = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""


def call(*words):
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    return used.ru_utime + used.ru_stime


def like_a9a(path, rows=32561):
    """14 of 123 binary columns a row."""
    draw = random.Random(1)
    with open(path, "w") as file:
        for _ in range(rows):
            columns = sorted(draw.randrange(9 * k, 9 * k + (9 if k < 13 else 6)) + 1 for k in range(14))
            label = 1 if sum(columns) % 7 < draw.randrange(7) else -1
            file.write(f"{label} " + " ".join(f"{c}:1" for c in columns) + "\n")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if not os.path.exists(data):
        data = "rows.libsvm"
        like_a9a(data)
    times = {sites: min(call("train", "--data", data, "--format", "libsvm", "--features", "123", "--agents", str(sites),
                             "--pictures", "no", "--out", "o") for _ in range(3)) for sites in (4, 10000)}
    print(", ".join(f"{sites} sites {time:.2f} s" for sites, time in times.items()))
    figure("10,000 sites of a9a, of the time of 4", times[10000] / times[4], "times", "at most", 2)
    for sites in (10, 100, 1000):
        call("data", "generate", "b.csv", "--generator", "planted", "--agents", str(sites), "--features", "5", "--rows", "60",
             "--force")
        times[sites] = call("baseline", "--data", "b.csv", "--quiet")
        print(f"baseline of {sites} sites: {times[sites]:.2f} s")
    figure("baseline of 1,000 sites, of the time of 100", times[1000] / times[100], "times", "at most", 20)
