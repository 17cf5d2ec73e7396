#!/usr/bin/python3
"""What predict and evaluate cost beside reading: bench/answers.py PROGRAM [ROWS...]. Rows of five numbers of six digits; processor
time and most memory of each call. Reading is data convert to FPLT."""
import os
import subprocess
import sys
import tempfile

from figures import figure

here = os.path.dirname(os.path.abspath(__file__))
program = os.path.abspath(sys.argv[1])
sizes = [int(word) for word in sys.argv[2:] if word.isdigit()] or [10**6, 10**7]


def call(*words):
    """Processor seconds and MB of a call."""
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def write(path, rows):
    """In a process of its own: what this one had counts as the memory of those it starts."""
    subprocess.run([sys.executable, os.path.join(here, "answers.py"), "write", path, str(rows)], check=True)


def make(path, rows):
    import numpy as np
    generator = np.random.default_rng(1)
    part = min(rows, 10**6)
    x = generator.normal(size=(part, 5))
    y = generator.random(part) < 1 / (1 + np.exp(-x @ [1, -2, .5, 0, 1]))
    text = "".join("%.6g,%.6g,%.6g,%.6g,%.6g,%d\n" % (*row, label) for row, label in zip(x, y))
    with open(path, "w") as file:
        file.write("a,b,c,d,e,label\n")
        for _ in range(rows // part):
            file.write(text)


if sys.argv[1] == "write":
    make(sys.argv[2], int(sys.argv[3]))
    sys.exit()
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
    os.chdir(folder)
    write("small.csv", 10000)
    call("train", "--data", "small.csv", "--label", "label", "--pictures", "no", "--out", "o")
    memory, kept = {}, {}
    for rows in sizes:
        write("d.csv", rows)
        read = call("data", "convert", "d.csv", "d.fplt", "--label", "label", "--force")
        made = call("predict", "o/model.json", "d.csv", "--out", "p.csv")
        judged = call("evaluate", "o/model.json", "d.csv")
        memory[rows] = made[1]
        kept[rows] = judged[1]
        print(f"{rows:>9} rows: reading {read[0]:.2f} s of the processors and {read[1]:.0f} MB, predict {made[0]:.2f} s "
              f"and {made[1]:.0f} MB ({os.path.getsize('p.csv') / 1e6:.0f} MB of text), evaluate {judged[0]:.2f} s "
              f"and {judged[1]:.0f} MB")
    figure("most memory of predict, most rows over fewest", max(memory.values()) / min(memory.values()), "times",
           "at most", 1.2)
    if len(kept) > 1:
        figure("bytes a row of evaluate, between fewest and most rows",
               (max(kept.values()) - min(kept.values())) * 2**20 / (max(kept) - min(kept)), "bytes", "at most", 20)
