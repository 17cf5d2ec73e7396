#!/usr/bin/python3
"""Table 1 by `fedplt describe` beside pandas and NumPy: means, deviations, quartiles, counts and standardised mean differences,
exact and on a grid; suppression beside a linear program that looks for the withheld counts. Speaks TAP.

usage: tests/cli/describe.py PROGRAM
"""
import csv
import io
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
HEART = pathlib.Path("../shared/data/heart_disease").resolve()
NAMES = "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal num".split()


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def hospitals(folder, count=400, seed=5):
    """Words, numbers, gaps and three sites of different sizes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "site": rng.choice(["north", "south", "east"], count, p=[0.5, 0.35, 0.15]),
        "age": np.round(rng.normal(58, 9, count), 1),
        "sex": rng.choice(["female", "male"], count),
        "smoker": rng.choice(["never", "past", "now"], count, p=[0.6, 0.3, 0.1]),
        "stage": rng.integers(1, 5, count).astype(float),
        "disease": rng.choice(["no", "yes"], count, p=[0.7, 0.3])})
    frame.loc[rng.random(count) < 0.1, "age"] = np.nan
    frame.loc[rng.random(count) < 0.05, "smoker"] = None
    frame.to_csv(folder / "d.csv", index=False)
    return frame


def heart(folder):
    """The four files as they were exported, with question marks."""
    frames = []
    for place in ("cleveland", "hungarian", "switzerland", "va"):
        frame = pd.read_csv(HEART / f"processed.{place}.data", names=NAMES, na_values="?")
        frame["disease"] = np.where(frame.pop("num") > 0, "yes", "no")
        frame.insert(0, "site", place)
        frames.append(frame)
    frame = pd.concat(frames, ignore_index=True)
    frame.to_csv(folder / "d.csv", index=False, na_rep="?")
    return frame


def difference(groups, levels=None):
    """Mean over all pairs of the standardised difference; of levels that of Yang and Dalton, by a pseudo-inverse."""
    def pair(a, b):
        if levels is None:
            apart, variance = abs(a.mean() - b.mean()), (a.var() + b.var()) / 2
            return 0 if apart == variance == 0 else apart / np.sqrt(variance)
        p, q = (np.array([(x == v).mean() for v in levels[1:]]) for x in (a, b))
        S = sum(np.diag(x) - np.outer(x, x) for x in (p, q)) / 2
        return np.sqrt((p - q) @ np.linalg.pinv(S) @ (p - q))
    return np.mean([pair(a, b) for a, b in itertools.combinations([g.dropna() for g in groups], 2)])


def compare(told, frame, numbers, categories, by):
    near = lambda a, b: abs(a - b) <= 1e-9 * max(1, abs(b))
    seen = 0
    for line in told["columns"]:
        rows = frame if line["site"] is None else frame[frame.site == line["site"]]
        all_rows = rows
        if line["stratum"] is not None:
            rows = rows[rows[by].astype(str) == line["stratum"]]
        values = rows[line["column"]]
        assert line["rows_low"] == line["rows_high"] == len(rows)
        assert line["missing_low"] == line["missing_high"] == values.isna().sum()
        if line["column"] in numbers:
            assert line["level"] is None and line["count_low"] == values.notna().sum()
            wanted = [values.mean(), values.std(), *values.quantile([0.25, 0.5, 0.75])]
            got = [line[key] for key in ("mean", "sd", "quarter", "median", "three_quarters")]
            for a, b in zip(got, wanted):
                assert (a is None and np.isnan(b)) or near(a, b), (line, wanted)
        else:
            level = type(values.dropna().iloc[0])(line["level"]) if len(values.dropna()) else line["level"]
            assert line["count_low"] == line["count_high"] == (values == level).sum(), line
            assert near(line["percent"], 100 * (values == level).sum() / values.notna().sum())
        if line["stratum"] is None and line["smd"] is not None:
            groups = ([g[line["column"]] for _, g in all_rows.groupby(by)] if by
                      else [g[line["column"]] for _, g in frame.groupby("site")])
            kinds = sorted(frame[line["column"]].dropna().unique()) if line["column"] in categories else None
            assert near(line["smd"], difference(groups, kinds)), (line, difference(groups, kinds))
            seen += 1
    return seen


@case
def every_number_is_that_of_pandas(folder):
    frame = hospitals(folder)
    told = json.loads(run(folder, "describe", "d.csv", "--by", "disease", "--categories", "stage", "--json").stdout)
    assert told["sites"] == list(dict.fromkeys(frame.site)) and told["strata"] == ["no", "yes"]
    assert {line["column"] for line in told["columns"]} == {"age", "sex", "smoker", "stage"}
    assert compare(told, frame, {"age"}, {"sex", "smoker", "stage"}, "disease") == 4 * (1 + 2 + 3 + 4)
    told = json.loads(run(folder, "describe", "d.csv", "--json").stdout)  # by site
    assert compare(told, frame, {"age", "stage"}, {"sex", "smoker", "disease"}, None) == 2 + 2 + 3 + 2


@case
def the_four_hospitals_of_the_heart_study(folder):
    if not HEART.exists():
        raise Skip("the data set is not here")
    frame = heart(folder)
    categories = ["sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal"]
    told = json.loads(run(folder, "describe", "d.csv", "--by", "disease", "--categories", ",".join(categories),
                          "--json").stdout)
    numbers = {"age", "trestbps", "chol", "thalach", "oldpeak"}
    assert compare(told, frame, numbers, set(categories), "disease") > 100
    several = []  # a file for each site, as hospitals have them: the same table
    for place, rows in frame.groupby("site", sort=False):
        rows.drop(columns="site").to_csv(folder / f"{place}.csv", index=False)
        several.append(f"{place}.csv")
    again = json.loads(run(folder, "describe", *several, "--by", "disease", "--categories", ",".join(categories),
                           "--json").stdout)
    for one, two in zip(told["columns"], again["columns"]):
        assert {**one, "site": None} == {**two, "site": None}


@case
def a_grid_gives_quantiles_within_its_cells_and_exact_sums(folder):
    frame = hospitals(folder)
    words = ["describe", "d.csv", "--by", "disease", "--categories", "stage", "--json"]
    exact = json.loads(run(folder, *words).stdout)["columns"]
    on_grid = json.loads(run(folder, *words, "--grid", 160, "--column-bounds", "age=20..100").stdout)["columns"]
    for one, two in zip(exact, on_grid):
        if one["column"] != "age":
            assert one == two
            continue
        assert two["resolution"] == 0.5
        assert abs(one["mean"] - two["mean"]) < 1e-12 * 58 and abs(one["sd"] - two["sd"]) < 1e-11
        for key in ("quarter", "median", "three_quarters"):
            assert abs(one[key] - two[key]) <= 0.5, (key, one, two)
    (folder / "s.yaml").write_text("columns:\n  site: site\n  age: {type: number, bounds: 20..100}\n"
                                   "  sex: {type: category, levels: [male, female]}\n"
                                   "  smoker: {type: category, levels: {ever: [past, now], never: never}}\n"
                                   "  stage: ignore\n  disease: {type: label, classes: [no, yes]}\n")
    told = json.loads(run(folder, "describe", "d.csv", "--by", "disease", "--schema", "s.yaml", "--grid", 160,
                          "--json").stdout)["columns"]
    of = lambda name, lines: [line for line in lines if line["column"] == name]
    assert of("age", told) == of("age", on_grid)
    assert [line["level"] for line in of("sex", told)][:2] == ["male", "female"] and not of("stage", told)
    ever = [line for line in of("smoker", told) if line["level"] == "ever" and not line["site"] and not line["stratum"]]
    assert ever[0]["count_low"] == frame.smoker.isin(["past", "now"]).sum()
    said = run(folder, "describe", "d.csv", "--grid", 10, status=2).stderr
    assert "column 'age' holds numbers and has no bounds" in said and "--column-bounds" in said
    run(folder, "describe", "d.csv", "--grid", 10, "--column-bounds", "age=100..20", status=2)


def bounds_of(rows, columns, known):
    """Least and largest value of every cell that fits the cells and totals that are known, by linear programs."""
    cells = [(i, j) for i in range(rows + 1) for j in range(columns + 1)]
    at = {cell: k for k, cell in enumerate(cells)}
    equal, right = [], []
    def demand(parts, total):
        line = np.zeros(len(cells))
        for part in parts:
            line[at[part]] += 1
        if total is not None:
            line[at[total]] -= 1
        equal.append(line)
        right.append(0)
    for i in range(rows + 1):
        demand([(i, j) for j in range(columns)], (i, columns))
    for j in range(columns + 1):
        demand([(i, j) for i in range(rows)], (rows, j))
    for cell, value in known.items():
        line = np.zeros(len(cells))
        line[at[cell]] = 1
        equal.append(line)
        right.append(value)
    found = {}
    for cell in cells:
        aim = np.zeros(len(cells))
        aim[at[cell]] = 1
        ends = [linprog(sign * aim, A_eq=equal, b_eq=right, bounds=(0, None), method="highs") for sign in (1, -1)]
        found[cell] = tuple(round(sign * end.fun) for sign, end in zip((1, -1), ends))
    return found


@case
def withheld_counts_cannot_be_found(folder):
    minimum, withheld = 5, 0
    for seed in range(2):
        frame = hospitals(folder, count=150, seed=seed)
        told = json.loads(run(folder, "describe", "d.csv", "--cross", "smoker:stage", "--minimum", minimum, "--json").stdout)
        exact = json.loads(run(folder, "describe", "d.csv", "--cross", "smoker:stage", "--json").stdout)
        for site in told["sites"]:
            lines = [line for line in told["cross"] if line["site"] == site]
            truth = {(line["row"], line["column"]): line["count_low"] for line in exact["cross"] if line["site"] == site}
            rows = list(dict.fromkeys(line["row"] for line in lines))
            columns = list(dict.fromkeys(line["column"] for line in lines))
            known = {(rows.index(line["row"]), columns.index(line["column"])): line["count_low"]
                     for line in lines if line["count_low"] == line["count_high"]}
            known[len(rows), len(columns)] = sum(truth.values())  # the number of rows is always shown
            shown = run(folder, "describe", "d.csv", "--cross", "smoker:stage", "--minimum", minimum).stdout
            block = shown.split(f", site {site}\n")[1].split("\n\n")[0].splitlines()[2:]
            for i in range(len(rows)):  # other totals as they are printed
                last = block[i].split("  ")[-1].strip()
                if last.isdigit():
                    known[i, len(columns)] = int(last)
            for j, total in enumerate(re.split(r"  +", block[-1].strip())[1:-1]):
                if total.isdigit():
                    known[len(rows), j] = int(total)
            found = bounds_of(len(rows), len(columns), known)
            for line in lines:
                cell = rows.index(line["row"]), columns.index(line["column"])
                count = truth[line["row"], line["column"]]
                assert (line["count_low"], line["count_high"]) == found[cell], (seed, site, line, found[cell])
                if 0 < count < minimum:
                    withheld += 1
                    assert found[cell][1] - found[cell][0] + 1 >= minimum, (seed, site, line)
    assert withheld > 15


@case
def totals_are_intervals_where_a_site_withholds(folder):
    frame = hospitals(folder, count=150, seed=2)
    exact = json.loads(run(folder, "describe", "d.csv", "--by", "disease", "--json").stdout)["columns"]
    told = json.loads(run(folder, "describe", "d.csv", "--by", "disease", "--minimum", 5, "--json").stdout)
    intervals = 0
    for one, two in zip(exact, told["columns"]):
        for key in ("rows", "missing", "count"):
            assert two[key + "_low"] <= one[key + "_low"] <= two[key + "_high"]
        if two["site"] is None:
            sites = [line for line in told["columns"] if line["site"] and
                     all(line[key] == two[key] for key in ("column", "level", "stratum"))]
            assert two["count_low"] == sum(line["count_low"] for line in sites)
            assert two["count_high"] == sum(line["count_high"] for line in sites)
            intervals += two["count_low"] < two["count_high"]
        assert two["median"] is None
    assert intervals and any("withheld" in note for note in told["notes"])


@case
def forms_of_the_table(folder):
    frame = hospitals(folder)
    words = ["describe", "d.csv", "--by", "disease", "--cross", "sex:disease"]
    text = run(folder, *words).stdout
    assert "all sites" in text and "site north" in text and "mean (SD)" in text and "SMD" in text
    lines = list(csv.DictReader(io.StringIO(run(folder, *words, "--to", "csv").stdout.split("\n\n")[0])))
    age = frame.age.mean()
    assert abs(float([l for l in lines if l["column"] == "age" and not l["site"] and not l["stratum"]][0]["mean"]) - age) < 1e-9
    page = run(folder, *words, "--to", "html").stdout
    assert page.startswith("<!DOCTYPE html>") and page.count("<table>") == page.count("</table>") == 8
    (folder / "w.csv").write_text("a_b,c%\nx & y,1\nz,2\n")
    latex = run(folder, "describe", "w.csv", "--to", "latex").stdout
    assert r"a\_b" in latex and r"x \& y" in latex and r"c\%" in latex and latex.count(r"\begin{tabular}") == 1
    (folder / "t.yaml").write_text("data: d.csv\nlabel: disease\nignore: [stage]\n")
    assert "stage" not in run(folder, "describe", "t.yaml").stdout


DECLARED = """columns:
  site: site
  age: {type: number, bounds: 18..98, missing: centre}
  sex: {type: category, levels: [female, male]}
  smoker: {type: category, levels: [never, past, now]}
  stage: ignore
  disease: {type: label, classes: ['no', 'yes']}
"""


@case
def noise_is_added_and_charged(folder):
    """Estimates with their noise beside pandas, the promise on the ledger, and what a budget refuses."""
    frame = hospitals(folder, 4000)
    (folder / "s.yaml").write_text(DECLARED)
    words = ["describe", "d.csv", "--schema", "s.yaml", "--by", "disease", "--privacy.epsilon", 4]
    ledger = ["--ledger", "l.db", "--privacy.budget", 5]
    made = json.loads(run(folder, *words, *ledger, "--json").stdout)
    lines = {(l["column"], l["level"], l["statistic"], l["site"], l["stratum"]): l for l in made["lines"]}
    noise = made["count_deviation"]
    for site in ("north", "south", "east"):
        for stratum in ("no", "yes"):
            rows = frame[(frame.site == site) & (frame.disease == stratum)]
            truth = {(None, None, "rows"): len(rows), ("age", None, "missing"): rows.age.isna().sum()}
            truth |= {("smoker", level, "rows"): (rows.smoker == level).sum() for level in ("never", "past", "now")}
            for key, number in truth.items():
                line = lines[(*key, site, stratum)]
                assert abs(line["estimate"] - number) < 7 * noise + 1, (key, site, stratum, line, number)
                assert line["low"] <= line["estimate"] <= line["high"], line
            mean = lines[("age", None, "mean", site, stratum)]
            assert mean["low"] - 12 < rows.age.mean() < mean["high"] + 12, (site, mean, rows.age.mean())
    assert lines[(None, None, "rows", "north", None)]["low"] == (frame.site == "north").sum()
    told = json.loads(run(folder, "privacy", "ledger", "l.db", "--json").stdout)
    assert "4" in run(folder, "privacy", "ledger", "l.db").stdout and "Table 1" in json.dumps(told), told
    again = run(folder, *words, *ledger, status=2)  # twice epsilon 4 is more than 5
    assert not again.stdout and "5" in again.stderr, again.stderr
    two = [json.loads(run(folder, *words, "--json").stdout)["lines"] for _ in range(2)]
    assert two[0] != two[1]


@case
def what_privacy_refuses(folder):
    hospitals(folder)
    (folder / "s.yaml").write_text(DECLARED)
    (folder / "p.yaml").write_text(DECLARED.replace("stage: ignore", "stage: {type: person, most: 3}"))
    private = ["--privacy.epsilon", 1]
    for words, status, says in (
            (private, 2, "schema"), (["--schema", "s.yaml", *private, "--minimum", 5], 2, "--minimum: has no effect with privacy.epsilon"),
            (["--schema", "s.yaml", *private, "--cross", "sex:disease"], 2, "two columns"),
            (["--schema", "s.yaml", *private, "--by", "age"], 2, "declares levels"),
            (["--schema", "p.yaml", *private], 2, "a person may have 3 rows"),
            (["--schema", "s.yaml", "--ledger", "l.db"], 2, "privacy.epsilon"),
            (["--schema", "s.yaml", "--privacy.epsilon", 1e-8, "--privacy.delta", 1e-12], 2, "fewer columns")):
        said = run(folder, "describe", "d.csv", *words, status=status)
        assert says in said.stderr and not said.stdout, (words, said.stderr)
    assert not (folder / "l.db").exists()


@case
def mistakes_get_a_sentence(folder):
    hospitals(folder)
    for words, says in ((["--by", "sick"], "has no column 'sick'"), (["--cross", "sex"], "two names with a colon"),
                        (["--cross", "sex:sick"], "has no column 'sick'"), (["--by", "age"], "more than 50 strata"),
                        (["--column-bounds", "age=1..2"], "grid"), (["--to", "html", "--json"], "json")):
        said = run(folder, "describe", "d.csv", *words, status=2)
        assert says in said.stderr and not said.stdout, (words, said.stderr)
    (folder / "e.csv").write_text("a,b\n")
    assert "no rows" in run(folder, "describe", "e.csv", status=2).stderr
    run(folder, "describe", "nothing.csv", status=2)


if __name__ == "__main__":
    sys.exit(run_cases("describe"))
