#!/usr/bin/python3
"""`fedplt weights`: beside Newton's method, quantiles, differences and sandwich errors written out here; site by site as all at once;
files that are awkward to write again; refusals. Speaks TAP.

usage: tests/cli/weights.py PROGRAM
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
FILES = ["north.csv", "south.csv"]


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stderr if status else done.stdout


def make(folder):
    """Age and a sign decide on the treatment and on the outcome."""
    source = random.Random(4)
    for name, count in zip(FILES, (150, 90)):
        with open(folder / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["age", "sign", "treated", "outcome"])
            for _ in range(count):
                age, sign = round(source.gauss(60, 9), 1), int(source.random() < 0.4)
                treated = int(source.random() < 1 / (1 + math.exp(-(age - 62) / 9 - 0.8 * sign)))
                outcome = int(source.random() < 1 / (1 + math.exp(-(age - 70) / 9 + 0.9 * treated - 0.3 * sign)))
                writer.writerow([age, sign, ["no", "yes"][treated], outcome])


def rows_of(folder, names):
    rows = []
    for name in names:
        with open(folder / name, newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def propensity(folder):
    run(folder, "train", "--data", ",".join(FILES), "--label", "treated", "--loss", "logistic", "--eps", 0, "--weights",
        "rows", "--ignore", "outcome", "--intercept", "yes", "--algorithm", "fed-newton", "--tolerance", "1e-22", "--out",
        "p", "--quiet", "--pictures", "no")


def fitted(rows):
    """Probabilities of treatment by Newton's method on age and sign."""
    x = [(1, (float(r["age"]) - 60) / 10, float(r["sign"])) for r in rows]
    t = [r["treated"] == "yes" for r in rows]
    b = [0.0, 0.0, 0.0]
    for _ in range(30):
        p = [1 / (1 + math.exp(-sum(u * v for u, v in zip(b, row)))) for row in x]
        a = [[sum(q * (1 - q) * row[i] * row[j] for q, row in zip(p, x)) for j in range(3)] +
             [sum((y - q) * row[i] for y, q, row in zip(t, p, x))] for i in range(3)]
        for k in range(3):
            for i in range(3):
                if i != k:
                    share = a[i][k] / a[k][k]
                    a[i] = [u - share * v for u, v in zip(a[i], a[k])]
        b = [u + a[k][3] / a[k][k] for k, u in enumerate(b)]
    return t, p


def quantile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


@case
def weights_are_those_of_the_formula(folder):
    make(folder)
    propensity(folder)
    t, p = fitted(rows_of(folder, FILES))
    share = sum(t) / len(t)
    plain = [1 / q if y else 1 / (1 - q) for y, q in zip(t, p)]
    stable = [w * (share if y else 1 - share) for w, y in zip(plain, t)]
    low, high = quantile(stable, 0.05), quantile(stable, 0.95)
    wanted = {("--stabilised", "no"): plain, (): stable, ("--estimand", "att"): [1 if y else q / (1 - q) for y, q in zip(t, p)],
              ("--truncate", "0.05"): [min(max(w, low), high) for w in stable],
              ("--weight-bounds", "0.7..1.6"): [min(max(w, 0.7), 1.6) for w in stable]}
    for number, (words, expected) in enumerate(wanted.items()):
        run(folder, "weights", "p/model.json", *FILES, "--out", f"w{number}", *words)
        own = [float(row["weight"]) for row in rows_of(folder / f"w{number}", FILES)]
        assert all(math.isclose(x, y, rel_tol=1e-9) for x, y in zip(own, expected, strict=True)), words
    told = json.loads(run(folder, "weights", "p/model.json", *FILES, "--truncate", "0.05", "--json"))
    assert math.isclose(told["low"], low, rel_tol=1e-9) and math.isclose(told["high"], high, rel_tol=1e-9)
    assert math.isclose(told["treated_share"], share, rel_tol=1e-15)
    for group, line in enumerate(told["groups"]):
        before = [w for w, y in zip(stable, t) if y == group]
        own = [w for w, y in zip(wanted["--truncate", "0.05"], t) if y == group]
        assert line["group"] == ["no", "yes"][group] and line["rows"] == len(own)
        assert line["truncated"] == sum(x != y for x, y in zip(before, own)) > 0
        for name, value in (("least", min(own)), ("most", max(own)), ("mean", sum(own) / len(own)),
                            ("effective_rows", sum(own) ** 2 / sum(w * w for w in own))):
            assert math.isclose(line[name], value, rel_tol=1e-9), (name, line, value)


@case
def balance_is_that_of_standardised_differences(folder):
    make(folder)
    propensity(folder)
    rows = rows_of(folder, FILES)
    t, p = fitted(rows)
    share = sum(t) / len(t)
    weight = [share / q if y else (1 - share) / (1 - q) for y, q in zip(t, p)]
    told = {line["name"]: line for line in json.loads(run(folder, "weights", "p", *FILES, "--json"))["balance"]}
    for name, less in (("age", 1), ("sign", 0)):
        groups = [[(float(r[name]), w) for r, w, y in zip(rows, weight, t) if y == group] for group in (0, 1)]
        means = [sum(x for x, _ in group) / len(group) for group in groups]
        after = [sum(x * w for x, w in group) / sum(w for _, w in group) for group in groups]
        variances = [sum((x - m) ** 2 for x, _ in group) / (len(group) - less) for group, m in zip(groups, means)]
        unit = math.sqrt(sum(variances) / 2)
        assert math.isclose(told[name]["smd_before"], (means[1] - means[0]) / unit, rel_tol=1e-9), told
        assert abs(told[name]["smd_after"] - (after[1] - after[0]) / unit) < 1e-9, told
        assert abs(told[name]["smd_after"]) < 0.1 < abs(told[name]["smd_before"]), told
    assert "smd_before" in run(folder, "weights", "p", *FILES, "--csv").splitlines()[0]


@case
def sites_alone_have_the_weights_of_all(folder):
    """The model carries the share of the treated, so that no site needs the rows of another; to the bit."""
    make(folder)
    propensity(folder)
    run(folder, "weights", "p", *FILES, "--out", "all", "--weight-bounds", "0.7..1.6")
    for name in FILES:
        run(folder, "weights", "p", name, "--out", "alone", "--weight-bounds", "0.7..1.6")
        assert (folder / "all" / name).read_bytes() == (folder / "alone" / name).read_bytes(), name


@case
def the_outcome_model_has_robust_errors(folder):
    """With one column of two values the weighted model is saturated: odds of weighted shares, and a sandwich of two terms."""
    make(folder)
    propensity(folder)
    run(folder, "weights", "p", *FILES, "--out", "w")
    data = ",".join(f"w/{name}" for name in FILES)
    run(folder, "train", "--data", data, "--label", "outcome", "--row-weight", "weight", "--categories", "treated",
        "--drop-first-level", "yes", "--ignore", "age,sign", "--loss", "logistic", "--eps", 0, "--weights", "rows",
        "--intercept", "yes", "--standardise", "no", "--algorithm", "fed-newton", "--tolerance", "1e-22", "--out", "o",
        "--quiet", "--pictures", "no")
    told = json.loads(run(folder, "summary", "o/model.json", "--robust", "--json"))["coefficients"]
    logit, variance = [], []
    for group in "no", "yes":
        own = [(int(r["outcome"]), float(r["weight"])) for r in rows_of(folder / "w", FILES) if r["treated"] == group]
        total = sum(w for _, w in own)
        share = sum(y * w for y, w in own) / total
        logit.append(math.log(share / (1 - share)))
        variance.append(sum((w * (y - share)) ** 2 for y, w in own) / (total * share * (1 - share)) ** 2)
    effect = next(line for line in told if line["name"] == "treated=yes")
    assert math.isclose(effect["coefficient"], logit[1] - logit[0], rel_tol=1e-8), (effect, logit)
    assert math.isclose(effect["std_error"], math.sqrt(sum(variance)), rel_tol=1e-8), (effect, variance)


@case
def files_are_written_again_as_they_are(folder):
    """Quotes with separators and line ends in them, line ends of Windows, blank lines, a decimal comma, rows left out."""
    make(folder)
    propensity(folder)
    rows = rows_of(folder, FILES)[:60]
    lines = ['"note;, here";age;sign;treated']
    for number, row in enumerate(rows):
        note = '"two\nlines; and ""more"""' if number % 3 == 0 else "plain"
        age = "" if number == 5 else row["age"].replace(".", ",")
        lines.append(f'{note};{age};{row["sign"]};{row["treated"]}')
        lines += [""] if number == 7 else []
    (folder / "odd.csv").write_bytes("\r\n".join(lines).encode())
    run(folder, "weights", "p", "odd.csv", "--out", "w", "--separator", "semicolon", "--decimal", "comma", "--missing", "drop",
        "--column", "ipw")
    with open(folder / "w/odd.csv", newline="") as file:
        again = list(csv.DictReader(file, delimiter=";"))
    kept = [row for number, row in enumerate(rows) if number != 5]
    run(folder, "weights", "p", *FILES, "--out", "all")
    expected = [row["weight"] for number, row in enumerate(rows_of(folder / "all", FILES)[:60]) if number != 5]
    assert [row["ipw"].replace(",", ".") for row in again] == expected
    assert [row["age"].replace(",", ".") for row in again] == [row["age"] for row in kept]
    assert again[0]["note;, here"] == 'two\r\nlines; and "more"' or again[0]["note;, here"] == 'two\nlines; and "more"'


@case
def what_cannot_be_weighed_is_refused(folder):
    make(folder)
    propensity(folder)
    for words, part in ((("--truncate", 0.5), "truncate"), (("--weight-bounds", "3..1"), "LOW..HIGH"),
                        (("--weight-bounds", "1..2", "--truncate", 0.1), "weight-bounds has no effect"),
                        (("--estimand", "att", "--stabilised", "no"), "stabilised has no effect"),
                        (("--column", "w"), "column has no effect without out"),
                        (("--out", "."), "not written over"), (("--out", "w", "--column", "age"), "a column 'age' already"),
                        (("--row-weight", "outcome"), "weights already")):
        told = run(folder, "weights", "p", *FILES, *words, status=2)
        assert part in told, (words, told)
    assert not (folder / "w").exists()
    (folder / "one.csv").write_text("age,sign,treated\n60,1,yes\n50,0,yes\n")
    assert "no row has the class no" in run(folder, "weights", "p", "one.csv", status=2)
    run(folder, "train", "--data", "north.csv", "--label", "age", "--task", "regression", "--ignore", "treated,outcome",
        "--out", "r", "--quiet", "--pictures", "no")
    assert "probability of a treatment" in run(folder, "weights", "r", "north.csv", status=2)


sys.exit(run_cases("weights"))
