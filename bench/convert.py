#!/usr/bin/python3
"""An array of NumPy as CSV text, from file to file: bench/convert.py PROGRAM. In memory (/dev/shm) where there is one, because
a disk is slower."""
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from figures import figure

program = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(200_000, 51))
    rows[:, 50] = rows[:, 50] > 0
    source, made = os.path.join(folder, "a.npy"), os.path.join(folder, "a.csv")
    np.save(source, rows)
    times = []
    for _ in range(5):
        start = time.monotonic()
        subprocess.run([program, "data", "convert", source, made, "--force"], check=True,
                       stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - start)
    back = np.loadtxt(made, delimiter=",", skiprows=1, usecols=range(2, 52), max_rows=2000)
    assert (back == rows[:2000, :50]).all(), "the text does not read back"
    size = os.path.getsize(made)
    print(f"{size / 1e6:.0f} MB of CSV for {rows.nbytes / 1e6:.0f} MB of numbers, "
          f"{size / rows.size:.1f} characters a number")
    figure("writing CSV in shortest digits, all cores", size / 1e6 / min(times), "MB/s", "at least", 300)
