"""Generated data sets and the minimisers of

    F(x) = sum over agents of [(1/q_i) sum_j log(1 + exp(-b a.x)) + (eps/2) ||x||^2] (+ 0.01 N ||x||_1)

by Newton's iteration; with l1, Newton on the coordinates that are not 0, found by proximal gradient
steps and confirmed by the optimality condition on the others.
"""
import math
import random

import numpy


def normal(draw):
    return math.sqrt(-2 * math.log(1 - draw.random())) * math.cos(2 * math.pi * draw.random())


def label(draw, row, truth):
    return 1 if draw.random() < 1 / (1 + math.exp(-sum(a * t for a, t in zip(row, truth)))) else -1


def clinics():
    """Four sites of very different size, each with a shift of its own; dense, as CSV."""
    draw = random.Random(20)
    truth = [0.9, -1.4, 0, 0.5, 0, 2.0]
    sites, lines = [], ["site,b,a1,a2,a3,a4,a5,a6"]
    for number, (name, count) in enumerate([("north", 70), ("east", 24), ("south", 41),
                                            ("west", 9)]):
        shift = [0.5 * normal(draw) for _ in truth]
        rows, labels = [], []
        for _ in range(count):
            rows.append([round(s + (1 + number / 4) * normal(draw), 3) for s in shift])
            labels.append(label(draw, rows[-1], truth))
            lines.append(",".join([name, str(labels[-1]), *map(repr, rows[-1])]))
        sites.append((numpy.array(rows), numpy.array(labels, float)))
    return "\n".join(lines) + "\n", sites


def shards():
    """Sparse rows in seven contiguous shards of which the first have a row more; as LIBSVM text."""
    draw = random.Random(21)
    features, count, agents = 20, 180, 7
    truth = [normal(draw) if j % 3 else 0 for j in range(features)]
    rows, labels, lines = [], [], []
    for _ in range(count):
        row = [round(normal(draw), 2) if draw.random() < 0.2 else 0 for _ in range(features)]
        rows.append(row)
        labels.append(label(draw, row, truth))
        lines.append(" ".join([str(labels[-1])]
                              + [f"{j + 1}:{a!r}" for j, a in enumerate(row) if a]))
    parts = zip(numpy.array_split(numpy.array(rows), agents),
                numpy.array_split(numpy.array(labels, float), agents))
    return "\n".join(lines) + "\n", list(parts)


def derivatives(sites, weights, eps, x):
    gradient, hessian = eps * sum(weights) * x, eps * sum(weights) * numpy.eye(len(x))
    for (a, b), weight in zip(sites, weights):
        p = 1 / (1 + numpy.exp(b * (a @ x)))
        gradient = gradient - weight * (a.T @ (b * p)) / len(b)
        hessian = hessian + weight * (a.T * (p * (1 - p))) @ a / len(b)
    return gradient, hessian


def newton(sites, weights, eps, x, free, push):
    """On the coordinates `free`, with the constant gradient `push` more."""
    for _ in range(50):
        gradient, hessian = derivatives(sites, weights, eps, x)
        step = numpy.linalg.solve(hessian[numpy.ix_(free, free)], (gradient + push)[free])
        length = numpy.linalg.norm(step)
        x = x.copy()
        x[free] -= step * min(1, 1 / length) if length else 0
        if length < 1e-16:
            break
    return x


def minimiser(sites, eps, l1=0.0, weights=None):
    weights = weights or [1.0] * len(sites)
    features = sites[0][0].shape[1]
    x = numpy.zeros(features)
    if not l1:
        return newton(sites, weights, eps, x, numpy.arange(features), 0)
    bound = sum(w * (eps * numpy.eye(features) + a.T @ a / (4 * len(a)))
                for (a, _), w in zip(sites, weights))
    step = 1 / numpy.linalg.eigvalsh(bound)[-1]
    for _ in range(2000):
        x = x - step * derivatives(sites, weights, eps, x)[0]
        x = numpy.sign(x) * numpy.maximum(abs(x) - step * l1, 0)
    free, signs = numpy.flatnonzero(x), numpy.sign(x)
    x = newton(sites, weights, eps, x, free, l1 * signs)
    gradient = derivatives(sites, weights, eps, x)[0]
    assert (numpy.sign(x) == signs).all() and abs(gradient[x == 0]).max(initial=0) < l1
    return x


def lines_of(x):
    return "".join(f"{value:.17g}\n" for value in x)


def files():
    made = {}
    for name, ending, (text, sites) in [("clinics", "csv", clinics()), ("shards", "svm", shards())]:
        made[f"{name}.{ending}"] = text
        for eps in (0.5, 0.01):
            made[f"{name}_eps{eps}_l2.txt"] = lines_of(minimiser(sites, eps))
            made[f"{name}_eps{eps}_l1.txt"] = lines_of(minimiser(sites, eps, 0.01 * len(sites)))
        rows = [len(b) * len(sites) / sum(len(b) for _, b in sites) for _, b in sites]
        made[f"{name}_eps0.01_rows.txt"] = lines_of(minimiser(sites, 0.01, weights=rows))
    return made
