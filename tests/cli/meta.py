#!/usr/bin/python3
"""Meta-analysis by `fedplt meta` beside metafor's numbers, the restricted likelihood as SciPy finds its maximum, and fits of
each site by statsmodels. With --metafor R computes its numbers again. Speaks TAP.

usage: tests/cli/meta.py PROGRAM [--metafor]
"""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
from scipy import optimize, stats

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
AGAIN = "--metafor" in sys.argv
Y, S = [0.3, 0.55, -0.1, 0.8, 0.25], [0.12, 0.2, 0.15, 0.3, 0.1]
KEYS = ("estimate", "std_error", "p", "low", "high", "tau2", "q", "q_p", "i2_percent")
# rma(Y, sei = S, method = ..., control = list(threshold = 1e-14)): beta, se, pval, ci.lb, ci.ub, tau2, QE, QEp, I2
METAFOR = {
    "FE": [0.256111111111111, 0.0632455532033676, 5.13332693835501e-05, 0.132152104650199, 0.380070117572023, 0,
           11.2198302469136, 0.0242014117606901, 64.3488367295009],
    "REML": [0.301174121858212, 0.126747302612659, 0.0174930331643697, 0.052753973599802, 0.549594270116622,
             0.0523325109045719, 11.2198302469136, 0.0242014117606901, 70.1718713708764],
    "DL": [0.294344357021204, 0.115940996716081, 0.0111251614521449, 0.0671041791260092, 0.521584534916399,
           0.0401514761414349, 11.2198302469136, 0.0242014117606901, 64.3488367295009],
    "HK": [0.301174121858212, 0.136090863094914, 0.0913168666977004, -0.076674688843805, 0.679022932560229,
           0.0523325109045719, 11.2198302469136, 0.0242014117606901, 70.1718713708764]}


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def write(folder, y, s):
    (folder / "e.csv").write_text("site,term,estimate,std_error\n" +
                                  "".join(f"s{i},x,{a!r},{b!r}\n" for i, (a, b) in enumerate(zip(y, s))))


def combined(folder, *words):
    return json.loads(run(folder, "meta", "e.csv", *words, "--json").stdout)["combined"]


def near(line, wanted, tolerance):
    for key, value in zip(KEYS, wanted):
        assert abs(line[key] - value) <= tolerance * max(1, abs(value)), (key, line[key], value)


@case
def the_numbers_of_metafor(folder):
    write(folder, Y, S)
    fixed, random = combined(folder)
    near(fixed, METAFOR["FE"], 1e-12)
    near(random, METAFOR["REML"], 1e-11)
    near(combined(folder, "--method", "dl")[1], METAFOR["DL"], 1e-12)
    near(combined(folder, "--hartung-knapp")[1], METAFOR["HK"], 1e-11)


@case
def metafor_computed_again(folder):
    if not AGAIN:
        raise Skip("only with --metafor")
    if not shutil.which("Rscript") or subprocess.run(["Rscript", "-e", "library(metafor)"], capture_output=True).returncode:
        raise Skip("r-cran-metafor is not installed")
    rng = np.random.default_rng(1)
    for trial in range(6):
        k = int(rng.integers(2, 12))
        s = rng.uniform(0.05, 0.4, k)
        write(folder, rng.normal(0.2, np.sqrt(s**2 + rng.choice([0, 0.2]))).tolist(), s.tolist())
        (folder / "m.R").write_text('suppressMessages(library(metafor)); d <- read.csv("e.csv"); options(digits = 16)\n'
            'tell <- function(r) cat(r$beta, r$se, r$pval, r$ci.lb, r$ci.ub, r$tau2, r$QE, r$QEp, r$I2, "\\n")\n'
            'fit <- function(m, t = "z") tell(rma(estimate, sei = std_error, data = d, method = m, test = t, '
            'control = list(threshold = 1e-13, maxiter = 100000)))\n'
            'fit("FE"); fit("REML"); fit("DL"); fit("REML", "knha")\n')
        lines = subprocess.run(["Rscript", "m.R"], cwd=folder, text=True, capture_output=True, check=True).stdout.splitlines()
        told = [*combined(folder), combined(folder, "--method", "dl")[1], combined(folder, "--hartung-knapp")[1]]
        for line, words in zip(told, lines):
            near(line, [float(word) for word in words.split()], 1e-7)


@case
def reml_is_the_maximum_of_the_restricted_likelihood(folder):
    rng = np.random.default_rng(3)
    zeros = 0
    for trial in range(12):
        k = int(rng.integers(2, 9))
        s = rng.uniform(0.05, 0.5, k)
        y = rng.normal(0.3, np.sqrt(s**2 + rng.choice([0, 0.01, 0.3])))
        write(folder, y.tolist(), s.tolist())

        def against(tau2):
            w = 1 / (s**2 + tau2)
            mean = (w @ y) / w.sum()
            return 0.5 * (np.log(s**2 + tau2).sum() + np.log(w.sum()) + (w @ (y - mean)**2))
        found = optimize.minimize_scalar(against, bounds=(0, 10), method="bounded", options={"xatol": 1e-12}).x
        line = combined(folder)[1]
        assert against(line["tau2"]) <= against(found) + 1e-12, (line["tau2"], found)
        zeros += line["tau2"] == 0
        w = 1 / (s**2 + line["tau2"])
        assert abs(line["estimate"] - (w @ y) / w.sum()) < 1e-12
        assert abs(line["q_p"] - stats.chi2.sf(line["q"], k - 1)) < 1e-12
    assert 0 < zeros < 12


@case
def fits_of_each_site_alone(folder):
    import statsmodels.api as sm
    rng = np.random.default_rng(8)
    rows = []
    for site, count in (("north", 200), ("south", 150), ("east", 120)):
        age, dose = rng.normal(58, 9, count), rng.normal(0, 1, count)
        sick = rng.random(count) < 1 / (1 + np.exp(-(0.05 * (age - 58) + (0.5 + 0.3 * (site == "east")) * dose)))
        rows += [(site, a, d, int(y)) for a, d, y in zip(age, dose, sick)]
    rows += [("tiny", 50.0, 1.0, 1), ("tiny", 60.0, -1.0, 0)]
    with open(folder / "d.csv", "w", newline="") as file:
        csv.writer(file).writerows([("site", "age", "dose", "label"), *rows])
    run(folder, "train", "--data", "d.csv", "--out", "out", "--quiet", "--pictures", "no")
    told = json.loads(run(folder, "meta", "out/model.json", "d.csv", "--json", "--forest", "f.svg").stdout)
    for site in ("north", "south", "east"):
        own = [row for row in rows if row[0] == site]
        fit = sm.Logit([row[3] for row in own], sm.add_constant([row[1:3] for row in own])).fit(disp=0, tol=1e-12)
        for term, value, error in zip(("(intercept)", "age", "dose"), fit.params, fit.bse):
            line = [x for x in told["sites"] if x["site"] == site and x["term"] == term][0]
            assert abs(line["estimate"] - value) < 1e-6 * max(1, abs(value)), (line, value)
            assert abs(line["std_error"] - error) < 1e-6 * max(1, abs(error)), (line, error)
    assert any("'tiny' is left out" in note for note in told["notes"]), told["notes"]
    picture = (folder / "f.svg").read_text()
    assert picture.count("<rect") == 4 and picture.count("<polygon") == 2 and "random (REML)" in picture
    dose = [line for line in told["combined"] if line["term"] == "dose"]
    assert [line["sites"] for line in dose] == [3, 3]
    lines = list(csv.DictReader(io.StringIO(run(folder, "meta", "out/model.json", "d.csv", "--csv").stdout)))
    assert float(lines[0]["estimate"]) == told["combined"][0]["estimate"]


@case
def mistakes_get_a_sentence(folder):
    for text, says in (("site,term,estimate\n", "column 'std_error' is missing"),
                       ("site,term,estimate,std_error\na,x,1,0\n", "above 0"),
                       ("site,term,estimate,std_error\na,x,much,1\n", "e.csv:2"),
                       ("site,term,estimate,std_error\na,x,1,1\na,x,2,1\n", "two estimates"),
                       ("site,term,estimate,std_error\n", "no estimates")):
        (folder / "e.csv").write_text(text)
        said = run(folder, "meta", "e.csv", status=2)
        assert says in said.stderr and not said.stdout, (text, said.stderr)
    write(folder, Y, S)
    assert "no estimate of 'age'" in run(folder, "meta", "e.csv", "--forest", "f.svg", "--term", "age", status=2).stderr
    assert not (folder / "f.svg").exists()
    run(folder, "meta", "e.csv", "--term", "x", status=2)
    run(folder, "meta", "e.csv", "--forest", "f.jpeg", status=2)


if __name__ == "__main__":
    sys.exit(run_cases("meta"))
