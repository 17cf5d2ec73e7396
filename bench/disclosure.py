#!/usr/bin/python3
"""How much exact answers tell about the rows behind them: the rank of the answers of L-BFGS fits (docs/disclosure.md, Measured),
and whether least squares finds the rows from them.

The unknowns are the numbers in the rows of one site; labels are known. An answer is the gradient of the logistic cost of the site
at a point that was broadcast, in double precision. The rank counts singular values of the Jacobian of all answers above 1e-12 of
the largest.

usage: bench/disclosure.py [ROWS,COLUMNS ...]      default: 24,3 40,5 46,13 60,13 123,13 303,13
       bench/disclosure.py --limit [ROWS,COLUMNS ...]        fits as many as the rule `questions` of `strict` admits
       bench/disclosure.py --reconstruct [ROWS,COLUMNS ...]  rows found from a start that is 30 % off
"""
import sys

import numpy as np
from scipy.optimize import least_squares, linear_sum_assignment, minimize

SIZES = [(24, 3), (40, 5), (46, 13), (60, 13), (123, 13), (303, 13)]
CUT = 1e-12
OFF = 0.3  # of the start, relative: what the operator guesses


def sigmoid(t):
    return 0.5 * (1 + np.tanh(t / 2))


def gradient(X, y, w):
    """Of the mean over rows with an intercept; y in {0, 1}."""
    Z = np.c_[X, np.ones(len(X))]
    return Z.T @ (sigmoid(Z @ w) - y) / len(X)


def fit(X, y, eps):
    """Points at which L-BFGS asks for the gradient."""
    Z, points = np.c_[X, np.ones(len(X))], []

    def cost(w):
        points.append(w.copy())
        t = Z @ w
        return np.mean(np.logaddexp(0, t) - y * t) + eps / 2 * w @ w, gradient(X, y, w) + eps * w
    minimize(cost, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0, "maxiter": 200})
    return points


def jacobian(X, y, w):
    """Of the gradient in the entries of X: p x (q n)."""
    q, n = X.shape
    Z = np.c_[X, np.ones(q)]
    s = sigmoid(Z @ w)
    bend = s * (1 - s)
    J = np.zeros((n + 1, q, n))
    J += np.einsum("ia,i,j->aij", Z, bend, w[:n])
    for j in range(n):
        J[j, :, j] += s - y
    return J.reshape(n + 1, q * n) / q


def rank(X, asked):
    """`asked`: (labels, point)."""
    A = np.vstack([jacobian(X, y, w) for y, w in asked])
    if len(A) > A.shape[1]:  # the same singular values
        A = np.linalg.qr(A, mode="r")
    values = np.linalg.svd(A, compute_uv=False)
    return int(np.sum(values > CUT * values[0]))


def problem(q, n, seed=1):
    random = np.random.default_rng(seed)
    X = random.standard_normal((q, n))
    labels = [(X @ random.standard_normal(n) + random.logistic(size=q) > 0).astype(float) for _ in range(12)]
    return X, labels


def questions(X, labels, kind, count):
    if kind == "penalties":
        return [(labels[0], w) for eps in np.geomspace(1e-3, 1, count) for w in fit(X, labels[0], eps)]
    return [(y, w) for y in labels[:count] for w in fit(X, y, 1e-2)]


def table(sizes):
    print("rows, columns | unknowns | one fit | ten penalties | six labels")
    for q, n in sizes:
        X, labels = problem(q, n)
        found = [rank(X, questions(X, labels, "labels", 1)), rank(X, questions(X, labels, "penalties", 10)),
                 rank(X, questions(X, labels, "labels", 6))]
        print(f"{q}, {n} | {q * n} | " + " | ".join(map(str, found)), flush=True)


def limit(sizes):
    """Labels at 20 p each and penalties at 10 p, as many as half of rows times columns admits; one fit always."""
    print("rows, columns | labels: fits, rank/unknowns | penalties: fits, rank/unknowns")
    for q, n in sizes:
        X, labels = problem(q, n)
        budget, p, words = 0.5 * q * n, n + 1, []
        for kind, count in (("labels", max(1, int(budget // (20 * p)))),
                            ("penalties", max(1, 1 + int((budget - 20 * p) // (10 * p))))):
            count = min(count, len(labels))
            words.append(f"{count}, {rank(X, questions(X, labels, kind, count)) / (q * n):.2f}")
        print(f"{q}, {n} | " + " | ".join(words), flush=True)


def reconstruct(sizes):
    """The rows by least squares (Levenberg and Marquardt) from answers of eleven labels, with the points that were broadcast known."""
    print("rows, columns | fits | largest error of a number | relative residual")
    for q, n in sizes:
        X, labels = problem(q, n)
        asked = questions(X, labels, "labels", 11)
        told = np.concatenate([gradient(X, y, w) for y, w in asked])
        guess = X * (1 + OFF * np.random.default_rng(2).standard_normal(X.shape))

        def rest_at(flat):
            return np.concatenate([gradient(flat.reshape(X.shape), y, w) for y, w in asked]) - told

        def turn_at(flat):
            return np.vstack([jacobian(flat.reshape(X.shape), y, w) for y, w in asked])
        found = least_squares(rest_at, guess.ravel(), turn_at, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15,
                              max_nfev=2000).x.reshape(X.shape)
        rest = rest_at(found.ravel())
        apart = np.max(np.abs(found[:, None, :] - X[None, :, :]), axis=2)
        pairs = linear_sum_assignment(apart)  # rows with equal labels have no order
        print(f"{q}, {n} | 11 | {np.max(apart[pairs]):.1e} | {np.linalg.norm(rest) / np.linalg.norm(told):.1e}", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    sizes = [tuple(map(int, word.split(","))) for word in words if not word.startswith("-")]
    if "--limit" in words:
        limit(sizes or SIZES)
    elif "--reconstruct" in words:
        reconstruct(sizes or [(24, 3), (40, 5)])
    else:
        table(sizes or SIZES)
