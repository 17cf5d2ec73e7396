#!/usr/bin/python3
"""Rules for the private default, compared on problems that they were not chosen on. Runs in parts, because all of it takes hours on
a small machine.

Simulates the default mechanism (distributed noisy gradient descent, logistic, held-out accuracy, mean of --repeats runs) in NumPy
for a grid of stretch of the columns, clip and length of the path. A rule is (stretch, clip share, a, b): path a (S/200)^b. Regret is
how far its accuracy is below the best of the grid, in points. The constants of the rule are chosen by the mean regret on all other
problems, and the regret on the problem that was left out is reported; beside it the regret of the rule of the program.

`choose` does so for rules of the grid, whose rows have the norm 3/4 sqrt(k). `rules` measures rules with longer rows and a path with
b = 1.25 beside them on the same problems, and leaves one problem out likewise: rule (stretch, norm over sqrt(k), clip share, a).

usage: bench/utility_rule.py part FILE [--problems NAME,...] [--epsilons 0.5,2,8] [--repeats 400]  adds problems to FILE (JSON lines)
       bench/utility_rule.py choose FILE                                                           leave one problem out
       bench/utility_rule.py rules FILE                                                            the same with longer rows
"""
import argparse
import itertools
import json
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from utility import tight_mu  # noqa: E402
from utility_problems import GENERATED, generate, real  # noqa: E402

STRETCHES, SHARES = (1.0, 1.5, 2.5), (1 / 16, 1 / 8, 1 / 4, 1 / 2)
PATHS = [2.0 ** i for i in range(-2, 10)]  # u of the rule: gamma K is 4 u/R'^2
FORMER = (1.5, 1 / 4, 192, 1.25)  # of the program until it had the one below
OWN = (2.0, 1.0, 1 / 4, 272)
RULES = list(itertools.product((1.5, 2.0, 2.5), (0.75, 1.0), (3 / 16, 1 / 4, 0.35), (192, 272)))
COEFFICIENTS = [FORMER[2] * 2.0 ** (i / 2) for i in range(-6, 5)]
POWERS = (0.75, 1.0, 1.25, 1.5)


def train(rows, labels, sites, mu, norm, clip, path, repeats, random):
    """Weights of all repetitions, one a column."""
    count = len(rows)
    gamma = 1.75 / (norm ** 2 / 4 + 1e-3)
    rounds = max(8, math.ceil(4 * path / norm ** 2 / gamma))
    gamma = 4 * path / norm ** 2 / rounds
    noise = 2 * clip * math.sqrt(rounds * sites) / mu / count
    bound = np.minimum(1, clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-12))[:, None].astype(np.float32)
    signed = (rows * labels[:, None]).astype(np.float32)  # the gradient of a row is -slope times this
    turned = np.ascontiguousarray(signed.T)
    weights = np.zeros((rows.shape[1], repeats), np.float32)
    slope = np.empty((count, repeats), np.float32)
    for _ in range(rounds):
        np.matmul(signed, weights, out=slope)
        np.clip(slope, -30, 30, out=slope)
        np.exp(slope, out=slope)
        slope += 1
        np.reciprocal(slope, out=slope)
        np.minimum(slope, bound, out=slope)
        weights -= gamma * (1e-3 * weights - turned @ slope / count +
                            noise * random.standard_normal(weights.shape, dtype=np.float32))
    return weights


def shaped(x, number, stretch, radius):
    """As the program makes rows of them: numbers stretched, rows shortened, an intercept."""
    x = np.where(number, x * stretch, x)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.c_[x * np.minimum(1, radius / np.maximum(lengths, 1e-12)), np.ones(len(x))]


def grid(problem, epsilons, repeats):
    """Two means of each cell, of half of the repetitions each: the best cell of one half is measured by the other."""
    sites, count, k = len(problem["sites"]), len(problem["labels"]), problem["inputs"]
    radius = max(1, 0.75 * math.sqrt(k))
    norm = math.hypot(radius, 1)
    for epsilon in epsilons:
        mu, cells = tight_mu(epsilon), {}
        for stretch in STRETCHES:
            rows, held = (shaped(problem[which], problem["number"], stretch, radius) for which in ("rows", "held"))
            for share, path in itertools.product(SHARES, PATHS):
                random = np.random.default_rng([int(8 * epsilon), int(8 * stretch), int(16 * share), int(4 * path)])
                weights = train(rows, problem["labels"], sites, mu, norm, share * norm, path, repeats, random)
                hits = (np.sign(held.astype(np.float32) @ weights) == problem["truth"][:, None]).mean(axis=0)
                cells[f"{stretch} {share} {path}"] = [float(half.mean()) for half in np.split(hits, 2)]
        yield {"problem": problem["name"], "epsilon": epsilon, "signal": mu * count / math.sqrt(sites), "cells": cells}


def best(cell):
    """Accuracy of the cell that one half of the repetitions prefers, by the other half: the greatest of many noisy means is too high."""
    marks = np.array(list(cell["cells"].values()))
    return (marks[marks[:, 0].argmax(), 1] + marks[marks[:, 1].argmax(), 0]) / 2


def regret(cell, rule):
    """In points; between two paths of the grid the accuracy is interpolated."""
    stretch, share, a, b = rule
    path = min(max(a * (cell["signal"] / 200) ** b, PATHS[0]), PATHS[-1])
    marks = [np.mean(cell["cells"][f"{stretch} {share} {at}"]) for at in PATHS]
    return 100 * (best(cell) - np.interp(math.log2(path), np.log2(PATHS), marks))


def choose(path):
    cells = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    rules = list(itertools.product(STRETCHES, SHARES, COEFFICIENTS, POWERS))
    table = np.array([[regret(cell, rule) for cell in cells] for rule in rules])
    own, left = np.array([regret(cell, FORMER) for cell in cells]), np.empty(len(cells))
    print("problem              epsilon    best     former rule  left out: stretch clip a b, regret")
    for name in dict.fromkeys(cell["problem"] for cell in cells):
        inside = np.array([cell["problem"] == name for cell in cells])
        rule = int(np.argmin(np.mean(np.maximum(table[:, ~inside], 0.3) ** 2, axis=1)))
        left[inside] = table[rule, inside]
        for i in np.flatnonzero(inside):
            words = " ".join(f"{value:.3g}" for value in rules[rule])
            print(f"{name:20} {cells[i]['epsilon']:7} {best(cells[i]):7.3f} {own[i]:15.1f}  {words}, {left[i]:.1f}")
    score("former rule", own)
    score("left out", left)


def score(name, found):
    print(f"{name}: {np.sum(found > 1)} of {len(found)} cells more than a point below the best, {np.sum(found > 2)} more than two; "
          f"at most {found.max():.1f}, mean {found.mean():.2f}", flush=True)


def measure_rule(problem, cell, rule, repeats):
    stretch, factor, share, a = rule
    radius = max(1, factor * math.sqrt(problem["inputs"]))
    norm = math.hypot(radius, 1)
    rows, held = (shaped(problem[which], problem["number"], stretch, radius) for which in ("rows", "held"))
    path = min(max(a * (cell["signal"] / 200) ** 1.25, PATHS[0]), PATHS[-1])
    random = np.random.default_rng([int(8 * cell["epsilon"]), int(8 * stretch), int(100 * factor), int(64 * share), a])
    weights = train(rows, problem["labels"], len(problem["sites"]), tight_mu(cell["epsilon"]), norm, share * norm, path, repeats, random)
    return 100 * (best(cell) - np.mean(np.sign(held.astype(np.float32) @ weights) == problem["truth"][:, None]))


def compare_rules(path, data):
    """Regret of RULES against the best of the grid in FILE."""
    cells = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    known = {problem["name"]: problem for problem in real(data)}
    names = list(dict.fromkeys(cell["problem"] for cell in cells))
    table = np.empty((len(RULES), len(cells)))
    for i, cell in enumerate(cells):
        name = cell["problem"]
        problem = known[name] if name in known else generate(name)
        repeats = 2 * min(max(30000 // len(problem["labels"]), 10), 200)
        table[:, i] = [measure_rule(problem, cell, rule, repeats) for rule in RULES]
        print(f"{name:20} {cell['epsilon']:7} {best(cell):7.3f} {table[RULES.index(OWN), i]:6.1f}", flush=True)
    left = np.empty(len(cells))
    for name in names:
        inside = np.array([cell["problem"] == name for cell in cells])
        left[inside] = table[int(np.argmin(np.mean(np.maximum(table[:, ~inside], 0.3) ** 2, axis=1))), :][inside]
    for rule, found in zip(RULES, table):
        score(str(rule), found)
    score("rule of the program", table[RULES.index(OWN)])
    score("left out", left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("part", "choose", "rules"))
    parser.add_argument("file")
    parser.add_argument("--problems", type=lambda text: text.split(","), help="default: all, generated and real")
    parser.add_argument("--epsilons", default=[0.5, 2.0, 8.0], type=lambda text: [float(word) for word in text.split(",")])
    parser.add_argument("--repeats", type=int, default=0, help="even; default: 20 to 400 by the number of rows")
    parser.add_argument("--data", default="../shared/data")
    words = parser.parse_args()
    if words.what == "choose":
        return choose(words.file)
    if words.what == "rules":
        return compare_rules(words.file, words.data)
    known = {problem["name"]: problem for problem in real(words.data)}
    for name in words.problems or [*GENERATED, *known]:
        problem = known[name] if name in known else generate(name)
        count = words.repeats or 2 * min(max(60000 // len(problem["labels"]), 10), 200)
        with open(words.file, "a") as file:
            for cell in grid(problem, words.epsilons, count):
                file.write(json.dumps(cell) + "\n")
        print(name, "done", flush=True)


if __name__ == "__main__":
    main()
