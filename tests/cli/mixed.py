#!/usr/bin/python3
"""Random intercepts by the program: the boundary, awkward clusters, reading by name and by schema, predictions, refusals. Their
numbers beside lme4: tests/oracle/comparison.py; derivatives: tests/unit/objective/mixed.c. Speaks TAP.

usage: tests/cli/mixed.py PROGRAM
"""
import csv
import json
import math
import os
import random
import subprocess
import sys

from cases import case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
EXACT = ("--algorithm", "fed-newton", "--eps", 0, "--tolerance", "1e-20", "--standardise", "no")


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stderr if status else done.stdout


def make(folder, clusters, rows, sd, seed=1, label=None, name="d.csv"):
    """Rows of clusters at two sites; a class, a count and a number whose predictors have an effect of the cluster."""
    source = random.Random(seed)
    effect = [source.gauss(0, sd) for _ in range(clusters)]
    with open(folder / name, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "ward", "site", "y", "n", "v"])
        for i in range(rows):
            own = i % clusters
            a = round(source.gauss(0, 1), 4)
            m = 0.4 + 0.7 * a + effect[own]
            count, left = 0, source.random()
            while left > math.exp(-math.exp(min(m, 3))):
                count, left = count + 1, left * source.random()
            chance = int(source.random() < 1 / (1 + math.exp(-m)))
            writer.writerow([a, f"w{own}", "north" if own % 2 else "south",
                             label(i, a) if label else chance, count, round(3 * m + source.gauss(0, 2), 4)])


LABELS = {"mixed-logistic": "y", "mixed-poisson": "n", "mixed-linear": "v"}


def train(folder, loss, *words, status=0, out="out", data="d.csv"):
    label = LABELS.get(loss, "y")
    others = ",".join({"y", "n", "v"} - {label})
    return run(folder, "train", "--data", data, "--label", label, "--ignore", others, "--loss", loss, "--weights", "rows",
               "--pictures", "no", "--quiet", "--out", out, *(["--task", "regression"] if label != "y" else []), *words,
               status=status)


def lines_of(folder, *words):
    told = json.loads(run(folder, "summary", *words, "--json"))
    return {line["name"]: line for line in told["coefficients"]}, told


@case
def training_ends_at_the_refit(folder):
    """Both methods, in the model's and in the column's units, any number of threads."""
    make(folder, 25, 200, 0.8)
    for loss in LABELS:
        for algorithm in "fed-newton", "fed-lbfgs":
            train(folder, loss, *EXACT, "--algorithm", algorithm, "--rounds", 400, "--random-intercept", "ward")
            own, again = (lines_of(folder, "out/model.json", "d.csv", *more)[0] for more in ((), ("--refit",)))
            for name, line in own.items():
                assert abs(line["coefficient"] - again[name]["coefficient"]) < 1e-6, (loss, algorithm, line, again[name])
                assert math.isclose(line["std_error"], again[name]["std_error"], rel_tol=1e-5), (loss, line, again[name])
        bits = []
        for threads in 1, 3:
            train(folder, loss, "--algorithm", "fed-newton", "--random-intercept", "ward", "--threads", threads)
            bits.append(json.loads((folder / "out/model.json").read_text())["weights"])
        assert bits[0] == bits[1], loss


@case
def intervals_are_on_the_scale_of_a_quantity(folder):
    make(folder, 25, 200, 0.8)
    train(folder, "mixed-linear", *EXACT, "--random-intercept", "ward")
    lines, _ = lines_of(folder, "out/model.json")
    sd, rest, icc = (lines[name] for name in ("(random intercept sd)", "(residual sd)", "(icc)"))
    share = sd["coefficient"] ** 2 / (sd["coefficient"] ** 2 + rest["coefficient"] ** 2)
    assert math.isclose(icc["coefficient"], share, rel_tol=1e-12)
    for line in sd, rest:
        assert math.isclose(line["low"] * line["high"], line["coefficient"] ** 2, rel_tol=1e-12), line
        assert math.isclose(math.log(line["high"] / line["low"]),
                            2 * 1.959963984540054 * line["std_error"] / line["coefficient"], rel_tol=1e-12), line
        assert line["p"] is None
    logit = [math.log(x / (1 - x)) for x in (icc["low"], icc["coefficient"], icc["high"])]
    assert math.isclose(logit[0] + logit[2], 2 * logit[1], rel_tol=1e-9), logit


def train_at_boundary(folder, loss):
    """About every second sample without effects of clusters has its maximum there."""
    for seed in range(1, 40):
        make(folder, 12, 90, 0, seed)
        train(folder, loss, *EXACT, "--random-intercept", "ward")
        lines, told = lines_of(folder, "out/model.json")
        if lines["(random intercept sd)"]["coefficient"] == 0:
            assert "singular fit" in run(folder, "summary", "out/model.json")
            return lines, told
    raise AssertionError("no sample at the boundary")


@case
def the_boundary_is_reported(folder):
    """Without effects of clusters the standard deviation is 0, and the rest is that of the plain model."""
    train_at_boundary(folder, "mixed-linear")
    train_at_boundary(folder, "mixed-poisson")
    lines, told = train_at_boundary(folder, "mixed-logistic")
    assert lines["(random intercept sd)"]["std_error"] is None and lines["(icc)"]["coefficient"] == 0, lines
    train(folder, "logistic", *EXACT, "--ignore", "ward,n,v", out="plain")
    plain, other = lines_of(folder, "plain/model.json")
    for name, line in plain.items():
        assert math.isclose(line["coefficient"], lines[name]["coefficient"], rel_tol=1e-7), (line, lines[name])
        assert math.isclose(line["std_error"], lines[name]["std_error"], rel_tol=1e-7), (line, lines[name])
    assert math.isclose(told["fit"]["log_likelihood"], other["fit"]["log_likelihood"], rel_tol=1e-12)


@case
def awkward_clusters(folder):
    """Clusters of one row, one cluster, and classes that a column separates."""
    make(folder, 80, 80, 1)
    for loss in LABELS:
        train(folder, loss, "--algorithm", "fed-newton", "--eps", 0.01, "--random-intercept", "ward", "--rounds", 100)
        run(folder, "evaluate", "out/model.json", "d.csv")
    make(folder, 1, 80, 1)
    for loss in LABELS:
        train(folder, loss, *EXACT, "--random-intercept", "ward", "--rounds", 100)
        assert "singular fit" in run(folder, "summary", "out/model.json"), loss
    make(folder, 10, 60, 1, label=lambda i, a: int(a > 0))
    train(folder, "mixed-logistic", "--algorithm", "fed-newton", "--eps", 0, "--random-intercept", "ward", "--rounds", 100)
    told = run(folder, "summary", "out/model.json", "d.csv", "--refit", status=2)
    assert "there is no fit without a penalty" in told, told


@case
def many_clusters_and_a_long_file(folder):
    """10^4 clusters in a text that is read in pieces: their names mean the same in all of them."""
    make(folder, 10000, 60000, 0.5)
    train(folder, "mixed-linear", *EXACT, "--random-intercept", "ward", "--site", "none", "--ignore", "y,n,site")
    lines, _ = lines_of(folder, "out/model.json")
    assert abs(lines["(random intercept sd)"]["coefficient"] - 1.5) < 0.05, lines
    assert abs(lines["(residual sd)"]["coefficient"] - 2) < 0.03 and abs(lines["a"]["coefficient"] - 2.1) < 0.05, lines
    with open(folder / "d.csv") as file:
        rows = list(csv.DictReader(file))
    groups = {}
    for row in rows:
        groups.setdefault(row["ward"], []).append(
            float(row["v"]) - lines["a"]["coefficient"] * float(row["a"]) - lines["(intercept)"]["coefficient"])
    tau, sigma, value = lines["(random intercept sd)"]["coefficient"], lines["(residual sd)"]["coefficient"], 0
    for own in groups.values():
        mean, n = sum(own) / len(own), len(own)
        spread = sum((r - mean) ** 2 for r in own)
        value -= (n - 1) * math.log(sigma) + math.log(sigma ** 2 + n * tau ** 2) / 2 + n * math.log(2 * math.pi) / 2 + \
            spread / (2 * sigma ** 2) + n * mean ** 2 / (2 * (sigma ** 2 + n * tau ** 2))
    told = json.loads(run(folder, "summary", "out/model.json", "--json"))["fit"]["log_likelihood"]
    assert math.isclose(told, value, rel_tol=1e-10), (told, value)


@case
def a_schema_declares_clusters_as_persons(folder):
    make(folder, 25, 200, 0.8)
    (folder / "s.yaml").write_text(
        "columns:\n  a: {type: number, bounds: -9..9}\n  ward: {type: person, most: 50}\n  y: {type: ignore}\n"
        "  site: {type: site, names: [north, south]}\n  n: {type: label, bounds: 0..90}\n  v: {type: ignore}\n")
    plain = ["--data", "d.csv", "--loss", "mixed-poisson", "--weights", "rows", "--pictures", "no", "--quiet", *EXACT]
    run(folder, "train", *plain, "--schema", "s.yaml", "--random-intercept", "ward", "--out", "declared")
    train(folder, "mixed-poisson", *EXACT, "--random-intercept", "ward")
    models = [json.loads((folder / name / "model.json").read_text()) for name in ("out", "declared")]
    assert all(abs(x - y) < 1e-9 for x, y in zip(*(model["weights"] for model in models)))
    assert models[0]["reading"]["cluster"] == "ward" and models[0]["quadrature_points"] == 10
    told = run(folder, "train", *plain, "--schema", "s.yaml", "--random-intercept", "a", "--out", "x", status=2)
    assert "declares another column of type person, ward" in told, told
    again = [lines_of(folder, f"{name}/model.json", "d.csv", "--refit")[0] for name in ("out", "declared")]
    for name, line in again[0].items():
        assert abs(line["coefficient"] - again[1][name]["coefficient"]) < 1e-9, (line, again[1][name])


@case
def predictions_have_no_effect_of_a_cluster(folder):
    make(folder, 25, 200, 0.8)
    train(folder, "mixed-logistic", *EXACT, "--random-intercept", "ward", "--intercept", "yes")
    a, intercept, _ = json.loads((folder / "out/model.json").read_text())["weights"]
    with open(folder / "d.csv") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "new.csv", "w", newline="") as file:  # without the column of clusters
        writer = csv.writer(file)
        writer.writerows([["a"], *([row["a"]] for row in rows)])
    told = list(csv.DictReader(run(folder, "predict", "out/model.json", "new.csv").splitlines()))
    for row, own in zip(rows, told):
        probability = 1 / (1 + math.exp(-a * float(row["a"]) - intercept))
        assert math.isclose(float(own["probability:1"]), probability, rel_tol=1e-12)
    with open(folder / "bare.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["a", "y"], *([row["a"], row["y"]] for row in rows)])
    assert "the rows have no clusters" in run(folder, "evaluate", "out/model.json", "bare.csv", status=2)


@case
def what_has_no_meaning_is_refused(folder):
    make(folder, 25, 200, 0.8)
    by_ward = ("--random-intercept", "ward")
    for words, part in (
            (("--algorithm", "fed-plt"), "use fed-newton or fed-lbfgs"),
            (("--weights", "agents"), "set weights to rows"),
            (("--class-weight", "balanced"), "rows have weights"),
            (("--clip", 1), "clip has nothing to clip"),
            (("--random-intercept", "ship"), "there is no random-intercept column 'ship'"),
            (("--random-intercept", "site"), "'ward': 'w0' is not a number"),
            (("--quadrature-points", 0), "from 1 to 100"),
            (("--loss", "logistic"), "random-intercept has no effect without loss")):
        told = train(folder, "mixed-logistic", *by_ward, *words, status=2)
        assert part in told, (words, told)
    told = train(folder, "mixed-linear", *by_ward, "--quadrature-points", 5, status=2)
    assert "quadrature-points has no effect without loss mixed-logistic or mixed-poisson" in told, told
    train(folder, "mixed-logistic", *by_ward)
    told = run(folder, "summary", "out/model.json", "d.csv", "--robust", status=2)
    assert "robust" in told, told
    model = json.loads((folder / "out/model.json").read_text())
    model["quadrature_points"] = 2.5
    (folder / "bad.json").write_text(json.dumps(model))
    assert "quadrature_points is 2.5" in run(folder, "predict", "bad.json", "d.csv", status=2)


sys.exit(run_cases("mixed"))
