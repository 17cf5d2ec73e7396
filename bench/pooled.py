#!/usr/bin/python3
"""From a file to a model: `fedplt train`, start of the program included, beside scikit-learn's lbfgs on the pooled data and
its own reading (load_svmlight_file; numpy.load), both to the same mean gradient.

usage: bench/pooled.py PROGRAM [--short]

Times are those of all processors together, and every side has one thread: a busy machine does not change them, and nobody is
helped by cores. Beside scikit-learn stand liblinear's own program (Debian package liblinear-tools) and R's glmnet, where they
are installed.
"""
import json
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy starts its threads

import pathlib
import resource
import shutil
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


def liblinear_time(data, rows, eps, folder):
    """L2-regularised logistic regression (-s 0) at its default tolerance; seconds of the whole process, and the weights."""
    model = folder / "liblinear.model"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["liblinear-train", "-q", "-s", "0", "-c", repr(1 / (eps * rows)), "-e", "1e-4", str(data), str(model)],
                   check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = model.read_text()
    weights = np.array([float(x) for x in text.split("w\n", 1)[1].split()])
    if "label 1 -1" not in text:
        weights = -weights
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, weights


def glmnet_time(data, eps):
    """Reading by e1071 or by hand is R's own matter: the seconds of glmnet's fit alone; None where it is not installed."""
    program = f"""
        suppressMessages(library(glmnet)); library(Matrix)
        lines <- strsplit(readLines("{data}"), " ")
        y <- as.numeric(sapply(lines, `[`, 1)); cells <- lapply(lines, function(l) l[-1][nzchar(l[-1])])
        i <- rep(seq_along(cells), lengths(cells)); e <- do.call(rbind, strsplit(unlist(cells), ":"))
        x <- sparseMatrix(i, as.integer(e[, 1]), x = as.numeric(e[, 2]))
        t <- system.time(glmnet(x, y, family = "binomial", alpha = 0, lambda = {eps}, intercept = FALSE,
                                standardize = FALSE, thresh = 1e-10))
        cat(t[["user.self"]] + t[["sys.self"]])"""
    if not shutil.which("Rscript"):
        return None
    done = subprocess.run(["Rscript", "-e", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return float(done.stdout) if done.returncode == 0 else None


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


def show_others(data, eps, folder):
    x, y = datasets.load_svmlight_file(str(data))
    if shutil.which("liblinear-train"):
        seconds, weights = min((liblinear_time(data, len(y), eps, folder) for _ in range(3)), key=lambda made: made[0])
        print(f"    liblinear: {1e3 * seconds:.0f} ms to {np.linalg.norm(gradient(x, y, weights, eps)):.2g}, reading included")
    else:
        print("    liblinear is not installed (liblinear-tools)")
    seconds = glmnet_time(data, eps)
    print("    glmnet is not installed (r-cran-glmnet)" if seconds is None
          else f"    glmnet: {1e3 * seconds:.0f} ms, without reading")


with tempfile.TemporaryDirectory(prefix="fedplt-bench-") as place:
    folder = pathlib.Path(place)
    if A9A.exists():
        compare("a9a", folder, A9A, lambda: datasets.load_svmlight_file(str(A9A)), 1e-4, 1e-6, 3)
        show_others(A9A, 1e-4, folder)
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
