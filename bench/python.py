"""FedPLTClassifier.fit beside scikit-learn's LogisticRegression(lbfgs), on a9a pooled, from arrays: the same
penalty, and at least the gradient that scikit-learn reached. CPU time, as ratios of one run; above 1 ours is
quicker.

usage: PYTHONPATH=build/python python3 bench/python.py [FILE]     default: ../shared/data/libsvm_a9a/a9a"""
import os
import statistics
import sys
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

import fedplt  # noqa: E402

ALPHA, TURNS = 1e-4, 3


def slope(X, y, coefficients, intercept):
    """Norm of the gradient of mean loss + ALPHA/2 |w|^2."""
    sign = np.where(y == y.max(), 1.0, -1.0)
    pull = -sign / (1 + np.exp(sign * (X @ coefficients + intercept))) / len(y)
    return np.linalg.norm(np.append(X.T @ pull + ALPHA * coefficients, pull.sum()))


def timed(fit):
    begin = time.process_time()
    fitted = fit()
    return time.process_time() - begin, fitted


def compare(name, X, y, sites, tol, **more):
    first = slope(X, y, np.zeros(X.shape[1]), 0)
    ratios = []
    for _ in range(TURNS):
        theirs, one = timed(lambda: LogisticRegression(C=1 / (ALPHA * len(y)), solver="lbfgs", tol=tol,
                                                       max_iter=10000).fit(X, y))
        reached = slope(X, y, one.coef_[0], one.intercept_[0]) / first
        ours, two = timed(lambda: fedplt.FedPLTClassifier(ALPHA, tol=reached, max_iter=10000, **more).fit(
            X, y, sites))
        mine = slope(X, y, two.coef_[0], two.intercept_[0]) / first
        assert two.outcome_ == "converged" and mine <= reached * 1.0001, (mine, reached)
        ratios.append(theirs / ours)
    print(f"{name:34} {two.choices_['algorithm'][0]:12} relative gradient {reached:.1e}: {two.n_iter_:3} rounds, "
          f"{one.n_iter_[0]:4} iterations, ratio {statistics.median(ratios):.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "../shared/data/libsvm_a9a/a9a"
    if not os.path.exists(path):
        print(f"skipped: there is no {path}")
        return
    warnings.simplefilter("ignore")
    X, y = load_svmlight_file(path)
    X.sort_indices()
    dense = np.ascontiguousarray(X.toarray())
    sites = np.sort(np.random.default_rng(0).integers(0, 10, len(y)))
    for tol in (1e-2, 1e-4):
        for layout, rows in (("sparse", X), ("dense", dense)):
            for algorithm in ("auto", "fed-newton"):
                compare(f"{layout}, one site, {algorithm}", rows, y, None, tol, algorithm=algorithm)
            compare(f"{layout}, ten sites, auto", rows, y, sites, tol)


main()
