#!/usr/bin/python3
"""l1-penalised logistic regression from a LIBSVM file to a model beside liblinear's own program (Debian package
liblinear-tools): the same objective without intercept and without scaling, on one thread, both whole processes, both at the
loosest of their tolerances that reaches a relative suboptimality of 1e-6.

usage: bench/lasso.py BUILD/fedplt
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import figure
from sklearn.datasets import load_svmlight_file
import numpy as np

TURNS, GOAL, AGENTS = 5, 1e-6, 10
SETS = (("mushrooms", "../shared/data/libsvm_mushrooms/mushrooms", 112, 0.1),
        ("a9a", "../shared/data/libsvm_a9a/a9a", 123, 0.1))


def objective(rows, label, w, weight):
    """AGENTS times the mean loss plus the penalty: what `train` minimises where every row counts alike."""
    return AGENTS * np.logaddexp(0, -label * (rows @ w)).mean() + weight * np.abs(w).sum()


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def liblinear(path, count, weight, tolerance, folder):
    """Seconds, and the weights of -s 6: sum of losses times C plus ||w||_1."""
    model = pathlib.Path(folder) / "liblinear.model"
    seconds = timed(["liblinear-train", "-q", "-s", "6", "-c", repr(AGENTS / (weight * count)), "-e", repr(tolerance), path,
                     str(model)])
    return seconds, np.array([float(x) for x in model.read_text().split("w\n", 1)[1].split()])


def ours(program, path, weight, tolerance, folder):
    seconds = timed([program, "train", "--data", path, "--agents", str(AGENTS), "--intercept", "no", "--standardise", "no",
                     "--eps", "0", "--h", "l1", "--h-weight", str(weight), "--relative", "yes", "--tolerance",
                     str(tolerance), "--threads", "1", "--pictures", "no", "--out", folder])
    model = json.loads((pathlib.Path(folder) / "model.json").read_text())
    return seconds, np.ravel(model["weights"])


def loosest(run, best, value):
    """The first tolerance of a falling sequence that reaches the goal."""
    for power in range(1, 24):
        tolerance = 10.0 ** -power
        if value(run(tolerance)) - best <= GOAL * best:
            return tolerance
    raise SystemExit("no tolerance reaches the goal")


def main(program):
    if not shutil.which("liblinear-train"):
        print("liblinear-train is not there (package liblinear-tools): skipped")
        return
    for name, path, features, weight in SETS:
        if not pathlib.Path(path).exists():
            print(f"{path} is not there: skipped")
            continue
        rows, label = load_svmlight_file(path, n_features=features)
        label = np.where(label == label.max(), 1.0, -1.0)
        count = len(label)

        def value(w):
            """Whichever class a program calls the first one."""
            return min(objective(rows, label, w, weight), objective(rows, -label, w, weight))

        with tempfile.TemporaryDirectory() as folder:
            peer = lambda tolerance: liblinear(path, count, weight, tolerance, folder)
            own = lambda tolerance: ours(program, path, weight, tolerance, folder)
            best = min(value(peer(1e-10)[1]), value(own(1e-24)[1]))
            theirs = loosest(lambda t: peer(t)[1], best, value)
            mine = loosest(lambda t: own(t)[1], best, value)
            times = [(own(mine)[0], peer(theirs)[0]) for _ in range(TURNS)]
        print(f"{name}: ours {min(a for a, _ in times):.3f} s at tolerance {mine:g}, "
              f"liblinear {min(b for _, b in times):.3f} s at {theirs:g}, objective {best:.10g}")
        figure(f"l1 on {name}, file to model beside liblinear", statistics.median(a / b for a, b in times), "times", "at most",
               3)


if __name__ == "__main__":
    main(*sys.argv[1:])
