#!/usr/bin/python3
"""The statistics on real data, beside closed forms of the pooled rows and scikit-learn. Speaks TAP.

usage: tests/cli/real.py PROGRAM
Run from the root of the source tree; the data are looked for in ../shared.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
from scipy import stats

from cases import Skip, case, run_cases

try:
    from sklearn import metrics
except ImportError:
    metrics = None

PROGRAM = os.path.abspath(sys.argv[1])
DATA = pathlib.Path("../shared/data").resolve()
HEART, ADULTS = DATA / "heart_disease/heart_disease.csv", DATA / "libsvm_a9a/a9a"
PREDICTORS = 30  # of a9a


def run(folder, *words):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stdout


def document(folder, *words):
    return json.loads(run(folder, *words, "--json"))


def heart():
    if not HEART.exists():
        raise Skip(f"{HEART} is not there")
    with open(HEART, newline="") as file:
        rows = list(csv.reader(file))
    X = np.array([[float(v) for v in row[2:]] for row in rows[1:]])
    return HEART, rows[0][2:], X, np.array([float(row[1]) > 0 for row in rows[1:]])


def adults(folder):
    """Columns of a9a that do not depend on each other, as a table; rows in turn to four sites."""
    if not ADULTS.exists():
        raise Skip(f"{ADULTS} is not there")
    lines = [line.split() for line in ADULTS.read_text().splitlines()]
    whole = np.zeros((len(lines), 124))
    whole[:, 0] = 1
    for i, line in enumerate(lines):
        whole[i, [int(pair.split(":")[0]) for pair in line[1:]]] = 1
    taken = [0]
    for column in np.argsort(-whole.sum(axis=0)):  # those with the most ones first
        tried = whole[:, [*taken, column]]
        if column and np.linalg.eigvalsh(tried.T @ tried / len(lines))[0] > 2e-3:
            taken.append(column)
        if len(taken) > PREDICTORS:
            break
    names = [f"c{column}" for column in taken[1:]]
    X, y = whole[:, taken[1:]], np.array([float(line[0]) > 0 for line in lines])
    with open(folder / "a9a.csv", "w") as file:
        file.write("site,b," + ",".join(names) + "\n")
        for i, row in enumerate(X):
            file.write(f"{i % 4},{1 if y[i] else -1}," + ",".join(f"{v:g}" for v in row) + "\n")
    return "a9a.csv", names, X, y


def maximum(X, y):
    """Logistic regression without a penalty, the intercept last; its information and the scores' squares."""
    A = np.hstack([X, np.ones((len(y), 1))])
    w = np.zeros(A.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-A @ w))
        information = (A.T * (p * (1 - p))) @ A
        w = w + np.linalg.solve(information, A.T @ (y - p))
    p = 1 / (1 + np.exp(-A @ w))
    information, scores = (A.T * (p * (1 - p))) @ A, (A.T * (y - p) ** 2) @ A
    return w, np.linalg.inv(information), scores


def same(name, found, known, digits=1e-10):
    known = np.asarray(known)
    error = np.abs(np.array(found) - known).max() / np.abs(known).max()
    assert error < digits, (name, error)


def is_summarised(folder, data, names, X, y):
    run(folder, "train", "--data", data, "--label", "b", "--out", "out", "--pictures", "no")
    w, inverse, scores = maximum(X, y)
    for robust in False, True:
        told = document(folder, "summary", "out/model.json", data, "--refit",
                        *(["--robust"] if robust else []))
        lines, error = told["coefficients"], np.sqrt(np.diag(inverse))
        if robust:
            error = np.sqrt(np.diag(inverse @ scores @ inverse))
        assert [line["name"] for line in lines] == [*names, "(intercept)"] and not told["notes"]
        z, half = w / error, stats.norm.ppf(0.975) * error
        for name, known in (("coefficient", w), ("std_error", error), ("z", z), ("low", w - half),
                            ("high", w + half), ("p", 2 * stats.norm.sf(np.abs(z))),
                            ("odds_ratio", np.exp(w))):
            same((robust, name), [line[name] for line in lines], known)


@case
def heart_disease_is_summarised_to_ten_digits(folder):
    is_summarised(folder, *heart())


@case
def a9a_is_summarised_to_ten_digits(folder):
    is_summarised(folder, *adults(folder))


def is_measured(folder, data, label, y, digits=1e-12):
    if metrics is None:
        raise Skip("scikit-learn is not installed")
    run(folder, "predict", "out/model.json", data, "--out", "p.csv")
    with open(folder / "p.csv", newline="") as file:
        p = np.array([float(row[f"probability:{label}"]) for row in csv.DictReader(file)])
    for more, threshold in (([], 0.5), (["--threshold", "0.25"], 0.25)):
        told = document(folder, "evaluate", "out/model.json", data, *more)
        called, every = p > threshold, told["all"]
        for name, known in (("loss", metrics.log_loss(y, p)), ("auc", metrics.roc_auc_score(y, p)),
                            ("brier", metrics.brier_score_loss(y, p)),
                            ("accuracy", metrics.accuracy_score(y, called)),
                            ("precision", metrics.precision_score(y, called)),
                            ("recall", metrics.recall_score(y, called)),
                            ("f1", metrics.f1_score(y, called))):
            same(name, [every[name]], [known], digits)
        assert told["confusion"] == metrics.confusion_matrix(y, called).tolist()
    false, true, _ = metrics.roc_curve(y, p, drop_intermediate=False)
    rows = np.array([(~y).sum(), y.sum()])
    known = set(map(tuple, np.round(np.stack([false, true], axis=1) * rows).astype(int).tolist()))
    roc = np.array([[point["false_positive"], point["true_positive"]] for point in told["roc"]])
    counts = roc * rows
    assert np.abs(counts - np.round(counts)).max() < 1e-9 and (np.diff(roc, axis=0) >= 0).all()
    assert set(map(tuple, np.round(counts).astype(int).tolist())) == known  # no point left out


@case
def heart_disease_is_measured_as_by_scikit_learn(folder):
    data, _, _, y = heart()
    run(folder, "train", "--data", data, "--label", "b", "--out", "out", "--pictures", "no")
    is_measured(folder, data, 1, y)


@case
def a9a_is_measured_as_by_scikit_learn(folder):
    if not ADULTS.exists():
        raise Skip(f"{ADULTS} is not there")
    run(folder, "train", "--data", ADULTS, "--partition", "shuffled", "--agents", "4", "--out", "out",
        "--pictures", "no")
    y = np.array([line[0] == "+" for line in ADULTS.read_text().splitlines()])
    is_measured(folder, ADULTS, 1, y)


@case
def defaults_are_worth_it_on_raw_columns(folder):
    """Columns as four hospitals wrote them, a third of the rows held out: the defaults for data of your own against
    the paper's settings."""
    names = "age sex cp trestbps chol fbs restecg thalach exang oldpeak".split()  # the others are mostly missing
    lines = [",".join([*names, "label", "site"])]
    for site in ("cleveland", "hungarian", "switzerland", "va"):
        path = HEART.parent / f"processed.{site}.data"
        if not path.exists():
            raise Skip(f"{path} is not there")
        rows = [line.split(",") for line in path.read_text().split()]
        lines += [",".join([*("" if word in ("?", "-9", "-9.0") else word for word in row[:10]),
                            str(int(float(row[13]) > 0)), site]) for row in rows]
    (folder / "raw.csv").write_text("\n".join(lines) + "\n")
    area = {"no": [], "yes": []}
    for seed in range(1, 4):
        for paper in area:
            run(folder, "train", "--data", "raw.csv", "--missing", "drop", "--holdout", "0.3333", "--seed", seed,
                "--out", f"{paper}-{seed}", "--pictures", "no", *(["--paper"] if paper == "yes" else []))
            area[paper].append(json.loads((folder / f"{paper}-{seed}/held_out.json").read_text())["all"]["auc"])
    assert all(own > paper + 0.05 for own, paper in zip(area["no"], area["yes"])), area
    assert np.mean(area["no"]) > 0.86, area


if __name__ == "__main__":
    sys.exit(run_cases("real"))
