#!/usr/bin/python3
"""A researcher's own local training beside the library's, as a LaTeX table and a picture.

usage: PYTHONPATH=build/python python3 examples/python/comparison.py [FOLDER]

The cost is robust regression by the pseudo-Huber loss, written in Python; local training is a heavy ball."""
import pathlib
import sys

import numpy as np
import pandas

import fedplt


class Robust:
    """f(x) = mean(sqrt(1 + r^2) - 1) + 0.05 |x|^2, r = A x - b: between 0.1 and lmax(A'A/q) + 0.1 curved."""

    def __init__(self, random, n=8, rows=40):
        self.A = random.normal(size=(rows, n)) * np.linspace(0.3, 1.5, n)
        self.b = self.A @ random.normal(size=n) + random.standard_t(2, rows)
        self.curvature = (0.1, 0.1 + np.linalg.eigvalsh(self.A.T @ self.A / rows)[-1])

    def value_and_gradient(self, x):
        rest = self.A @ x - self.b
        root = np.sqrt(1 + rest ** 2)
        return (root - 1).mean() + 0.05 * x @ x, self.A.T @ (rest / root) / len(rest) + 0.1 * x


def heavy_ball(problem):
    """Polyak's momentum on the local problem: two vectors, as many gradients as epochs."""
    w = before = problem.start
    for _ in range(problem.epochs):
        w, before = w - 0.3 * problem.gradient(w) + 0.4 * (w - before), w
    return w


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    random = np.random.default_rng(0)
    costs = fedplt.Costs([Robust(random) for _ in range(10)], 8)
    common = dict(runs=1, costs=costs, rounds=3000, tolerance=1e-10)

    theirs = fedplt.compare(["fed-plt", "fed-plt-anderson", "scaffold", "fed-lbfgs"], **common)
    ours = fedplt.compare(["fed-plt"], solver=heavy_ball, **common)
    ours.table["algorithm"] = ours.curves["algorithm"] = "fed-plt, heavy ball"
    theirs.table = pandas.concat([theirs.table, ours.table], ignore_index=True)
    theirs.curves = pandas.concat([theirs.curves, ours.curves], ignore_index=True)

    words = theirs.to_latex(columns=["algorithm", "rounds", "gradients", "vectors"], label="tab:robust",
                            caption="To a criterion of $10^{-10}$: rounds, gradients and vectors, all agents.")
    (folder / "comparison.tex").write_text(words)
    print(words)
    try:
        picture = theirs.plot("vectors")
        picture.set_xscale("log")  # from hundreds to tens of thousands
        picture.figure.savefig(folder / "comparison.png", dpi=120)
    except ImportError as absent:
        print("no picture:", absent)


main()
