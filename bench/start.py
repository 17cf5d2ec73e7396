#!/usr/bin/python3
"""What a call costs besides its work: a training of one round whose output goes into a pipe, where nobody looks at pictures,
beside the same that is told to draw none, and beside one that is told to draw.

usage: bench/start.py PROGRAM
"""
import os
import subprocess
import sys
import tempfile
import time

from figures import figure

PROGRAM = os.path.abspath(sys.argv[1])
TURNS = 20


def milliseconds(folder, *words):
    begun = time.monotonic()
    subprocess.run([PROGRAM, "train", "--rounds", "1", *words], cwd=folder, check=True, stdout=subprocess.PIPE)
    return 1e3 * (time.monotonic() - begun)


with tempfile.TemporaryDirectory(prefix="fedplt-bench-") as place:
    ways = {"as it comes": [], "no pictures": ["--pictures", "no"], "pictures": ["--pictures", "yes"]}
    best = {way: min(milliseconds(place, *words) for _ in range(TURNS)) for way, words in ways.items()}
    print(", ".join(f"{way} {best[way]:.1f} ms" for way in ways))
    figure("a short training in a pipe, of the same without pictures", best["as it comes"] / best["no pictures"], "times",
           "at most", 1.1)
