#!/usr/bin/python3
"""What a first run on data of your own does, against pooled Newton in NumPy. Speaks TAP.

usage: tests/cli/defaults.py PROGRAM
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("1..0 # skip numpy is not there")
    sys.exit(0)

PROGRAM = os.path.abspath(sys.argv[1])
HEART = pathlib.Path("../shared/data/heart_disease/heart_disease.csv").resolve()
CASES = []


class Skip(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def train(folder, *words, status=0):
    done = run(folder, "train", *words, "--pictures", "no", "--json", status=status)
    return json.loads(done.stdout)


def save(folder, X, y, site, name="d.csv"):
    with open(folder / name, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", "y", *(f"x{j}" for j in range(X.shape[1]))])
        for i in range(len(y)):
            out.writerow([f"s{site[i]}", f"{y[i]:.17g}", *(f"{v:.17g}" for v in X[i])])
    return name


def standardised(X):
    deviation = X.std(axis=0)
    constant = X.max(axis=0) == X.min(axis=0)
    return (X - np.where(constant, X[0], X.mean(axis=0))) / np.where(constant, 1, deviation)


def pooled(X, y, eps, logistic):
    """Minimiser of the mean loss over all rows + eps/2 ||x||^2, the intercept last and free."""
    A = np.hstack([standardised(X), np.ones((len(y), 1))])
    ridge = np.append(np.full(X.shape[1], eps), 0)
    w = np.zeros(A.shape[1])
    for _ in range(60):
        margin = A @ w
        if logistic:
            p = 1 / (1 + np.exp(y * margin))
            gradient, weight = -A.T @ (y * p) / len(y) + ridge * w, p * (1 - p)
        else:
            gradient, weight = A.T @ (margin - y) / len(y) + ridge * w, np.ones(len(y))
        w = w - np.linalg.solve((A.T * weight) @ A / len(y) + np.diag(ridge), gradient)
    return w


def nasty(seed):
    """Rows that no first run should have to fear."""
    r = np.random.default_rng(seed)
    agents, n, rows = int(r.integers(2, 9)), int(r.integers(2, 9)), int(r.integers(20, 120))
    site = np.repeat(np.arange(agents), rows)
    X = r.normal(size=(agents * rows, n))
    kind = seed % 6
    if kind == 0:
        X *= 10.0 ** r.uniform(-6, 6, n)
    elif kind == 1:
        X += 10.0 ** r.uniform(0, 4, n)
    elif kind == 2:
        X[:, -1] = X[:, 0] * (1 + 1e-3 * r.normal(size=len(site)))
        X *= 10.0 ** r.uniform(-3, 3, n)
    elif kind == 3:
        X += 3 * r.normal(size=(agents, n))[site]
    elif kind == 4:
        X = np.exp(2 * X)
    else:
        X = (X > 1.5).astype(float)
        X[:, 0] = 7
    signal = standardised(X) @ (2 * r.normal(size=n))
    logistic = seed % 12 < 6
    if logistic:
        y = np.where(r.uniform(size=len(site)) < 1 / (1 + np.exp(-signal - 0.7)), 1, -1)
    else:
        y = (signal + 0.5 * r.normal(size=len(site))) * 10.0 ** r.uniform(-3, 5) + 100
    if seed % 5 == 0:  # unequal agents
        keep = r.uniform(size=len(site)) < np.linspace(0.15, 1, agents)[site]
        X, y, site = X[keep], y[keep], site[keep]
    return X, y, site, logistic


@case
def a_comparison_has_the_defaults_of_a_training(folder):
    """Every method on the same rows: the target of train, and its rounds or its refusal."""
    run(folder, "data", "generate", "g.csv", "--agents", 4, "--rows", 30, "--unequal", 0.5)
    (folder / "own.csv").write_text("agent,epochs\n0,2\n")
    job = ["--data", "g.csv", "--eval-every", 1]
    for extra in ([], ["--paper"], ["--eps", 0.3, "--intercept", "no"], ["--epochs", "auto", "--solver", "newton"],
                  ["--epochs", "auto", "--t-communication", 100], ["--start", "random", "--start-scale", 0.01],
                  ["--h", "l1", "--h-weight", 0.01], ["--regulariser", "nonconvex"],
                  ["--epochs", "auto", "--uncoordinated", "own.csv"], ["--uncoordinated", "own.csv"]):
        only = ["--algorithms", "fed-plt,tamuna,fedlin,fedavg,led,fedprox"] if "--uncoordinated" in extra else []
        compared = json.loads(run(folder, "compare", *job, "--runs", 1, "--rounds", 400, "--pictures", "no", "--json",
                                  *extra, *only).stdout)
        arrived = 0
        for method in compared["methods"]:
            words = [*job, "--rounds", 400, "--algorithm", method["algorithm"], *extra]
            if "refusal" in method:
                run(folder, "train", *words, status=2)
                continue
            trained = train(folder, *words)
            # a random start is each agent's own, and methods whose agents keep no model begin at zero
            assert method != compared["methods"][0] or compared["criterion"] == trained["target"], (extra, trained["target"])
            arrived += trained["outcome"] == "converged"
            assert method["failures"] == (trained["outcome"] != "converged"), (extra, method, trained["sentence"])
            assert method["failures"] or method["rounds"] == [trained["rounds"]] * 3, (extra, method, trained["rounds"])
        assert arrived >= 2, (extra, compared)
    said = run(folder, "compare", *job, "--algorithms", "fed-plt", "--runs", 1, "--pictures", "no", "--eps", 0.3).stdout
    block = said[said.index("defaults for data of your own (--paper: those of the paper)"):]
    assert [line.split()[:2] for line in block.splitlines()[1:7]] == [
        ["standardise", "auto"], ["intercept", "yes"], ["weights", "rows"], ["tolerance", "1e-16"], ["relative", "yes"],
        ["criterion-at", "model"]], block
    for words in (["--data", "g.csv", "--paper"], ["--agents", 3, "--rows", 20]):
        assert "defaults" not in run(folder, "compare", *words, "--algorithms", "fed-plt", "--runs", 1, "--pictures", "no").stdout
    for command in (["tune", "--data", "g.csv"], ["theory", "--data", "g.csv", "--show-rounds", 5, "--picture", "t"]):
        assert "  intercept              yes  " in run(folder, *command).stdout, command


@case
def nasty_data_converge_to_the_pooled_minimiser(folder):
    for seed in range(120):
        X, y, site, logistic = nasty(seed)
        more = [] if logistic else ["--task", "regression"]
        save(folder, X, y, site)
        done = train(folder, "--data", "d.csv", "--label", "y", *more, "--strict")
        assert done["outcome"] == "converged" and done["rounds"] < 200, (seed, done["sentence"])
        found, known = np.array(done["model"]["weights"]), pooled(X, y, 0.01, logistic)
        error = np.abs(found - known).max() / max(1, np.abs(known).max())
        assert error < 1e-6, (seed, error)


@case
def coefficients_of_heart_disease_are_right(folder):
    if not HEART.exists():
        raise Skip(f"{HEART} is not there")
    with open(HEART, newline="") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([[float(v) for v in row[2:]] for row in rows])
    y = np.array([float(row[1]) for row in rows])
    done = train(folder, "--data", HEART, "--label", "b")
    found = np.array(done["model"]["weights"])
    assert np.abs(found - pooled(X, y, 0.01, True)).max() < 1e-6
    for agents in 1, 20:  # the number of agents, whoever they are, changes nothing
        done = train(folder, "--data", HEART, "--label", "b", "--partition", "shuffled", "--agents",
                     agents)
        assert done["outcome"] == "converged"
        assert np.abs(done["model"]["weights"] - found).max() < 1e-6, agents


METHODS = (["fedlin", "--solver", "accelerated"], ["fedlin", "--solver", "accelerated", "--epochs", "12"],
           ["5gcs", "--epochs", "1"], ["5gcs"], ["fed-plt", "--solver", "lbfgs", "--epochs", "1"])


@case
def few_epochs_and_momentum_arrive_with_automatic_parameters(folder):
    for seed in range(3, 123, 6):  # unlike agents
        X, y, site, logistic = nasty(seed)
        save(folder, X, y, site)
        method = METHODS[seed // 6 % len(METHODS)]
        done = train(folder, "--data", "d.csv", "--label", "y", *([] if logistic else ["--task", "regression"]),
                     "--algorithm", *method, "--rounds", "20000", "--tolerance", "1e-14", "--relative", "yes")
        assert done["outcome"] == "converged", (seed, method, done["sentence"])
        found, known = np.array(done["model"]["weights"]), pooled(X, y, 0.01, logistic)
        error = np.abs(found - known).max() / max(1, np.abs(known).max())
        assert error < 1e-5, (seed, method, error)


@case
def few_iterations_of_lbfgs_do_not_go_around_the_minimiser(folder):
    for seed in 15, 28, 39, 52, 63, 87, 88:  # where a loose line search does
        X, y, site, logistic = nasty(seed)
        save(folder, X, y, site)
        for epochs in "2", "3":
            done = train(folder, "--data", "d.csv", "--label", "y", "--algorithm", "fed-plt", "--solver", "lbfgs",
                         "--epochs", epochs, "--tolerance", "1e-14", "--relative", "yes", "--rounds", "3000")
            assert done["outcome"] == "converged", (seed, epochs, done["sentence"])
            known = pooled(X, y, 0.01, logistic)
            error = np.abs(done["model"]["weights"] - known).max() / max(1, np.abs(known).max())
            assert error < 1e-5, (seed, epochs, error)


@case
def labels_that_sums_have_no_digits_for_are_refused(folder):
    X, _, site, _ = nasty(3)
    for scale, status in ((1e-9, 0), (1e-13, 2), (-1e-30, 2)):
        y = scale * (3 + standardised(X)[:, 0])
        save(folder, X, y, site)
        done = run(folder, "train", "--data", "d.csv", "--label", "y", "--task", "regression", "--pictures", "no",
                   "--json", status=status)
        if status:
            assert "exact in steps of 5.4e-20: give labels in smaller units" in done.stderr, done.stderr
        else:
            found = np.array(json.loads(done.stdout)["model"]["weights"])
            assert np.abs(found / scale - pooled(X, y / scale, 0.01, False)).max() < 1e-6


@case
def a_relative_tolerance_that_is_asked_for_is_the_default_one(folder):
    X, y, site, _ = nasty(3)
    save(folder, X, y, site)
    targets = [train(folder, "--data", "d.csv", "--label", "y", *more)["model"]["training"]["target"]
               for more in ([], ["--relative", "yes"], ["--relative", "no"], ["--tolerance", "1e-9"])]
    assert targets[0] == targets[1] < 1e-12 and targets[2:] == [1e-5, 1e-9], targets


@case
def the_scale_of_the_data_does_not_matter(folder):
    X, y, site, _ = nasty(3)
    results = []
    for scale in 1, 1e-7, 1e7:
        save(folder, X * scale, y, site)
        results.append(train(folder, "--data", "d.csv", "--label", "y"))
    assert all(done["outcome"] == "converged" for done in results)
    assert len({done["rounds"] for done in results}) == 1, [done["rounds"] for done in results]
    assert results[0]["rounds"] > 0


@case
def the_delivered_model_meets_the_tolerance(folder):
    """The mean of the x_i of a constrained problem is not feasible, the model is."""
    run(folder, "data", "generate", "g.csv", "--generator", "planted", "--task", "regression",
        "--agents", "16", "--features", "11", "--rows", "3", "--seed", "1")
    words = ["--data", "g.csv", "--task", "regression", "--algorithm", "fed-plt", "--epochs", "1",
             "--eps", "0.01", "--h", "simplex", "--h-radius", "0.2"]
    done = train(folder, *words, "--standardise", "no", "--intercept", "no", "--strict")
    record = done["model"]["training"]
    assert record["criterion_at"] == "model" and record["end"] == record["model"]
    assert record["model"]["criterion"] <= record["target"]
    old = train(folder, *words, "--paper")["model"]["training"]
    assert old["outcome"] == "rounds-done" and old["end"]["criterion"] > 1, old["end"]
    for seed in range(6):  # what is claimed holds for what is delivered
        X, y, site, _ = nasty(seed)
        save(folder, X, y, site)
        record = train(folder, "--data", "d.csv", "--label", "y", "--tolerance", "1e-9",
                       "--relative", "--algorithm", "fed-plt", "--solver", "newton", "--h", "l1",
                       "--h-weight", "0.01")["model"]["training"]
        assert record["outcome"] != "converged" or \
            record["model"]["criterion"] <= record["target"] == 1e-9 * record["start"]["criterion"]


@case
def defaults_are_told_and_can_be_switched_off(folder):
    X, y, site, _ = nasty(3)
    save(folder, X, y, site)
    told = run(folder, "train", "--data", "d.csv", "--label", "y", "--pictures", "no").stdout
    record = json.loads((folder / "fedplt-out/model.json").read_text())["training"]
    expected = {"intercept": "yes", "standardise": "auto", "eps": "0.01", "weights": "rows",
                "criterion-at": "model", "relative": "yes", "tolerance": "1e-16",
                "algorithm": "auto"}
    assert {name: row["value"] for name, row in record["defaults"].items()} == expected
    for name, row in record["defaults"].items():
        assert f"  {name:22} {row['value']:22} {row['why']}\n" in told, name
    paper = train(folder, "--data", "d.csv", "--label", "y", "--paper")["model"]
    assert not paper["intercept"] and paper["training"]["problem"]["eps"] == 0.5
    assert paper["training"]["problem"]["weights"] == "agents"
    assert set(paper["training"]["defaults"]) == {"algorithm", "epochs"}
    one = ["train", "--data", "d.csv", "--label", "y", "--quiet", "--pictures", "no"]
    run(folder, *one, "--paper", "--out", "a")
    run(folder, *one, "--intercept", "no", "--standardise", "no", "--eps", "0.5", "--weights",
        "agents", "--criterion-at", "mean", "--tolerance", "1e-5", "--algorithm", "fed-plt-anderson",
        "--epochs", "auto", "--out", "b")
    a, b = (json.loads((folder / name / "model.json").read_text())["weights"] for name in "ab")
    assert a == b
    plain = train(folder, "--agents", "5")["model"]["training"]
    assert plain["defaults"] == {} and plain["criterion_at"] == "mean"


@case
def sparse_data_are_scaled_only(folder):
    r = np.random.default_rng(0)
    with open(folder / "s.libsvm", "w") as file:
        for i in range(120):
            columns = sorted(r.choice(400, 5, replace=False))
            file.write(f"{r.choice([-1, 1])} "
                       + " ".join(f"{j + 1}:{r.normal() + 3:.6g}" for j in columns) + "\n")
    done = train(folder, "--data", "s.libsvm", "--partition", "shuffled", "--agents", "4")
    assert done["outcome"] == "converged"
    assert done["model"]["transform"].get("mean") is None and done["model"]["transform"]["scale"]


@case
def strict_tells_by_its_status(folder):
    words = ["train", "--agents", "5", "--pictures", "no", "--quiet"]
    assert run(folder, *words, "--rounds", "3").stderr == ""
    told = run(folder, *words, "--rounds", "3", "--strict", status=1).stderr
    assert told.startswith("fedplt: not converged: ") and "asked for 1e-05" in told, told
    assert (folder / "fedplt-out/model.json").exists()
    run(folder, *words, "--strict")
    run(folder, *words, "--strict", "--rounds", "3", "--tolerance", "0")


@case
def a_start_near_the_minimiser_asks_for_no_more(folder):
    X, y, site, _ = nasty(3)
    save(folder, X, y, site)
    first = train(folder, "--data", "d.csv", "--label", "y")
    again = train(folder, "--data", "d.csv", "--label", "y", "--start", "model", "--start-model",
                  "fedplt-out/model.json", "--out", "again")
    assert again["outcome"] == "converged" and again["rounds"] == 0
    assert again["model"]["training"]["target"] == first["model"]["training"]["target"]


@case
def a_margin_of_zero_is_one_class_everywhere(folder):
    """A model of zeros: every margin is 0, and what predict says is what evaluate counts."""
    X, y, site, _ = nasty(3)
    save(folder, X, y, site)
    for loss in "logistic", "squared-hinge", "least-squares":
        run(folder, "train", "--data", "d.csv", "--label", "y", "--loss", loss, "--rounds", "0",
            "--quiet", "--pictures", "no")
        run(folder, "predict", "fedplt-out/model.json", "d.csv", "--out", "p.csv")
        with open(folder / "p.csv", newline="") as file:
            said = [row["label"] for row in csv.DictReader(file)]
        told = json.loads(run(folder, "evaluate", "fedplt-out/model.json", "d.csv",
                              "--json").stdout)
        hits = sum(float(a) == b for a, b in zip(said, y)) / len(y)
        assert 0 < hits < 1 and abs(told["all"]["accuracy"] - hits) < 1e-12, (loss, hits, told)
    classes = np.arange(len(y)) % 3  # of three classes with one score
    save(folder, X, classes, site)
    train(folder, "--data", "d.csv", "--label", "y", "--task", "classes", "--rounds", "0")
    run(folder, "predict", "fedplt-out/model.json", "d.csv", "--out", "p.csv")
    with open(folder / "p.csv", newline="") as file:
        said = [float(row["label"]) for row in csv.DictReader(file)]
    told = json.loads(run(folder, "evaluate", "fedplt-out/model.json", "d.csv", "--json").stdout)
    assert abs(told["all"]["accuracy"] - np.mean(classes == said)) < 1e-12 and len(set(said)) == 1


@case
def failures_say_what_would_help(folder):
    X, _, site, _ = nasty(3)
    save(folder, X, 1e10 * (1 + X[:, 0]), site)
    told = run(folder, "train", "--data", "d.csv", "--label", "y", "--task", "regression",
               status=1).stderr
    assert "too large to be added up exactly" in told and "larger units" in told, told
    job = ["train", "--agents", "5", "--rounds", "5000"]
    told = run(folder, *job, "--gamma", "50", status=1).stderr
    assert "gamma is 50" in told and "try gamma: auto" in told, told
    told = run(folder, "train", "--generator", "planted", "--task", "regression", "--agents", "8",
               "--rows", "5", "--features", "6", "--eps", "0.001", "--algorithm", "fedlin",
               "--gamma", "0.3", "--epochs", "100", "--rounds", "3000", status=1).stderr
    assert "try fewer epochs, or gamma: auto" in told, told  # tests/cli/diverging.py follows it
    words = ["train", "--agents", "6", "--algorithm", "tamuna", "--participation", "round-robin"]
    told = run(folder, *words, "--active", "3", status=2).stderr
    assert "round-robin groups of 3 of 6 agents" in told, told
    run(folder, *words, "--active", "4", "--quiet", "--pictures", "no")


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(pathlib.Path(folder))
                print(f"ok {number} - {name}", flush=True)
            except Skip as reason:
                print(f"ok {number} - {name} # skip {reason}", flush=True)
            except Exception as problem:  # noqa: every failure is reported
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in f"{type(problem).__name__}: {problem}".splitlines():
                    print("# " + line)
    sys.exit(1 if failed else 0)


main()
