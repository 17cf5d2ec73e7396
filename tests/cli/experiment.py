#!/usr/bin/python3
"""Runs `fedplt compare`, `paper`, `theory` and `tune` the way a person or a script would. Speaks TAP.

usage: tests/cli/experiment.py PROGRAM
"""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
PROBLEM = ["--agents", "8", "--features", "3", "--rows", "30"]
TINY = [*PROBLEM, "--rounds", "150"]
CASES = []


def case(function):
    CASES.append(function)
    return function


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *words], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


@case
def a_comparison_writes_what_it_prints(folder):
    done = run(folder, "compare", *TINY, "--runs", "3", "--algorithms", "fed-plt,tamuna,fedavg")
    out = folder / "fedplt-compare"
    with open(out / "results.csv", newline="") as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"fed-plt", "tamuna", "fedavg"}
    assert rows["fedavg"]["failures"] == "3" and rows["fedavg"]["rounds_median"] == ""
    assert "3 of 3" in done.stdout and "Fed-PLT" in done.stdout
    with open(out / "curves.csv", newline="") as file:
        last = [row for row in csv.DictReader(file) if row["algorithm"] == "fed-plt"][-1]
    assert float(last["criterion"]) <= 1e-5
    for name in ["rounds", "gradients", "vectors", "time"]:
        assert (out / f"{name}.svg").stat().st_size > 1000
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def quantities(folder, *words):
    done = run(folder, "theory", "--json", *words)
    return json.loads(done.stdout)["quantities"]


@case
def theory_computes_its_closed_forms(folder):
    low, high, rho, gamma, epochs = 0.5, 5.0, 0.4, 0.2, 3
    found = quantities(folder, "--lmin", str(low), "--lmax", str(high), "--rho", str(rho), "--gamma",
                       str(gamma), "--epochs", str(epochs))
    zeta = max(abs((1 - rho * c) / (1 + rho * c)) for c in (low, high))
    chi = max(abs(1 - gamma * (c + 1 / rho)) for c in (low, high))
    power = chi ** epochs
    expected = {
        ("zeta", "corrected"): zeta,
        ("chi", "corrected"): chi,
        ("gamma_limit", "corrected"): 2 / (high + 1 / rho),
        ("gamma_best", "corrected"): 2 / (low + high + 2 / rho),
        ("s_12", "printed"): (1 + power) / (low + 1 / rho),
        ("s_12", "corrected"): (1 + power) / (1 + rho * low),
        ("s_22", "corrected"): zeta + 2 * power / (1 + rho * low),
    }
    for (name, column), value in expected.items():
        assert abs(found[name][column] - value) < 1e-9 * abs(value), (name, column, found[name], value)


@case
def theory_says_what_is_not_proved(folder):
    done = run(folder, "theory", "--lmin", "0.01", "--lmax", "10", "--epochs", "1")
    assert "not proved" in done.stdout
    assert "  NO   S corrected has spectral radius below 1" in done.stdout
    assert "take at least 66 epochs" in " ".join(done.stdout.split())
    done = run(folder, "theory", *PROBLEM, "--epochs", "40")
    assert "Convergence is proved" in done.stdout
    assert (folder / "theory.png").read_bytes().startswith(b"\x89PNG")


@case
def tuning_proposes_what_converges(folder):
    for by in ("theory", "experiment", "both"):
        document = json.loads(run(folder, "tune", *PROBLEM, "--by", by, "--json").stdout)
        choice = document["choice"]
        words = ["train", *TINY, "--rho", repr(choice["rho"]), "--gamma",
                 choice["gamma"] if choice["gamma"] == "auto" else repr(choice["gamma"]),
                 "--epochs", str(choice["epochs"]), "--pictures", "no", "--json"]
        assert '"converged"' in run(folder, *words).stdout, (by, choice)
    done = run(folder, "tune", *PROBLEM, "--public", "--by", "experiment", status=2)
    assert done.stderr.startswith("fedplt: ") and done.stderr.count("\n") == 1, done.stderr


@case
def json_is_one_document(folder):
    done = run(folder, "compare", *TINY, "--runs", "2", "--participation", "fixed", "--active", "4",
               "--json", "--pictures", "no", "--tune", "--points", "3")
    document = json.loads(done.stdout)
    methods = {method["algorithm"]: method for method in document["methods"]}
    assert "every agent" in methods["fedlin"]["refusal"]
    assert methods["fed-plt"]["failures"] == 0 and methods["fed-plt"]["search_points"] == 3
    assert methods["fed-plt"]["parameters"]["rho"] > 0
    low, median, high = methods["fed-plt"]["rounds"]
    assert low <= median <= high


@case
def misuse_leaves_nothing(folder):
    for words, says in [(["compare", "--algorithms", "fedlim"], "did you mean 'fedlin'?"),
                        (["compare", "--tolerance", "0"], "above 0"),
                        (["theory", "--algorithm", "fedavg"], "algorithm is fedavg, but what is proved here is about fed-plt"),
                        (["compare", "--data", "absent.csv"], "absent.csv"),
                        (["compare", "--start", "model"], "zero, random or prior"),
                        (["compare", "--algorithms", "led", "--solver", "newton"], "led"),
                        (["compare", "--out", "no/such/folder"], "no/such/folder"),
                        (["paper", "X"], "II, III, IV")]:
        done = run(folder, *words, status=2)
        assert says in done.stderr and not done.stdout, done.stderr
        assert not list(folder.iterdir()), list(folder.iterdir())


@case
def a_table_of_the_paper(folder):
    few = ["--seeds", "1", "--runs", "2", "--points", "2"]
    done = run(folder, "paper", "viii", *few, "--write", "results.md")
    assert "rho = 0.1" in done.stdout and "184.5k" in done.stdout
    text = (folder / "results.md").read_text()
    assert "fedplt paper viii --seed 0 --seeds 1 --runs 2 --points 2 --write results.md" in text
    assert "## Table VIII." in text and "| rho = 10 |" in text
    document = json.loads(run(folder, "paper", "VIII", *few, "--json").stdout)
    cells = document["tables"][0]["cells"]
    assert [cell["paper"] for cell in cells[:3]] == [184500.0, 58500.0, 243000.0]
    assert cells[1]["ours"] == 1500 * cells[1]["rounds"]


@case
def an_interrupt_ends_it(folder):
    process = subprocess.Popen([PROGRAM, "compare", "--runs", "100000", "--rounds", "50"],
                               cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in err, (process.returncode, err)
    assert not list(folder.iterdir())


print(f"1..{len(CASES)}")
failed = 0
for number, function in enumerate(CASES, 1):
    with tempfile.TemporaryDirectory() as name:
        try:
            function(pathlib.Path(name))
            print(f"ok {number} - {function.__name__}")
        except Exception as problem:
            failed += 1
            print(f"not ok {number} - {function.__name__}")
            print("# " + f"{type(problem).__name__}: {problem}".replace("\n", "\n# "))
sys.exit(1 if failed else 0)
