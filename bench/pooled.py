#!/usr/bin/python3
"""From a file to a model: `fedplt train`, start of the program included, beside scikit-learn's lbfgs on the pooled data and
its own reading (load_svmlight_file; numpy.load), both to the same mean gradient.

usage: bench/pooled.py PROGRAM [--short]

Times are those of all processors together: a busy machine does not change them, and neither side is helped by cores.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import sklearn.datasets as datasets
import sklearn.linear_model as linear_model

from figures import figure

PROGRAM = os.path.abspath(sys.argv[1])
SHORT = "--short" in sys.argv
AGENTS = 10
A9A = pathlib.Path(__file__).resolve().parent / "../../shared/data/libsvm_a9a/a9a"


def program_time(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own_time(work):
    begun = time.process_time()
    made = work()
    return time.process_time() - begun, made


def gradient(x, y, weights, eps):
    """Of mean log(1 + exp(-y a.w)) + eps/2 |w|^2."""
    margins = y * (x @ weights)
    return x.T @ (-y / (1 + np.exp(margins))) / len(y) + eps * weights


def compare(title, folder, data, read, eps, tolerance, bar):
    """The tolerance of lbfgs is the largest that reaches the mean gradient, if any does; the program's criterion is the
    square of the agents' sum."""
    def fit(limit):
        x, y = read()
        model = linear_model.LogisticRegression(C=1 / (eps * len(y)), fit_intercept=False, tol=limit, max_iter=10000)
        return x, y, model.fit(x, y).coef_[0]

    for limit in tolerance * np.logspace(1, -3, 9):
        x, y, weights = fit(limit)
        reached = np.linalg.norm(gradient(x, y, weights, eps))
        if reached <= tolerance:
            break
    best = min(own_time(lambda: fit(limit))[0] for _ in range(3))
    settings = ["train", "--data", data, "--out", folder / "out", "--pictures", "no", "--quiet", "--paper",
                "--weights", "rows", "--eps", eps, "--threads", 1, "--agents", AGENTS,
                "--tolerance", (AGENTS * tolerance) ** 2]
    print(f"{title}: scikit-learn {1e3 * best:.0f} ms to {reached:.2g}, reading included")
    for algorithm in ("auto", "fed-lbfgs"):
        own = min(program_time(*settings, "--algorithm", algorithm) for _ in range(3))
        model = json.loads((folder / "out/model.json").read_text())
        mine = np.linalg.norm(gradient(x, y, np.array(model["weights"]), eps))
        print(f"    algorithm {algorithm} ({model['training']['algorithm']}): {1e3 * own:.0f} ms to {mine:.2g}")
        figure(f"{title}, from file to model, algorithm {algorithm}, against scikit-learn", own / best, "times", "at most", bar)


with tempfile.TemporaryDirectory(prefix="fedplt-bench-") as place:
    folder = pathlib.Path(place)
    if A9A.exists():
        compare("a9a", folder, A9A, lambda: datasets.load_svmlight_file(str(A9A)), 1e-4, 1e-6, 3)
    else:
        print("a9a is not here")
    rows = 50_000 if SHORT else 1_000_000
    stream = np.random.default_rng(3)
    table = stream.normal(size=(rows, 101))
    table[:, 100] = np.where(table[:, :100] @ stream.normal(size=100) + 3 * stream.logistic(size=rows) > 0, 1, -1)
    np.save(folder / "d.npy", table)
    del table

    def load():
        array = np.load(folder / "d.npy")
        return np.ascontiguousarray(array[:, :100]), array[:, 100]

    compare(f"{rows} x 100 (NPY)", folder, folder / "d.npy", load, 1e-4, 1e-6, 1)
