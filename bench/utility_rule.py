#!/usr/bin/python3
"""Rules for the private default, compared with tuned settings on problems that they were not chosen on.

Simulates the default mechanism (distributed noisy gradient descent, as src/promise plans it) for a grid of settings: stretch of the
numbers, norm of the rows over sqrt(columns), clip over the bound of a gradient, and length of the path. A cell is a problem at one
epsilon. Its yardstick, the tuned setting, is chosen on one set of noise draws and one half of the held-out rows, and measured with
fresh draws on the other half; so is every rule. Draws are added until the standard error is below 0.2 points (--error).

Points are hundredths of the held-out accuracy, for huber and poisson of the share of the loss (the deviance) of a constant that is
explained.

usage: bench/utility_rule.py part FILE [--loss logistic] [--problems NAME,...] [--epsilons 0.5,2,8] [--seed 1] [--held 4000]   adds cells
                                                                                              to FILE (JSON lines)
       bench/utility_rule.py choose FILE                                                             leave one problem out
Needs cc. Run from the root of the source tree.
"""
import argparse
import ctypes
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from utility import tight_mu  # noqa: E402
from utility_problems import GENERATED, REAL, problems_of  # noqa: E402

WIDTH = 32  # of bench/utility_descent.c
RIDGE, STEP, MIN_ROUNDS = 1e-3, 1.75, 8
PREDICTOR_BOUND, MAX_COUNT = 2.0, 10  # of poisson
# number in the kernel; bound of a gradient and of the curvature, over R' and its square; the path of the program, u = a (S/200)^b
LOSSES = {"logistic": (0, 1.0, 0.25, (272, 1.25)), "huber": (1, 1.0, 1.0, (256, 1.0)), "softmax": (3, math.sqrt(2), 0.5, (68, 1.25)),
          "poisson": (2, max(math.exp(PREDICTOR_BOUND), MAX_COUNT), math.exp(PREDICTOR_BOUND), (400, 1.25))}
MULTIPLES = (0.25, 0.5, 1, 2)
CAPS = (512, 1024)
# (stretch, norm over sqrt(k), clip share), each with all paths; then single settings beside them
SHAPES = {"logistic": [(stretch, 1.0, 0.25) for stretch in (1.5, 2.0, 2.5, 3.5)],
          "softmax": [(stretch, radius, 1.0) for stretch in (1.0, 2.0, 3.0) for radius in (0.75, 1.0)],
          "huber": [(stretch, 1.0, share) for stretch in (2.0, 3.0) for share in (0.125, 0.25)],
          "poisson": [(stretch, 1.0, share) for stretch in (2.0, 3.0) for share in (0.125, 0.25)]}
OTHERS = {"logistic": [(2.0, 0.75, 0.25), (2.0, 1.0, 0.125), (2.0, 0.75, 0.125), (2.0, 1.0, 0.375)]}


# The rule of the program: stretch where all inputs are numbers, what a category takes off, longest path; its clip
OWN = (2.75, 4.0, 1024)
FORMER = (2.0, 0.0, 512)
OWN_SHARE = {"logistic": 0.25, "huber": 0.125, "poisson": 0.125}


def kernel():
    folder = tempfile.mkdtemp()
    subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o", f"{folder}/descent.so",
                    str(pathlib.Path(__file__).parent / "utility_descent.c"), "-lm"], check=True)
    return ctypes.CDLL(f"{folder}/descent.so")


def shaped(x, number, stretch, radius):
    """As the program makes rows of them: numbers stretched, rows shortened, an intercept."""
    x = np.where(number, x * stretch, x)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.c_[x * np.minimum(1, radius / np.maximum(lengths, 1e-12)), np.ones(len(x))].astype(np.float32)


class Simulator:
    def __init__(self, problem, loss, epsilon, library):
        self.problem, self.library = problem, library
        self.number, self.bound, self.bend, _ = LOSSES[loss]
        self.classes = problem["classes"] if loss == "softmax" else 1
        self.signal = tight_mu(epsilon) * len(problem["labels"]) / math.sqrt(len(problem["sites"]))
        self.made = {}

    def rows(self, stretch, radius):
        if (stretch, radius) not in self.made:
            self.made = {(stretch, radius): [shaped(self.problem[which], self.problem["number"], stretch, radius)
                                             for which in ("rows", "held")]}
        return self.made[stretch, radius]

    def run(self, setting, random):
        """Scores of WIDTH repetitions on both halves of the held-out rows: an array 2 x WIDTH."""
        stretch, factor, share, path = setting
        radius = max(1, factor * math.sqrt(self.problem["inputs"]))
        norm = math.hypot(radius, 1)
        rows, held = self.rows(stretch, radius)
        count, columns = rows.shape
        curvature, clip = self.bend * norm ** 2 + RIDGE, share * self.bound * norm
        rounds = max(MIN_ROUNDS, math.ceil(path / STEP - 1e-9))
        shape = (columns, self.classes * WIDTH)
        noise = random.standard_normal((rounds, *shape), dtype=np.float32)
        noise *= 2 * clip * math.sqrt(rounds) / self.signal
        most = (clip / np.linalg.norm(rows, axis=1)).astype(np.float32)
        labels = np.ascontiguousarray(self.problem["labels"], dtype=np.float32)
        weights, scratch = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        limit = PREDICTOR_BOUND if self.number == 2 else 1
        array = [ctypes.c_void_p(a.ctypes.data) for a in (rows, labels, most, noise, weights, scratch)]
        size, real = ctypes.c_size_t, ctypes.c_float
        self.library.descend(self.number, size(count), size(columns), size(self.classes), *array[:3], real(limit), size(rounds),
                             real(path / curvature / rounds), real(RIDGE), *array[3:])
        return np.array([self.score(held[half::2] @ weights, self.problem["truth"][half::2]) for half in (0, 1)])

    def score(self, z, truth):
        if self.number == 0:
            return np.mean((z > 0) == (truth > 0)[:, None], axis=0)
        if self.number == 3:
            return np.mean(np.argmax(z.reshape(len(z), self.classes, WIDTH), axis=1) == truth[:, None], axis=0)
        mean = np.mean(self.problem["labels"])
        truth = truth[:, None].astype(float)
        if self.number == 1:
            def cost(at):
                return np.mean(np.where(np.abs(at - truth) < 1, (at - truth) ** 2 / 2, np.abs(at - truth) - 0.5), axis=0)
            return 1 - cost(z) / cost(mean)
        from scipy.special import xlogy
        z = np.minimum(z, PREDICTOR_BOUND + 1).astype(float)  # as a prediction of more than the largest mean would be cut

        def deviance(log_mean):
            return np.mean(xlogy(truth, truth) - truth - truth * log_mean + np.exp(log_mean), axis=0)
        return 1 - deviance(z) / deviance(math.log(mean))


def path_of(loss, signal):
    a, b = LOSSES[loss][3]
    return a * (signal / 200) ** b


def paths(loss, signal):
    """u, the path times the curvature: multiples of the program's, and both caps where one binds."""
    own = path_of(loss, signal)
    found = {min(multiple * own, cap) for multiple in MULTIPLES for cap in CAPS}
    return sorted(max(path, 0.05) for path in found)


def measure(simulators, setting, seed, error, limit):
    """Means of both halves and the standard error of their mean; the repetitions are shared out over the splits of the problem."""
    scores = [[] for _ in simulators]
    random = np.random.default_rng(seed)
    for batch in range(limit):
        for number, simulator in enumerate(simulators):
            scores[number].append(simulator.run(setting, random))
        each = [np.concatenate(parts, axis=1) for parts in scores]
        found = math.sqrt(sum(part.mean(axis=0).var() / part.shape[1] for part in each)) / len(each)
        if found < error:
            break
    return [float(np.mean([part[half].mean() for part in each])) for half in (0, 1)], found


def cell(name, loss, epsilon, data, library, words):
    problems = problems_of(name, loss, data, words.seed, words.held)
    simulators = [Simulator(problem, loss, epsilon, library) for problem in problems]
    signal, numbers = simulators[0].signal, int(problems[0]["number"].sum())
    own = min(path_of(loss, signal), CAPS[0])
    settings = [(*shape, path) for shape in SHAPES[loss] for path in paths(loss, signal)]
    settings += [(*shape, own * (0.25 / shape[2] if loss == "logistic" else 1)) for shape in OTHERS.get(loss, ())]
    if not numbers:  # nothing is stretched
        settings = [setting for setting in settings if setting[0] in (2.0, SHAPES[loss][0][0] if loss != "logistic" else 2.0)]
    seed = [sorted([*GENERATED, *REAL]).index(name), int(8 * epsilon), list(LOSSES).index(loss)]
    chosen = {setting: measure(simulators, setting, [*seed, 1], 0.003, 8)[0] for setting in settings}
    best = [max(settings, key=lambda setting: chosen[setting][half]) for half in (0, 1)]
    rules = {(*shape, path) for shape in SHAPES[loss] for path in paths(loss, signal)
             if loss != "logistic" or path in [min(path_of(loss, signal), cap) for cap in CAPS]}
    fresh = {}
    for setting in sorted(rules & set(settings) | set(best)):
        means, error = measure(simulators, setting, [*seed, 2], words.error / 100, words.batches)
        fresh[" ".join(f"{value:.6g}" for value in setting)] = [*means, error]
    own = (stretch_of({"numbers": numbers, "inputs": problems[0]["inputs"]}, *OWN[:2]), 1.0, OWN_SHARE.get(loss, 1.0),
           min(path_of(loss, signal), OWN[2]))
    own = measure(simulators, own, [*seed, 2], words.error / 100, words.batches)
    keys = [" ".join(f"{value:.6g}" for value in setting) for setting in best]
    tuned = (fresh[keys[0]][1] + fresh[keys[1]][0]) / 2  # the choice of one half, measured on the other
    greedy = np.mean([max(means[half] for means in chosen.values()) for half in (0, 1)])
    return {"problem": name, "loss": loss, "epsilon": epsilon, "signal": signal, "inputs": problems[0]["inputs"],
            "numbers": numbers, "tuned": tuned, "same_draws": float(greedy), "best": keys, "own": [*own[0], own[1]],
            "fresh": fresh}


def stretch_of(cell, top, slope, bottom=1.5):
    """The rule's stretch, by the share of inputs that are categories."""
    return max(bottom, top - slope * (1 - cell["numbers"] / cell["inputs"]))


def regret(cell, rule):
    """Points below the tuned setting; between two measured stretches the score is interpolated."""
    top, slope, cap = rule
    path = min(path_of("logistic", cell["signal"]), cap)
    marks = {}
    for key, (first, second, _) in cell["fresh"].items():
        stretch, factor, share, at = map(float, key.split())
        if factor == 1 and share == 0.25 and abs(at - path) < 1e-4 * path:
            marks[stretch] = (first + second) / 2
    at = sorted(marks)
    return 100 * (cell["tuned"] - np.interp(stretch_of(cell, top, slope), at, [marks[stretch] for stretch in at]))


RULES = list(itertools.product((1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5), (0.0, 2.0, 4.0, 6.0), CAPS))


def score(name, found):
    found = np.asarray(found)
    print(f"{name}: {np.sum(found > 1)} of {len(found)} cells more than a point below tuned, {np.sum(found > 2)} more than two; "
          f"at most {found.max():.1f}, mean {found.mean():.2f}", flush=True)


def choose(path):
    cells = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    cells = [cell for cell in cells if cell["loss"] == "logistic"]
    table = np.array([[regret(cell, rule) for cell in cells] for rule in RULES])
    left, former, own = np.empty(len(cells)), [regret(cell, FORMER) for cell in cells], [regret(cell, OWN) for cell in cells]
    print("problem              epsilon  tuned  on its own draws  former  rule  left out: top slope cap, regret")
    for name in dict.fromkeys(cell["problem"] for cell in cells):
        inside = np.array([cell["problem"] == name for cell in cells])
        rule = int(np.argmin(np.mean(np.maximum(table[:, ~inside], 0.3) ** 2, axis=1)))
        left[inside] = table[rule, inside]
        for i in np.flatnonzero(inside):
            print(f"{name:20} {cells[i]['epsilon']:7} {cells[i]['tuned']:6.3f} {cells[i]['same_draws']:18.3f} {former[i]:7.1f} "
                  f"{own[i]:5.1f}  {' '.join(f'{value:g}' for value in RULES[rule])}, {left[i]:.1f}")
    score("former rule", former)
    score("rule of the program", own)
    score("left out", left)
    optimism = 100 * np.array([cell["same_draws"] - cell["tuned"] for cell in cells])
    print(f"tuned on its own draws is higher by up to {optimism.max():.1f} points, mean {optimism.mean():.2f}; standard errors of the "
          f"rules at most {100 * max(mark[2] for cell in cells for mark in cell['fresh'].values()):.2f}")
    changed = [(own[i] > 1) != (own[i] + optimism[i] > 1) for i in range(len(cells))]
    print(f"cells that fresh draws move across one point: {sum(changed)}")


def compare(path):
    """Losses other than logistic: each shape and multiple of the path, left out by problem."""
    cells = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    for loss in [loss for loss in LOSSES if loss != "logistic" and any(cell["loss"] == loss for cell in cells)]:
        own = [cell for cell in cells if cell["loss"] == loss]
        rules = list(itertools.product(SHAPES[loss], MULTIPLES, CAPS))
        table = np.full((len(rules), len(own)), np.nan)
        for i, (number, (shape, multiple, cap)) in itertools.product(range(len(own)), enumerate(rules)):
            path = max(min(multiple * path_of(loss, own[i]["signal"]), cap), 0.05)
            mark = own[i]["fresh"].get(" ".join(f"{value:.6g}" for value in (*shape, path)))
            table[number, i] = 100 * (own[i]["tuned"] - (mark[0] + mark[1]) / 2) if mark else np.nan
        left = np.empty(len(own))
        for name in dict.fromkeys(cell["problem"] for cell in own):
            inside = np.array([cell["problem"] == name for cell in own])
            rule = int(np.argmin(np.mean(np.maximum(table[:, ~inside], 0.3) ** 2, axis=1)))
            left[inside] = table[rule, inside]
        order = np.argsort(np.mean(np.maximum(table, 0.3) ** 2, axis=1))
        for number in order[:5]:
            score(f"{loss} {rules[number]}", table[number])
        print(rules[order[0]], *(f"{cell['problem']} {cell['epsilon']}: {100 * cell['tuned']:.1f} -{loss_at:.1f}"
                                 for cell, loss_at in zip(own, table[order[0]])), sep="\n  ")
        score(f"{loss} left out", left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("part", "choose"))
    parser.add_argument("file")
    parser.add_argument("--loss", default="logistic", choices=list(LOSSES))
    parser.add_argument("--problems", type=lambda text: text.split(","), help="default: all, generated and real")
    parser.add_argument("--epsilons", default=[0.5, 2.0, 8.0], type=lambda text: [float(word) for word in text.split(",")])
    parser.add_argument("--error", type=float, default=0.2, help="standard error in points that fresh draws must reach")
    parser.add_argument("--batches", type=int, default=40, help=f"at most so many batches of {WIDTH} fresh draws")
    parser.add_argument("--seed", type=int, default=1, help="of the generated problems; the rules were chosen on 1")
    parser.add_argument("--held", type=int, default=4000, help="held-out rows of a generated problem")
    parser.add_argument("--data", default="../shared/data")
    words = parser.parse_args()
    if words.what == "choose":
        choose(words.file)
        return compare(words.file)
    library = kernel()
    for name in words.problems or [*GENERATED, *REAL]:
        for epsilon in words.epsilons:
            found = cell(name, words.loss, epsilon, words.data, library, words)
            with open(words.file, "a") as file:
                file.write(json.dumps(found) + "\n")
        print(name, "done", flush=True)


if __name__ == "__main__":
    main()
