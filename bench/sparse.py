#!/usr/bin/python3
"""A gradient of the logistic cost over a sparse file as one agent, on one thread, against SciPy: two products
with a CSR matrix and expit between them. The two are measured in turn; the middle of the turns counts.

usage: bench/sparse.py BUILD/bench/sparse FILE
"""
import pathlib
import statistics
import subprocess
import sys
import time

from figures import figure
from scipy.special import expit
from sklearn.datasets import load_svmlight_file
import numpy as np

TURNS, CALLS = 5, 51


def main(program, path):
    if not pathlib.Path(path).exists():
        print(f"{path} is not there: skipped")
        return
    rows, label = load_svmlight_file(path)
    flipped = rows.multiply(-label[:, None]).tocsr()
    x = np.array([0.1 * (j % 7) - 0.3 for j in range(rows.shape[1])])

    def gradient():
        return flipped.T @ expit(flipped @ x) / len(label) + 0.5 * x

    def peer():
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            gradient()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    ours, theirs = {}, []
    for _ in range(TURNS):
        theirs.append(peer())
        for kernel in ([], ["reference"]):
            name, seconds = subprocess.run([program, path, *kernel], check=True, text=True,
                                           capture_output=True).stdout.split()
            ours.setdefault(name, []).append(float(seconds))
    scipy = statistics.median(theirs)
    print(f"{rows.shape[0]} x {rows.shape[1]}, {rows.nnz} entries: SciPy {1e6 * scipy:.0f} us")
    for place, (name, times) in enumerate(ours.items()):
        seconds = statistics.median(times)
        print(f"  {name} {1e6 * seconds:.0f} us, {scipy / seconds:.2f} times SciPy's speed")
        if not place:
            figure(f"sparse logistic gradient, {pathlib.Path(path).name}, {name}", scipy / seconds,
                   "times SciPy's speed", "at least", 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
