#!/usr/bin/python3
"""`fedplt evaluate --grid` beside NumPy and scikit-learn: bounds of AUC, accuracy and calibration counted anew from the
probabilities that `fedplt predict` writes, merged cells, and classes that are withheld. Speaks TAP.

usage: tests/cli/score_grid.py PROGRAM
"""
import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from cases import case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def sites(folder, sizes=(300, 200, 150), seed=3, steep=1.0):
    """One file a site, and a model of all."""
    rng = np.random.default_rng(seed)
    names = []
    for number, size in enumerate(sizes):
        x = rng.normal(size=(size, 2))
        sick = rng.random(size) < 1 / (1 + np.exp(-steep * (x @ [1, -2] - 0.3)))
        names.append(f"site{number}")
        with open(folder / f"site{number}.csv", "w") as file:
            print("a,b,label", file=file)
            for (a, b), y in zip(x, sick):
                print(f"{a:.6f},{b:.6f},{'yes' if y else 'no'}", file=file)
    run(folder, "train", "--data", ",".join(f"{name}.csv" for name in names), "--out", "m", "--quiet")
    return names


def predicted(folder, name):
    """Probability of the second class, and whether a row is of it."""
    rows = list(csv.DictReader(io.StringIO(run(folder, "predict", "m/model.json", f"{name}.csv").stdout)))
    with open(folder / f"{name}.csv") as file:
        labels = [row["label"] == "yes" for row in csv.DictReader(file)]
    column = [key for key in rows[0] if key.endswith("yes") and key != "label"][0]
    return np.array([float(row[column]) for row in rows]), np.array(labels)


def merged(p, cells, minimum):
    """Intervals of cells with their counts, each with at least the minimum; halves apart where both have as many."""
    count = np.bincount(np.minimum((p * cells).astype(int), cells - 1), minlength=cells)
    if minimum <= 1:
        return [(k, k, n) for k, n in enumerate(count) if n]
    half = cells // 2
    parts = [(0, cells)] if min(count[:half].sum(), count[half:].sum()) < minimum else [(0, half), (half, cells)]
    found = []
    for begin, end in parts:
        own, start, held = [], begin, 0
        for k in range(begin, end):
            held += count[k]
            if held >= minimum:
                own.append([start, k, held])
                start, held = k + 1, 0
        own[-1] = [own[-1][0], end - 1, own[-1][2] + held]
        found += [tuple(interval) for interval in own]
    return found


def area(positive, negative):
    sure = sum(n * m for a, _, n in positive for _, d, m in negative if a > d)
    maybe = sum(n * m for _, b, n in positive for c, _, m in negative if b >= c)
    pairs = sum(n for *_, n in positive) * sum(m for *_, m in negative)
    return sure / pairs, maybe / pairs


def close(found, wanted, rounding=1e-12):
    assert abs(found - wanted) <= rounding * max(1, abs(wanted)), (found, wanted)


def holds(bounds, value, slack=1e-12):
    assert bounds["low"] - slack <= value <= bounds["high"] + slack, (bounds, value)


def against_oracle(folder, cells, minimum, **how):
    names = sites(folder, **how)
    told = json.loads(run(folder, "evaluate", "m/model.json", *(f"{name}.csv" for name in names), "--grid", cells,
                          "--minimum", minimum, "--json").stdout)
    assert [site["site"] for site in told["sites"]] == names
    lists = [[], []]
    everything = [predicted(folder, name) for name in names]
    for site, (p, y) in zip(told["sites"], everything):
        positive, negative = (merged(p[y == k], cells, minimum) for k in (1, 0))
        low, high = area(positive, negative)
        close(site["auc"]["low"], low)
        close(site["auc"]["high"], high)
        lists[1] += positive
        lists[0] += negative
    low, high = area(lists[1], lists[0])
    close(told["all"]["auc"]["low"], low)
    close(told["all"]["auc"]["high"], high)
    everything.append(tuple(np.concatenate(parts) for parts in zip(*everything)))
    for site, (p, y) in zip([*told["sites"], told["all"]], everything):
        assert site["rows"] == len(p) and not site["withheld"]
        close(site["loss"], log_loss(y, p), 1e-9)
        close(site["brier"], brier_score_loss(y, p), 1e-9)
        close(site["predicted"], p.mean(), 1e-9)
        close(site["observed"], y.mean())
        holds(site["auc"], roc_auc_score(y, p))
        holds(site["accuracy"], ((p >= 0.5) == y).mean())
        for b, one in enumerate(site["calibration"]):
            inside = (p >= b / 10) & ((p < (b + 1) / 10) | (b == 9))
            holds(one["rows"], inside.sum())
            if inside.any() and one["observed"]["low"] is not None:
                holds(one["observed"], y[inside].mean())
    return told


@case
def bounds_are_those_of_the_merged_cells(folder):
    against_oracle(folder, 100, 5)


@case
def without_a_minimum_no_cell_is_merged(folder):
    told = against_oracle(folder, 1000, 0)
    assert told["all"]["auc"]["high"] - told["all"]["auc"]["low"] < 0.002
    assert told["all"]["accuracy"]["low"] == told["all"]["accuracy"]["high"]


@case
def halves_with_few_rows_are_merged_across_the_middle(folder):
    told = against_oracle(folder, 50, 12, sizes=(80, 120), steep=3.0, seed=9)
    assert any(site["accuracy"]["low"] < site["accuracy"]["high"] for site in told["sites"])


@case
def a_class_with_few_rows_withholds_both(folder):
    names = sites(folder)
    text = (folder / "site1.csv").read_text().splitlines()
    kept = [line for line in text if not line.endswith("yes")] + [line for line in text if line.endswith("yes")][:4]
    (folder / "site1.csv").write_text("\n".join(kept) + "\n")
    words = ["evaluate", "m/model.json", *(f"{name}.csv" for name in names), "--grid", 100]
    told = json.loads(run(folder, *words, "--json").stdout)
    hidden, known = told["sites"][1], told["sites"][0]
    for one in (hidden, told["all"]):
        assert one["withheld"] == ["classes"] and one["loss"] > 0
        assert one["auc"] == one["accuracy"] == {"low": None, "high": None} and one["observed"] is None, one
        assert all(b["rows"]["low"] is None for b in one["calibration"])
    assert known["auc"]["low"] > 0.5
    assert "Classes withheld, because one has too few rows, or the model is too steep: site1." in run(folder, *words).stdout


@case
def what_does_not_fit_is_refused(folder):
    names = sites(folder)
    assert "multiple of 10" in run(folder, "evaluate", "m/model.json", "site0.csv", "--grid", 15, status=2).stderr
    assert "minimum has no effect without grid" in run(folder, "evaluate", "m/model.json", "site0.csv", "--minimum",
                                                       3, status=2).stderr
    run(folder, "train", "--data", f"{names[0]}.csv", "--loss", "squared-hinge", "--out", "h", "--quiet")
    assert "two classes with probabilities" in run(folder, "evaluate", "h/model.json", "site0.csv", "--grid", 100,
                                                   status=2).stderr


if __name__ == "__main__":
    sys.exit(run_cases("score-grid"))
