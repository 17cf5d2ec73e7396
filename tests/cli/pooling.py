#!/usr/bin/python3
"""The hint that pooling hides a reversal, beside R's score tests. Speaks TAP.

usage: tests/cli/pooling.py PROGRAM

The numbers are those of R 4.2 for m of the columns alone, w = update(m, . ~ . + site) and
s = update(m, . ~ . + site * column): coef and standard error of m and of w, and anova(m, s, test = "Rao"), for
least squares anova(m, s) of lm.
"""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
HEART = pathlib.Path("../shared/data/heart_disease/heart_disease.csv").resolve()
SITES = ["north", "south", "west"]


def run(folder, *words):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stdout


def train(folder, *words):
    said = run(folder, "train", *words, "--out", "out")
    return said, json.loads((folder / "out/model.json").read_text())["training"].get("reversals", [])


def make(folder, outcome):
    """Column a rises with the outcome inside each site, and sites with a larger a have a smaller outcome."""
    with open(folder / "d.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "a", "b", "y"])
        for i in range(240):
            site, noise = i % 3, (i * 71 % 89) / 44 - 1
            a = round(20 * site + (i * 37 % 101) / 10, 4)
            b = round((i * 53 % 97) / 48 - 1, 4)
            y = 0.15 * (a - 20 * site) - 1.2 * site + 0.3 * b + noise
            writer.writerow([SITES[site], a, b, outcome(y)])


def agrees(found, column, pooled, pooled_error, within, within_error, statistic, df, residual, p):
    assert [line["column"] for line in found] == [column], found
    line = found[0]
    expected = {"pooled": pooled, "pooled_error": pooled_error, "with_sites": within, "with_sites_error": within_error,
                "statistic": statistic, "df": df, "p": p}
    for name, value in expected.items():
        assert math.isclose(line[name], value, rel_tol=1e-6), (name, line[name], value)
    assert line["residual_df"] == residual, line


@case
def heart_disease_reverses_at_cholesterol(folder):
    if not HEART.exists():
        raise Skip("../shared/data/heart_disease is absent")
    said, found = train(folder, "--data", HEART, "--label", "b")
    agrees(found, *HEART_NUMBERS)
    sentence = ("chol: -0.1817 over all rows, +0.2589 with an intercept for every site; score test of site x chol: "
                "chi-squared 31.49 on 5 df, p 7.5e-06")
    assert "pooling hides a reversal" in said and sentence in said, said
    assert "--site-effects fixed" in said
    run(folder, "report", "out")
    page = (folder / "out/report.html").read_text()
    assert sentence in page and 'id="reversals"' in page
    said, found = train(folder, "--data", HEART, "--label", "b", "--site-effects", "fixed")
    assert not found and "pooling hides" not in said, "the sites are in the model"


@case
def least_squares_have_an_f_test(folder):
    make(folder, lambda y: round(y, 4))
    said, found = train(folder, "--data", "d.csv", "--label", "y", "--task", "regression")
    agrees(found, *LEAST_SQUARES)
    assert "F " in said and "on 4 and 233 df" in said, said


@case
def counts_are_fitted_without_a_bound(folder):
    make(folder, lambda y: max(0, round(math.exp(y / 2) * 2)))
    _, found = train(folder, "--data", "d.csv", "--label", "y", "--loss", "poisson", "--task", "regression")
    agrees(found, *COUNTS)
    _, bounded = train(folder, "--data", "d.csv", "--label", "y", "--loss", "poisson", "--task", "regression",
                       "--predictor-bound", "0.5")
    agrees(bounded, *COUNTS)


@case
def two_classes_without_a_reversal_are_not_hinted_at(folder):
    with open(folder / "d.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "a", "y"])
        for i in range(240):
            a = (i * 37 % 101) / 50 - 1
            writer.writerow([SITES[i % 3], a, "yes" if a + (i * 71 % 89) / 44 - 1 + i % 3 > 1 else "no"])
    said, found = train(folder, "--data", "d.csv", "--label", "y", "--labels", "yes=1,no=-1")
    assert not found and "pooling" not in said, said


# column; pooled, its error; with sites, its error; statistic, df, residual df; p
HEART_NUMBERS = ("chol", -1.81738494710918e-01, 1.09005847497809e-01, 2.58875526281944e-01, 1.36087484763952e-01,
                 31.4929317343284, 5, None, 7.48540203507367e-06)
LEAST_SQUARES = ("a", -5.32817411470600e-02, 3.30542839300633e-03, 1.52573012970294e-01, 1.31272860737640e-02,
                 63.4434718200896, 4, 233, 3.26494166666647e-36)
COUNTS = ("a", -2.52630306919356e-02, 2.94741825681208e-03, 7.41023982101393e-02, 1.60669148255061e-02,
          41.0931121160090, 4, None, 2.57111762529561e-08)

sys.exit(run_cases("pooling"))
