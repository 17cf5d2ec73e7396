#!/usr/bin/python3
"""Gamma, probit, negative binomial and ordinal: training, processes and threads, predictions, exports, and refusals with their reason. Their numbers
beside R: tests/oracle/comparison.py. Speaks TAP.

usage: tests/cli/families.py PROGRAM
"""
import csv
import json
import math
import os
import subprocess
import sys

from cases import case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stderr if status else done.stdout


def make(folder, first=None):
    """Two columns, a positive number y whose mean is e^(1 + a/2), and a class z."""
    with open(folder / "d.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "y", "z"])
        for i in range(150):
            a, b, noise = (i * 37 % 101) / 50 - 1, (i * 53 % 97) / 48 - 1, (i * 71 % 89 + 1) / 90
            amount = round(-math.log(noise) * math.exp(1 + a / 2), 6)
            writer.writerow([a, b, first if first is not None and i == 0 else amount, "yes" if a + 3 * noise > 1.5 else "no"])
    with open(folder / "d.csv") as file:
        rows = list(csv.DictReader(file))
    for name, columns in (("g.csv", "aby"), ("p.csv", "abz")):
        with open(folder / name, "w", newline="") as file:
            writer = csv.DictWriter(file, list(columns), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)


def train(folder, loss, *words, status=0):
    data, label = ("g.csv", "y") if loss == "gamma" else ("p.csv", "z")
    return run(folder, "train", "--data", data, "--label", label, "--loss", loss, "--agents", 5, "--pictures", "no",
               "--quiet", "--out", "out", *words, status=status)


def weights(folder):
    return json.loads((folder / "out/model.json").read_text())["weights"]


@case
def training_ends_at_the_refit(folder):
    """Both methods, without a penalty: the same minimiser as that of Newton's method on the pooled rows."""
    make(folder)
    for loss, data in (("gamma", "g.csv"), ("probit", "p.csv")):
        for algorithm in "fed-newton", "fed-lbfgs":
            train(folder, loss, "--algorithm", algorithm, "--eps", 0, "--tolerance", "1e-20", "--rounds", 200)
            found = [json.loads(run(folder, "summary", "out/model.json", data, "--json", *more))["coefficients"]
                     for more in ((), ("--refit",))]
            for own, again in zip(*found):
                assert abs(own["coefficient"] - again["coefficient"]) < 1e-8, (loss, algorithm, own, again)


@case
def threads_change_no_bit(folder):
    make(folder)
    for loss in "gamma", "probit":
        found = []
        for threads in 1, 3:
            train(folder, loss, "--threads", threads, "--algorithm", "fed-newton")
            found.append((folder / "out/model.json").read_text().split('"weights"')[1].split("]")[0])
        assert found[0] == found[1], loss


@case
def predictions_are_means_and_normal_probabilities(folder):
    make(folder)
    train(folder, "probit", "--standardise", "no", "--intercept", "yes")
    a, b, intercept = weights(folder)
    with open(folder / "p.csv") as file:
        rows = list(csv.DictReader(file))
    told = list(csv.DictReader(run(folder, "predict", "out/model.json", "p.csv").splitlines()))
    for row, own in zip(rows, told):
        margin = a * float(row["a"]) + b * float(row["b"]) + intercept
        assert math.isclose(float(own["probability:yes"]), math.erfc(-margin / math.sqrt(2)) / 2, rel_tol=1e-13)
        assert math.isclose(float(own["probability:no"]), math.erfc(margin / math.sqrt(2)) / 2, rel_tol=1e-13)
        assert own["label"] == ("yes" if margin > 0 else "no")
    assert "export its coefficients as JSON or CSV" in run(folder, "export", "out/model.json", "--to", "onnx", "--out",
                                                           "m.onnx", status=2)
    train(folder, "gamma", "--standardise", "no", "--intercept", "yes")
    a, b, intercept = weights(folder)
    told = list(csv.DictReader(run(folder, "predict", "out/model.json", "g.csv").splitlines()))
    for row, own in zip(rows, told):
        mean = math.exp(a * float(row["a"]) + b * float(row["b"]) + intercept)
        assert math.isclose(float(own["value"]), mean, rel_tol=1e-13)
    run(folder, "export", "out/model.json", "--to", "onnx", "--out", "m.onnx")
    assert b"LinearRegressor" in (folder / "m.onnx").read_bytes() and b"Exp" in (folder / "m.onnx").read_bytes()


@case
def the_summary_says_the_dispersion(folder):
    make(folder)
    train(folder, "gamma", "--eps", 0)
    told = run(folder, "summary", "out/model.json", "g.csv", "--refit")
    assert "degrees of freedom (Pearson)" in told and "mean_ratio" in told and "nan" not in told, told
    again = json.loads(run(folder, "summary", "out/model.json", "g.csv", "--refit", "--json"))["fit"]
    assert again["dispersion"] > 0 and again["sigma"] is None and again["f"] > 0


@case
def what_has_no_bound_is_refused(folder):
    make(folder)
    for algorithm in "fed-plt", "fedavg", "fednl", "fed-plt-anderson":
        told = train(folder, "gamma", "--algorithm", algorithm, status=2)
        assert "curvature of this loss has none; use fed-newton or fed-lbfgs" in told, told
    told = train(folder, "gamma", "--participation", "fixed", "--active", 2, status=2)
    assert "use fed-newton or fed-lbfgs" in told, told
    train(folder, "probit", "--algorithm", "fed-plt", "--rounds", 5)
    (folder / "s.yaml").write_text("columns:\n  a: {type: number, bounds: -1..1, missing: 0}\n"
                                   "  b: {type: number, bounds: -1..1, missing: 0}\n"
                                   "  y: {type: label, bounds: 0..90, missing: 1}\n")
    told = run(folder, "train", "--data", "g.csv", "--schema", "s.yaml", "--loss", "gamma", "--agents", 5, "--out", "out",
               "--privacy.epsilon", 2, status=2)
    assert "no privacy claim can be made with it" in told, told
    for bad in 0, -1:
        make(folder, bad)
        told = train(folder, "gamma", status=2)
        assert "but the loss gamma is of numbers above 0" in told, told


def make_shared(folder, spread=True):
    """Counts with more spread than Poisson's or with less, and classes in their order."""
    with open(folder / "n.csv", "w", newline="") as counts, open(folder / "o.csv", "w", newline="") as ordered:
        one, other = csv.writer(counts), csv.writer(ordered)
        one.writerow(["a", "b", "y"])
        other.writerow(["a", "b", "y"])
        for i in range(150):
            a, b, noise = (i * 37 % 101) / 50 - 1, (i * 53 % 97) / 48 - 1, (i * 71 % 89 + 1) / 90
            mean = math.exp(1 + a / 2) * (-math.log(noise) if spread else 1)
            one.writerow([a, b, round(mean)])
            latent = a + math.log(noise / (1 - noise))
            other.writerow([a, b, ["1 low", "2 fair", "3 good", "4 high"][(latent > -1) + (latent > 0) + (latent > 1.5)]])


SHARED = (("negative-binomial", "n.csv", ["--task", "regression"]), ("ordinal", "o.csv", []))


def train_shared(folder, loss, data, words, *more, status=0):
    return run(folder, "train", "--data", data, "--label", "y", "--loss", loss, "--agents", 5, "--pictures", "no", "--quiet",
               "--out", "out", *words, *more, status=status)


@case
def shared_coordinates_end_at_the_refit(folder):
    make_shared(folder)
    for loss, data, words in SHARED:
        for algorithm in "fed-newton", "fed-lbfgs":
            train_shared(folder, loss, data, words, "--algorithm", algorithm, "--eps", 0, "--tolerance", "1e-20", "--rounds", 300)
            found = [json.loads(run(folder, "summary", "out/model.json", data, "--json", *more))["coefficients"]
                     for more in ((), ("--refit",))]
            assert len(found[0]) == (4 if loss == "negative-binomial" else 5), found
            for own, again in zip(*found):
                assert abs(own["coefficient"] - again["coefficient"]) < 1e-7, (loss, algorithm, own, again)
        many = []
        for threads in 1, 3:
            train_shared(folder, loss, data, words, "--threads", threads)
            many.append(weights(folder))
        assert many[0] == many[1], loss


@case
def ordinal_probabilities_follow_from_the_thresholds(folder):
    make_shared(folder)
    train_shared(folder, "ordinal", "o.csv", [], "--standardise", "no")
    a, b, intercept, *distances = weights(folder)
    told = list(csv.DictReader(run(folder, "predict", "out/model.json", "o.csv").splitlines()))
    with open(folder / "o.csv") as file:
        rows = list(csv.DictReader(file))
    for row, own in zip(rows, told):
        threshold, below, expected = -intercept, 0, {}
        margin = a * float(row["a"]) + b * float(row["b"])
        for name, distance in zip(("1 low", "2 fair", "3 good"), distances + [0]):
            upto = 1 / (1 + math.exp(margin - threshold))
            expected[name], below, threshold = upto - below, upto, threshold + math.exp(distance)
        expected["4 high"] = 1 - below
        for name, probability in expected.items():
            assert math.isclose(float(own["probability:" + name]), probability, rel_tol=1e-12), (row, own, expected)
        assert own["label"] == max(expected, key=expected.get)


@case
def counts_without_overdispersion_have_no_theta(folder):
    make_shared(folder, spread=False)
    train_shared(folder, "negative-binomial", "n.csv", ["--task", "regression"], "--eps", 0)
    told = run(folder, "summary", "out/model.json", "n.csv", "--refit")
    assert "theta has no finite estimate" in told and "Train with the loss poisson" in told, told
    own = json.loads(run(folder, "summary", "out/model.json", "n.csv", "--refit", "--json"))["coefficients"]
    run(folder, "train", "--data", "n.csv", "--label", "y", "--loss", "poisson", "--task", "regression", "--eps", 0, "--quiet",
        "--pictures", "no", "--out", "again")
    other = json.loads(run(folder, "summary", "again/model.json", "n.csv", "--refit", "--json"))["coefficients"]
    assert own[3]["coefficient"] is None and own[3]["std_error"] is None, own
    for one, two in zip(own, other):
        assert math.isclose(one["coefficient"], two["coefficient"], rel_tol=1e-6), (one, two)
        assert math.isclose(one["std_error"], two["std_error"], rel_tol=1e-6), (one, two)


@case
def shared_coordinates_refuse_what_they_cannot(folder):
    make_shared(folder)
    for loss, data, words in SHARED:
        told = train_shared(folder, loss, data, words, "--algorithm", "fed-plt", status=2)
        assert "use fed-newton or fed-lbfgs" in told, told
        label = "{type: label, bounds: 0..90, missing: 1}" if loss == "negative-binomial" else \
            "{type: label, classes: [1 low, 2 fair, 3 good, 4 high], missing: 1 low, other: 1 low}"
        (folder / "s.yaml").write_text("columns:\n  a: {type: number, bounds: -1..1, missing: 0}\n"
                                       "  b: {type: number, bounds: -1..1, missing: 0}\n  y: " + label + "\n")
        told = run(folder, "train", "--data", data, "--schema", "s.yaml", "--loss", loss, "--agents", 5, "--out", "out",
                   "--privacy.epsilon", 2, status=2)
        assert "no privacy claim can be made with it" in told, told
    told = train_shared(folder, "ordinal", "o.csv", [], "--intercept", "no", status=2)
    assert "set intercept to yes" in told, told
    train_shared(folder, "ordinal", "o.csv", [])
    assert "export its coefficients as JSON or CSV" in run(folder, "export", "out/model.json", "--to", "onnx", "--out", "m.onnx",
                                                           status=2)


sys.exit(run_cases("families"))
