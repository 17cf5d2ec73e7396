#!/usr/bin/python3
"""How fast data are read, and how much memory that takes: text a core and on two threads, NPY beside numpy.load,
the time to open a mapped file, and the memory of training against data plus state: the most, and once it goes on.

usage: bench/reading.py PROGRAM READER [--short]

READER is build/bench/reading, which times the readers alone. Figures with a bar are ratios within one run, but for MB/s.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from figures import figure

PROGRAM, READER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHORT = "--short" in sys.argv


def seconds(*words):
    """On the clock, and of all processors together; with two halves the same on two threads, and for those on the clock."""
    return map(float, subprocess.check_output([READER, *map(str, words)], text=True).split())


def text_files(folder, rows):
    """Six digits a number, as measurements have."""
    stream = np.random.default_rng(1)
    x, y = stream.normal(size=(rows, 20)), stream.integers(0, 2, rows)
    with open(folder / "d.csv", "w") as csv, open(folder / "d.libsvm", "w") as libsvm:
        csv.write("label," + ",".join(f"x{j}" for j in range(20)) + "\n")
        for row, label in zip(x, y):
            numbers = [f"{value:.6g}" for value in row]
            csv.write(f"{label}," + ",".join(numbers) + "\n")
            libsvm.write(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(numbers)) + "\n")


def halves(path):
    """The first and the second half of the rows, each with the header where there is one."""
    lines = path.read_bytes().splitlines(keepends=True)
    header = lines[:path.suffix == ".csv"]
    middle = len(lines) // 2
    for i, part in enumerate((lines[len(header):middle], lines[middle:])):
        half = path.with_stem(f"half{i}")
        half.write_bytes(b"".join(header + part))
        yield half


def text(folder):
    text_files(folder, 50_000 if SHORT else 400_000)
    for name, bar in (("d.csv", 430), ("d.libsvm", 217)):
        size = (folder / name).stat().st_size / 1e6
        one, alone, two, both, apart = seconds(folder / name, *halves(folder / name))
        print(f"{name}: {size:.0f} MB, {size / alone:.0f} MB/s of a core ({size / one:.0f} on the clock), on two threads "
              f"{size / two:.0f} on the clock with {both / alone:.2f} times the work; two processes, half of it each: "
              f"{one / apart:.2f} times one")
        figure(f"reading {name[2:]}, six digits, of one core", size / alone, "MB/s", "at least", bar)
        figure(f"reading {name[2:]} on two threads (a free machine)", one / two, "times", "at least", 1.8)


def arrays(folder, rows, columns):
    x = np.random.default_rng(2).normal(size=(rows, columns))
    np.save(folder / "d.npy", np.hstack([x, np.sign(x[:, :1])]))
    del x
    best = min(timed(lambda: np.load(folder / "d.npy")) for _ in range(5))
    _, own = seconds(folder / "d.npy")
    print(f"NPY {rows} x {columns}: {1e3 * own:.0f} ms, numpy.load {1e3 * best:.0f} ms")
    figure("reading NPY against numpy.load", own / best, "times", "at most", 1.5)
    subprocess.run([PROGRAM, "data", "convert", folder / "d.npy", folder / "d.fplt"], check=True,
                   stdout=subprocess.DEVNULL)
    _, opened = seconds(folder / "d.fplt")
    print(f"FPLT {rows} x {columns}: opened in {1e3 * opened:.2f} ms")
    figure(f"opening FPLT, {rows} x {columns}", 1e3 * opened, "ms", "at most", 20)


def timed(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


# From a small process: what the parent had before is counted for a child.
LAUNCHER = """import os, subprocess, sys
program = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(program.pid, 0)
print(usage.ru_maxrss * 1024 if status == 0 else 'failed')"""


def peak(*words):
    """The most memory that the program had, in bytes."""
    return int(subprocess.check_output([sys.executable, "-c", LAUNCHER, PROGRAM, *map(str, words)], text=True))


def in_use(pid):
    """Bytes of a process that are in memory."""
    return 1024 * int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def resident(*words):
    """What the program has once its memory has not changed for two seconds; its rounds have no end."""
    program = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    last, since = 0, time.monotonic()
    while time.monotonic() - since < 2:
        time.sleep(0.05)
        now = in_use(program.pid)
        if abs(now - last) > 1e5:
            last, since = now, time.monotonic()
    program.kill()
    program.wait()
    return now


def memory(folder, name, data, state, agents, *words):
    common = ["--out", folder / "out", "--pictures", "no", "--quiet", "--algorithm", "fed-plt", "--threads", 1]
    short = [*common, "--rounds", 2]
    endless = [*common, "--rounds", 10 ** 9, "--tolerance", 0, "--eval-every", 0]
    tiny = folder / "tiny.csv"
    tiny.write_text("label,x\n0,1\n1,2\n0,3\n1,1\n")
    most = peak("train", "--data", folder / name, *short, *words) - peak("train", "--data", tiny, *short)
    kept = resident("train", "--data", folder / name, *endless, *words) - resident("train", "--data", tiny, *endless)
    print(f"{name}, {agents} agents: data {data / 1e6:.0f} MB, state {state / 1e6:.1f} MB, at most {most / 1e6:.0f} MB, "
          f"then {kept / 1e6:.0f} MB")
    figure(f"most memory, {name}, {agents} agents, against data and state", most / (data + state), "times", "at most", 1.6)
    figure(f"memory while training, {name}, {agents} agents, against data and state", kept / (data + state), "times",
           "at most", 1.15)


with tempfile.TemporaryDirectory(prefix="fedplt-bench-") as place:
    folder = pathlib.Path(place)
    text(folder)
    rows = 100_000 if SHORT else 1_000_000
    arrays(folder, rows, 100)
    memory(folder, "d.npy", rows * 101 * 8, 10 * 3 * 101 * 8, 10, "--agents", 10, "--label", 101)
    memory(folder, "d.fplt", rows * 101 * 8, 10 * 3 * 101 * 8, 10, "--agents", 10)
    agents = 10_000 if SHORT else 100_000
    subprocess.run([PROGRAM, "data", "generate", folder / "many.csv", "--agents", str(agents), "--rows", "10",
                    "--features", "5"], check=True, stdout=subprocess.DEVNULL)
    memory(folder, "many.csv", agents * 10 * 6 * 8, agents * 3 * 5 * 8, agents, "--paper")
