#!/usr/bin/python3
"""Survival by `fedplt survival` beside the numbers of R's package survival (tests/golden/survival.R): curves, intervals, medians,
log-rank tests, exact and on a grid, with and without a minimum. With --survival R computes its numbers again, of other rows.
Speaks TAP.

usage: tests/cli/survival.py PROGRAM [--survival]
"""
import collections
import csv
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
AGAIN = "--survival" in sys.argv
GOLDEN = pathlib.Path("tests/golden").resolve()
STEPS = {"time": "time", "n.risk": "at_risk", "n.event": "events", "n.censor": "censored", "surv": "survival",
         "std.err": "std_error", "lower": "low", "upper": "high"}


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def numbers_of(text):
    """case -> key -> values; None where R has no finite number."""
    made = collections.defaultdict(dict)
    for line in csv.DictReader(io.StringIO(text)):
        made[line["case"]][line["key"]] = [None if word in ("NA", "NaN", "Inf") else float(word) for word in line["values"].split()]
    return made


def curves(folder, *words):
    return json.loads(run(folder, "survival", "curves", "d.csv", "--time", "days", "--event", "died", *words, "--json").stdout)


def near(ours, theirs, where):
    """Not known here where R has no number."""
    assert len(ours) == len(theirs), (where, len(ours), len(theirs))
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None), (where, a, b)
        assert a is None or abs(a - b) <= 1e-8 * max(1, abs(b)), (where, a, b)


def compare_curve(made, golden, case, site=None, stratum=None):
    ours = [line for line in made["steps"] if (line["site"], line["stratum"]) == (site, stratum)]
    theirs = golden[case]
    for key, name in STEPS.items():
        values = theirs[key]
        if key == "std.err":  # R has infinity or nothing where nobody is left
            values = [v if s else None for v, s in zip(values, theirs["surv"])]
        near([line[name] for line in ours], values, (case, key))
    line = [line for line in made["curves"] if (line["site"], line["stratum"]) == (site, stratum)][0]
    near([line["median"], line["median_low"], line["median_high"]], theirs["median"], (case, "median"))
    assert line["events"] == sum(theirs["n.event"]) and line["rows"] == theirs["n.risk"][0], case


def compare_test(made, golden, name, case):
    theirs = golden[f"{name} {case}"]
    line = [line for line in made["tests"] if line["test"] == case][0]
    near([line["chi_squared"], line["freedom"], line["p"]], theirs["test"], (name, case))
    groups = sorted((line["group"], line["observed"], line["expected"]) for line in made["groups"] if line["test"] == case)
    near([group[1] for group in groups], theirs["observed"], (name, case))
    near([group[2] for group in groups], theirs["expected"], (name, case))


def compare_all(folder, golden):
    for name, words in (("log", []), ("wide", ["--grid", "90"]), ("listed", ["--grid", "60,120,240,480"])):
        whole = curves(folder, *words)
        parts = curves(folder, *words, "--by", "arm")
        compare_curve(whole, golden, f"{name} all")
        for site in ("east", "north", "south"):
            compare_curve(whole, golden, f"{name} site {site}", site=site)
        for arm in ("drug", "placebo"):
            compare_curve(parts, golden, f"{name} {arm}", stratum=arm)
        tests = {"log": "exact"}.get(name, name)
        for made, case in ((parts, "strata"), (parts, "strata within sites"), (whole, "sites")):
            if name != "listed":
                compare_test(made, golden, tests, case)
    for name, words in (("cut", ["--minimum", 12]), ("merged", ["--grid", 30, "--minimum", 5])):
        made = curves(folder, *words, "--by", "arm")
        for arm in ("drug", "placebo"):
            compare_curve(made, golden, f"{name} {arm}", stratum=arm)
        for case in ("strata", "strata within sites"):
            compare_test(made, golden, name, case)
        for site, arm in itertools.product(SITES, ("drug", "placebo")) if name == "merged" else ():
            compare_curve(made, golden, f"{name} {arm} {site}", site=site, stratum=arm)
    for interval in ("log-log", "plain"):
        compare_curve(curves(folder, "--interval", interval), golden, f"{interval} all")
    compare_curve(curves(folder, "--level", 0.9), golden, "level")


@case
def curves_and_tests_of_r(folder):
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    compare_all(folder, numbers_of((GOLDEN / "survival_r.csv").read_text()))


SCHEMA = """columns:
  site: site
  arm: {type: category, levels: [drug, placebo], base: drug}
  age: {type: number, bounds: 20..100}
  grade: {type: category, levels: [g1, g2, g3], base: g1}
  marker: {type: number, bounds: -5..5}
  days: {type: time, bounds: 1..2000}
  died: {type: event, classes: ["0", "1"]}
  weight: ignore
"""
SITES = ("east", "north", "south")


def train(folder, case, *words):
    """The model of a case in a folder with its name: ties, and whether rows have weights."""
    declared = "{type: weight, bounds: 0..10}" if "weighted" in case else "ignore"
    (folder / "s.yaml").write_text(SCHEMA.replace("weight: ignore", f"weight: {declared}"))
    (folder / "new.csv").write_text("arm,age,grade,marker\ndrug,50,g1,-0.5\nplacebo,71,g3,1.25\n")
    run(folder, "train", "--data", "d.csv", "--schema", "s.yaml", "--ties", case.split()[-1], "--out", case, "--quiet", "--pictures", "no",
        *words)


def step_value(times, values, time, first):
    """A step function that is `first` before its first time."""
    found = [value for at, value in zip(times, values) if at <= time]
    return found[-1] if found else first


def compare_baseline(folder, golden, ties):
    document = json.loads(run(folder, "survival", "baseline", f"{ties}/model.json", "d.csv", "--refit", "--json").stdout)
    assert document["ties"] == ties.split()[-1]
    for site in SITES:
        own = [line for line in document["baseline"] if line["site"] == site]
        theirs = golden[f"{ties} baseline {site}"]
        times = [line["time"] for line in own]
        near([step_value(times, [line["cumulative_hazard"] for line in own], t, 0) for t in theirs["time"]], theirs["hazard"],
             (ties, site, "hazard"))
        assert set(times) <= set(theirs["time"])
        near(np.cumsum([line["hazard"] for line in own]).tolist(), [line["cumulative_hazard"] for line in own], site)
        near([np.exp(-line["cumulative_hazard"]) for line in own], [line["survival"] for line in own], site)


def compare_patients(folder, golden, ties):
    at = sorted({time for site in SITES for time in golden[f"{ties} baseline {site}"]["time"]})
    document = json.loads(run(folder, "survival", "predict", f"{ties}/model.json", "d.csv", "--refit", "--new", "new.csv", "--times",
                              ",".join(f"{time:g}" for time in at), "--json").stdout)
    for row in (1, 2):
        for site in SITES:
            theirs = golden[f"{ties} patient {row} {site}"]
            own = {line["time"]: line for line in document["times"] if (line["row"], line["site"]) == (row, site)}
            known = [time for time in theirs["time"] if theirs["cumhaz"][theirs["time"].index(time)] > 0]
            for key, name in (("surv", "survival"), ("lower", "low"), ("upper", "high")):
                near([own[time][name] for time in known], [theirs[key][theirs["time"].index(time)] for time in known],
                     (ties, row, site, key))
            near([own[time]["std_error"] / own[time]["survival"] for time in known],
                 [theirs["std.err"][theirs["time"].index(time)] for time in known], (ties, row, site, "error"))
            assert all(line["survival"] is None for time, line in own.items() if time > max(theirs["time"]))
            line = [line for line in document["patients"] if (line["row"], line["site"]) == (row, site)][0]
            near([line["median"], line["median_low"], line["median_high"]], theirs["median"], (ties, row, site, "median"))


def compare_proportional(folder, golden, ties):
    for transform in ("km", "identity", "log", "rank"):
        for kind, words in (("terms", []), ("columns", ["--each-column"])):
            document = json.loads(run(folder, "survival", "test", f"{ties}/model.json", "d.csv", "--transform", transform, *words,
                                      "--json").stdout)
            theirs = golden[f"{ties} {transform} {kind}"]
            assert document["transform"] == transform
            names = [line["name"] for line in document["tests"]]
            assert names == (["arm", "age", "grade", "marker", "GLOBAL"] if kind == "terms" else
                             ["arm=placebo", "age", "grade=g2", "grade=g3", "marker", "GLOBAL"]), names
            for key, name in (("chisq", "chi_squared"), ("df", "freedom"), ("p", "p")):
                near([line[name] for line in document["tests"]], theirs[key], (ties, transform, kind, key))


def compare_cox(folder, golden):
    for ties in ("efron", "breslow", "weighted efron"):
        train(folder, ties)
        compare_baseline(folder, golden, ties)
        compare_patients(folder, golden, ties)
        compare_proportional(folder, golden, ties)


@case
def hazards_and_patients_and_test_of_r(folder):
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    compare_cox(folder, numbers_of((GOLDEN / "survival_r.csv").read_text()))


@case
def hazards_on_a_grid_and_with_a_penalty(folder):
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    train(folder, "efron", "--eps", 0.1)
    model = ("efron/model.json", "d.csv")
    grid = json.loads(run(folder, "survival", "baseline", *model, "--grid", 60, "--minimum", 8, "--json").stdout)
    assert all(line["time"] % 60 == 0 and line["at_risk"] >= 8 for line in grid["baseline"])
    assert any("fewer than 8" in note for note in grid["notes"]) and any("penalty" in note for note in grid["notes"])
    # The same as of a file with the rounded times.
    rows = list(csv.DictReader(open(folder / "d.csv")))
    with open(folder / "rounded.csv", "w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows([row | {"days": -(-int(row["days"]) // 60) * 60} for row in rows])
    rounded = json.loads(run(folder, "survival", "baseline", "efron/model.json", "rounded.csv", "--json").stdout)["baseline"]
    assert grid["baseline"] == [line for line in rounded if line["at_risk"] >= 8]
    # Survival is known as long as the minimum is at risk.
    at_risk = {60 * k: sum(row["site"] == "north" and int(row["days"]) > 60 * (k - 1) for row in rows) for k in range(1, 16)}
    minimum = at_risk[240]
    cut = json.loads(run(folder, "survival", "predict", *model, "--new", "new.csv", "--at-site", "north", "--grid", 60, "--minimum", minimum,
                         "--times", ",".join(map(str, at_risk)), "--json").stdout)
    end = max(time for time, count in at_risk.items() if count >= minimum)
    assert end == 240 and {line["time"] for line in cut["times"] if line["survival"] is not None} == set(range(60, end + 1, 60)), end
    made = json.loads(run(folder, "survival", "predict", *model, "--new", "new.csv", "--at-site", "north", "--times", "1,200",
                          "--json").stdout)
    assert {line["site"] for line in made["patients"]} == {"north"} and len(made["times"]) == 4
    assert all(line["low"] is None and line["survival"] is not None for line in made["times"])
    assert "no intervals" in made["notes"][0]
    lines = list(csv.DictReader(io.StringIO(run(folder, "survival", "predict", *model, "--new", "new.csv", "--refit", "--csv").stdout)))
    assert len(lines) >= 6 and all(0 <= float(line["survival"]) <= 1 for line in lines if line["survival"])
    text = run(folder, "survival", "test", *model).stdout
    assert "GLOBAL" in text and "chi squared" in text


def r_is_there():
    return shutil.which("Rscript") and not subprocess.run(["Rscript", "-e", "library(survival)"], capture_output=True).returncode


@case
def survival_computed_again(folder):
    if not AGAIN:
        raise Skip("only with --survival")
    if not r_is_there():
        raise Skip("r-cran-survival is not installed")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(90, 260))
        rows = []
        for _ in range(count):
            arm, age, grade, marker = rng.integers(2), round(rng.normal(60, 9)), rng.integers(3), round(rng.normal(), 2)
            event, end = rng.exponential(400 / np.exp(0.5 * arm + 0.03 * (age - 60) + 0.3 * (grade == 2))), rng.uniform(60, 900)
            rows.append((rng.choice(["east", "north", "south"]), ("drug", "placebo")[arm], age, f"g{grade + 1}", marker,
                         max(1, round(min(event, end) / 5) * 5), int(event <= end), rng.choice([0.5, 1, 2.5])))
        with open(folder / "d.csv", "w", newline="") as file:
            csv.writer(file).writerows([("site", "arm", "age", "grade", "marker", "days", "died", "weight"), *rows])
        told = subprocess.run(["Rscript", GOLDEN / "survival.R", folder / "d.csv"], text=True, capture_output=True, check=True)
        compare_all(folder, numbers_of(told.stdout))
        compare_cox(folder, numbers_of(told.stdout))


@case
def no_curve_shows_fewer_than_the_minimum(folder):
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    made = curves(folder, "--grid", "60", "--minimum", 9, "--by", "arm")
    for line in made["steps"]:
        assert line["at_risk"] >= 9 and line["time"] % 60 == 0, line
        assert not 0 < line["events"] < 9 and not 0 < line["censored"] < 9, line
    # Sites add up to the totals at every step of these, so that no difference is a smaller count.
    for arm, count in itertools.product(("drug", "placebo"), ("events", "censored")):
        for time in {line["time"] for line in made["steps"] if line["site"] is None and line["stratum"] == arm}:
            so_far = {site: sum(line[count] for line in made["steps"]
                                if (line["site"], line["stratum"]) == (site, arm) and line["time"] <= time)
                      for site in (None, *SITES)}
            assert so_far[None] == sum(so_far[site] for site in SITES), (arm, time, so_far)
    assert any("fewer than 9 are at risk" in note for note in made["notes"])
    withheld = curves(folder, "--minimum", 30, "--by", "arm")
    assert any("withheld" in note for note in withheld["notes"])
    assert any(line["rows"] is None for line in withheld["curves"])


@case
def forms_and_columns(folder):
    (folder / "n.csv").write_text("weeks,dead,arm\n5,yes,a\n7,no,a\n9,yes,b\n,yes,a\n4,no,\n12,,b\n")
    (folder / "s.csv").write_text("weeks,dead,arm\n6,no,b\n8,yes,b\n8,yes,a\n11,no,a\n")
    words = ("survival", "curves", "n.csv", "s.csv", "--time", "weeks", "--event", "dead", "--happened", "yes", "--by", "arm")
    made = json.loads(run(folder, *words, "--json").stdout)
    assert sorted(made["notes"]) == ["1 row without a value of the event is left out", "1 row without a value of the stratum is left out",
                                     "1 row without a value of the time is left out"], made["notes"]
    assert [(line["site"], line["stratum"], line["rows"], line["events"]) for line in made["curves"]] == [
        (None, "a", 4, 2), (None, "b", 3, 2), ("n.csv", "a", 2, 1), ("n.csv", "b", 1, 1), ("s.csv", "a", 2, 1), ("s.csv", "b", 2, 1)]
    steps = list(csv.DictReader(io.StringIO(run(folder, *words, "--csv").stdout)))
    assert [float(line["survival"]) for line in steps] == [line["survival"] for line in made["steps"]]
    (folder / "s.yaml").write_text("columns:\n  weeks: {type: time, bounds: 1..100}\n  dead: {type: event, classes: [no, yes]}\n"
                                   "  arm: {type: category, levels: [b, a]}\n")
    declared = json.loads(run(folder, "survival", "curves", "n.csv", "s.csv", "--schema", "s.yaml", "--by", "arm", "--json").stdout)
    assert [line["stratum"] for line in declared["curves"]][:2] == ["b", "a"]
    assert sorted(map(str, declared["steps"])) == sorted(map(str, made["steps"]))
    text = run(folder, *words, "--times", "6,9").stdout
    assert "log-rank test" in text and "strata within sites" in text and "scale log" in text
    # A time before the first step has survival 1; one after the last has none.
    lone = json.loads(run(folder, *words, "--times", "1,50", "--json").stdout)["times"]
    assert (lone[0]["survival"], lone[0]["at_risk"], lone[1]["survival"], lone[1]["at_risk"]) == (1, 4, None, None), lone[:2]


@case
def picture_has_bands_and_numbers_at_risk(folder):
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    made = curves(folder, "--by", "arm", "--picture", "p.svg")
    picture = (folder / "p.svg").read_text()
    assert picture.count("<polygon") == 2 and picture.count("<polyline") == 2
    at_risk = [str(line["rows"]) for line in made["curves"] if line["site"] is None]
    for word in ("number at risk", ">drug<", ">placebo<", *(f">{count}<" for count in at_risk)):
        assert word in picture, word
    corners = re.search(r'<polyline points="([^"]*)"', picture).group(1).split()
    heights = [float(corner.split(",")[1]) for corner in corners]
    assert heights == sorted(heights), "a curve falls"
    curves(folder, "--picture", "sites.svg")
    assert (folder / "sites.svg").read_text().count("<polyline") == 3


@case
def mistakes_get_a_sentence(folder):
    (folder / "d.csv").write_text("time,event,arm\n5,1,a\n7,0,b\n")
    (folder / "bad.csv").write_text("time,event\n5,1\n-2,0\n")
    (folder / "odd.csv").write_text("time,event\n5,1\n7,2\n")
    (folder / "none.csv").write_text("time,event\n,1\n")
    for words, says in ((["d.csv", "--time", "days"], "--time"), (["d.csv", "--by", "sex"], "no column 'sex'"),
                        (["bad.csv"], "bad.csv:3"), (["odd.csv"], "--happened"), (["none.csv"], "no row"),
                        (["d.csv", "--happened", "yes"], "no row has the event"), (["d.csv", "--grid", "0"], "above 0"),
                        (["d.csv", "--grid", "90,30"], "above the one before"), (["d.csv", "--times", "x"], "above 0"),
                        (["d.csv", "--picture", "p.gif"], ".svg"), (["d.csv", "--picture", "d.csv"], "d.csv"),
                        (["d.csv", "--minimum", 5, "--picture", "p.svg"], "nothing to draw")):
        done = run(folder, "survival", "curves", *words, status=2)
        assert says in done.stderr, (words, done.stderr)
    shutil.copy(GOLDEN / "survival.csv", folder / "d.csv")
    train(folder, "efron")
    (folder / "l.csv").write_text("a,label\n" + "".join(f"{i % 7},{i * i // 3 % 2}\n" for i in range(40)))
    run(folder, "train", "--data", "l.csv", "--out", "l", "--quiet", "--pictures", "no")
    for words, says in ((["baseline", "l/model.json", "l.csv"], "loss cox"), (["test", "l/model.json", "l.csv"], "loss cox"),
                        (["predict", "efron/model.json", "d.csv"], "new"),
                        (["predict", "efron/model.json", "d.csv", "--new", "new.csv", "--at-site", "west"], "no site 'west'"),
                        (["predict", "efron/model.json", "d.csv", "--new", "new.csv", "--times", "9,3"], "above the one before"),
                        (["baseline", "efron/model.json", "d.csv", "--grid", "-1"], "above 0"),
                        (["test", "efron/model.json", "d.csv", "--transform", "sqrt"], "km")):
        done = run(folder, "survival", *words, status=2)
        assert says in done.stderr, (words, done.stderr)


if __name__ == "__main__":
    sys.exit(run_cases("survival"))
