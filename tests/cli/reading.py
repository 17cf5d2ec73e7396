#!/usr/bin/python3
"""Data as people have them: packed, piped, as arrays, with columns to leave out, ids, weights and
missing values; beside NumPy, scikit-learn and statsmodels. Speaks TAP.

usage: tests/cli/reading.py PROGRAM
"""
import csv
import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np

from cases import Skip, case, run_cases

try:
    import sklearn.impute as impute
    import sklearn.linear_model as linear_model
except ImportError:
    impute = linear_model = None

try:
    import statsmodels.api as statsmodels
except ImportError:
    statsmodels = None

PROGRAM = os.path.abspath(sys.argv[1])


def need(module):
    if module is None:
        raise Skip("scikit-learn or statsmodels is not installed")


def run(folder, *words, status=0, given=None):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=given is None,
                          capture_output=True, timeout=120,
                          **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def train(folder, data, *words, given=None):
    """The model, without a word of its training."""
    run(folder, "train", "--data", data, "--out", "out", "--pictures", "no", "--quiet", *words,
        given=given)
    model = json.loads((folder / "out/model.json").read_text())
    model.pop("training")
    return model


def refused(folder, data, *words, given=None):
    """Bad data and bad settings: status 2 and one sentence."""
    done = run(folder, "train", "--data", data, "--out", "never", *words, status=2, given=given)
    assert not (folder / "never").exists()
    return done.stderr if given is None else done.stderr.decode()


def table(seed=1, rows=120, columns=3):
    """Numbers, and labels that follow them."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, columns)) * [1, 20, 0.1][:columns] + [0, 5, 0][:columns]
    y = (x @ [1, 0.05, 4][:columns] + draw.logistic(size=rows) > 0).astype(int)
    return x, y


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_table(path, x, y, **more):
    """Columns a, b, c, label and those given by name."""
    write(path, [*"abc"[:x.shape[1]], "label", *more],
          [[*("" if math.isnan(v) else repr(float(v)) for v in row), label, *extra]
           for row, label, *extra in zip(x, y, *more.values())])


# ---- where bytes come from ----

@case
def packed_files_read_as_the_plain_ones(folder):
    x, y = table()
    write_table(folder / "d.csv", x, y)
    plain = (folder / "d.csv").read_bytes()
    expected = train(folder, "d.csv")
    (folder / "d.csv.gz").write_bytes(gzip.compress(plain))
    assert train(folder, "d.csv.gz") == expected
    # by content, whatever the name; in members, as `cat a.gz b.gz` makes them
    half = len(plain) // 2
    (folder / "odd").write_bytes(gzip.compress(plain[:half]) + gzip.compress(plain[half:]))
    assert train(folder, "odd") == expected
    lines = json.loads(run(folder, "evaluate", "out/model.json", "d.csv.gz", "--json").stdout)
    assert lines["all"]["rows"] == 120
    for wrong, why in ((gzip.compress(plain)[:-9], "cut short"),
                       (gzip.compress(plain) + b"more", "other bytes follow"),
                       (gzip.compress(plain)[:40] + b"\0" * 40, "damaged")):
        (folder / "bad.csv.gz").write_bytes(wrong)
        assert why in refused(folder, "bad.csv.gz"), why


def poured(folder, *names):
    """Named pipes that are filled once, from files, as by another program."""
    pipes = []
    for number, name in enumerate(names):
        pipes.append(f"pipe{number}.csv")
        os.mkfifo(folder / pipes[-1])
        subprocess.Popen(f"cat {name} > {pipes[-1]}", shell=True, cwd=folder)
    return ",".join(pipes)


@case
def a_pipe_is_a_file_that_is_read_once(folder):
    x, y = table()
    write_table(folder / "d.csv", x, ["yes" if v else "no" for v in y])
    write_table(folder / "e.csv", x + 1, ["yes" if v else "no" for v in y])
    os.mkdir(folder / "one"), os.mkdir(folder / "two")
    for place, names in (("one", ["../d.csv"]), ("two", ["../d.csv", "../e.csv"])):
        pipes = poured(folder / place, *names)
        found = train(folder / place, pipes)
        assert found["weights"] == train(folder / place, ",".join(names))["weights"], place
    os.mkdir(folder / "schema")
    os.mkfifo(folder / "schema/p")
    said = run(folder / "schema", "data", "schema", "p", status=2).stderr
    assert "p can be read only once" in said, said


@case
def standard_input_is_a_file(folder):
    x, y = table()
    write_table(folder / "d.csv", x, ["yes" if v else "no" for v in y], word=["u", "v"] * 60)
    plain = (folder / "d.csv").read_bytes()
    words = ["--categories", "auto"]  # which looks at the file twice
    expected = train(folder, "d.csv", *words)
    assert expected["classes"] == ["no", "yes"]
    assert train(folder, "-", *words, given=plain) == expected
    assert train(folder, "-", *words, given=gzip.compress(plain)) == expected
    piped = run(folder, "predict", "out/model.json", "-", given=plain).stdout
    assert piped.decode() == run(folder, "predict", "out/model.json", "d.csv").stdout
    for command in (["predict", "out/model.json", "d.csv"], ["data", "schema", "d.csv"]):
        assert run(folder, *command, "--out", "-").stdout == run(folder, *command).stdout != "", command
    assert not (folder / "-").exists()
    assert "standard input" in refused(folder, "-", given=b"a,label\n1,0\nx,1\n")
    assert "given twice" in refused(folder, "-,-", given=plain)


@case
def arrays_of_any_number(folder):
    draw = np.random.default_rng(2)
    whole = np.hstack([draw.integers(0, 100, (60, 3)), draw.integers(0, 2, (60, 1))])
    np.save(folder / "d.npy", whole.astype(float))
    expected = train(folder, "d.npy")
    for kind in ("i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", ">i4", ">f8", ">u2"):
        order = "F" if kind[-1] in "24" else "C"
        np.save(folder / "d.npy", np.array(whole, dtype=kind, order=order))
        assert train(folder, "d.npy") == expected, (kind, order)
    signed = np.hstack([draw.integers(-100, 100, (60, 2)), draw.integers(0, 2, (60, 1))])
    for kind in ("i1", "<i2", "<i4", "<i8"):
        np.save(folder / "a.npy", signed.astype(float))
        np.save(folder / "b.npy", np.asfortranarray(signed.astype(kind)))
        assert train(folder, "a.npy") == train(folder, "b.npy"), kind
    truths = whole > 50
    truths[:, 3] = whole[:, 3]
    np.save(folder / "a.npy", truths.astype(float))
    np.save(folder / "b.npy", truths)
    assert train(folder, "a.npy") == train(folder, "b.npy")
    large = np.array([[2 ** 63 + 12345, 0], [2 ** 53 + 1, 1], [7, 0]], dtype="<u8")
    np.save(folder / "large.npy", large)
    run(folder, "data", "convert", "large.npy", "large.csv")
    found = [float(row["x1"]) for row in csv.DictReader(open(folder / "large.csv"))]
    assert found == list(large[:, 0].astype(float))
    for kind in ("<f2", "<c16", "<U3"):
        np.save(folder / "bad.npy", np.zeros((3, 2), dtype=kind))
        assert "of type" in refused(folder, "bad.npy"), kind


@case
def words_are_labels(folder):
    x, y = table()
    write_table(folder / "n.csv", x, y)
    write_table(folder / "w.csv", x, np.where(y, "sick", "healthy"))
    numbers, words = train(folder, "n.csv"), train(folder, "w.csv")
    assert words["classes"] == ["healthy", "sick"] and words["weights"] == numbers["weights"]
    write_table(folder / "three.csv", x, [["low", "mid", "top"][i % 3] for i in range(120)])
    assert train(folder, "three.csv")["classes"] == ["low", "mid", "top"]
    # a slip among numbers is not a class
    write_table(folder / "slip.csv", x, [*y[:-1], "l"])
    assert "slip.csv:121" in refused(folder, "slip.csv")


# ---- which columns, which rows ----

@case
def columns_are_chosen_by_name(folder):
    x, y = table()
    write_table(folder / "all.csv", x, y, note=["free text"] * 120, d=range(120))
    write(folder / "some.csv", ["a", "c", "label"], [[*map(repr, row[[0, 2]].tolist()), label]
                                                    for row, label in zip(x, y)])
    expected = train(folder, "some.csv")
    assert train(folder, "all.csv", "--ignore", "note,d,b") == expected
    assert train(folder, "all.csv", "--columns", "a,c") == expected
    assert train(folder, "all.csv", "--columns", "c,a", "--categories", "auto") == expected
    assert "no feature column 'e'" in refused(folder, "all.csv", "--columns", "a,e")
    assert "no ignored column 'e'" in refused(folder, "all.csv", "--ignore", "e")
    assert "both label and ignored" in refused(folder, "all.csv", "--ignore", "label")
    assert "both ignored and a feature" in refused(folder, "all.csv", "--ignore", "a", "--columns",
                                                   "a")
    assert "both label and a feature" in refused(folder, "all.csv", "--columns", "label")
    np.save(folder / "d.npy", np.column_stack([x, y]))
    assert "is for CSV files" in refused(folder, "d.npy", "--ignore", "1")


@case
def ids_reach_the_predictions(folder):
    x, y = table()
    names = [f"patient {i % 50}, \"x\"" for i in range(120)]
    write_table(folder / "d.csv", x, y, patient=names, site=["u", "v"] * 60)
    write_table(folder / "bare.csv", x, y)
    model = train(folder, "d.csv", "--id", "patient")
    plain = train(folder, "d.csv", "--ignore", "patient")
    assert model["reading"].pop("id") == "patient" and model == plain
    run(folder, "train", "--data", "d.csv", "--id", "patient", "--out", "out", "--quiet",
        "--holdout", "0.25", "--pictures", "no")
    text = run(folder, "predict", "out/model.json", "d.csv").stdout
    found = list(csv.DictReader(text.splitlines()))
    assert [row["patient"] for row in found] == names and list(found[0])[:2] == ["patient", "label"]
    for words in (["bare.csv"], ["d.csv", "--id", "none"]):
        text = run(folder, "predict", "out/model.json", *words).stdout
        assert text.startswith("label,")
        assert [row["label"] for row in csv.DictReader(text.splitlines())] == [
            row["label"] for row in found]
    assert "no id column" in run(folder, "predict", "out/model.json", "bare.csv", "--id", "patient",
                                 status=2).stderr
    # the rows that were held out, by their places and ids
    held = list(csv.DictReader(open(folder / "out/held_out.csv")))
    measured = json.loads((folder / "out/held_out.json").read_text())
    assert len(held) == measured["all"]["rows"] == 30
    for row in held:
        place = int(row["row"]) - 1
        assert row["id"] == names[place] and row["site"] == "uv"[place % 2]
    # and a model of the others alone is the same model
    kept = sorted(set(range(120)) - {int(row["row"]) - 1 for row in held},
                  key=lambda place: (place % 2, place))
    split = json.loads((folder / "out/model.json").read_text())
    write_table(folder / "kept.csv", x[kept], y[kept], site=["uv"[place % 2] for place in kept])
    assert train(folder, "kept.csv")["weights"] == split["weights"]


@case
def places_count_rows_that_were_left_out(folder):
    x, y = table()
    x[::7, 1] = math.nan
    write_table(folder / "d.csv", x, y)
    run(folder, "train", "--data", "d.csv", "--missing", "drop", "--holdout", "0.3", "--out", "out",
        "--quiet", "--pictures", "no")
    places = [int(row["row"]) for row in csv.DictReader(open(folder / "out/held_out.csv"))]
    assert places and all((place - 1) % 7 for place in places) and max(places) > 103


@case
def weights_count_rows_as_often(folder):
    need(statsmodels)
    x, y = table()
    times = np.random.default_rng(3).integers(1, 5, 120)
    write_table(folder / "w.csv", x, y, times=times, site=["u", "v", "v"] * 40)
    plain = ["--eps", "0"]
    model = train(folder, "w.csv", "--row-weight", "times", *plain)
    assert model["reading"]["row_weight"] == "times"
    found = json.loads(run(folder, "summary", "out/model.json", "--json").stdout)["coefficients"]
    again = json.loads(run(folder, "summary", "out/model.json", "w.csv", "--refit",
                           "--json").stdout)["coefficients"]
    fit = statsmodels.GLM(y, statsmodels.add_constant(x), family=statsmodels.families.Binomial(),
                          freq_weights=times).fit(tol=1e-14, maxiter=100)
    for lines in (found, again):
        for line, value, error in zip(lines, np.roll(fit.params, -1), np.roll(fit.bse, -1)):
            assert abs(line["coefficient"] - value) < 1e-6 * max(1, abs(value)), (line, value)
            assert abs(line["std_error"] - error) < 1e-6 * error, (line, error)
    write_table(folder / "long.csv", np.repeat(x, times, axis=0), np.repeat(y, times))
    longer = train(folder, "long.csv", *plain, "--standardise", "no")
    shorter = train(folder, "w.csv", "--row-weight", "times", *plain, "--standardise", "no")
    assert np.allclose(longer["weights"], shorter["weights"], rtol=1e-7)
    for wrong in ("-1", "x"):
        write_table(folder / "bad.csv", x, y, times=[*times[:-1], wrong])
        assert f"bad.csv:121: the weight of the row is '{wrong}'" in refused(
            folder, "bad.csv", "--row-weight", "times")


@case
def balanced_classes_are_those_of_scikit_learn(folder):
    need(linear_model)
    for classes in (2, 3):
        draw = np.random.default_rng(classes)
        y = np.minimum(draw.integers(0, 8, 200), classes - 1)
        x = draw.normal(size=(200, 3)) + 0.7 * y[:, None]
        write_table(folder / "d.csv", x, y, site=np.where(y + draw.integers(0, 2, 200) > 1, "u", "v"))
        eps = 0.05
        model = train(folder, "d.csv", "--class-weight", "balanced", "--eps", str(eps),
                      "--standardise", "no", "--tolerance", "1e-26")
        # the cost is (1/rows) sum + eps |w|^2/2, scikit-learn's is C sum + |w|^2/2
        fit = linear_model.LogisticRegression(C=1 / (200 * eps), class_weight="balanced", tol=1e-9,
                                              max_iter=200).fit(x, y)
        found, expected = np.array(model["weights"]), np.array([*fit.coef_.ravel(), *fit.intercept_])
        if classes > 2:  # intercepts are told apart only by their differences
            for weights in (found, expected):
                weights[9:] -= weights[9:].mean()
        assert np.allclose(found, expected, atol=2e-5), (found, expected)
    assert "task is regression" in refused(folder, "d.csv", "--task", "regression",
                                           "--class-weight", "balanced")


# ---- missing values ----

def holes(seed=4, rows=90):
    x, y = table(seed, rows)
    x[:, 2] = np.round(x[:, 2] * 20)  # few values, some of them equally often
    x[np.random.default_rng(seed).random(x.shape) < 0.2] = math.nan
    x[:3] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    return x, y


def probabilities(text):
    return np.array([float(row["probability:1"]) for row in csv.DictReader(text.splitlines())])


@case
def filled_values_are_those_of_scikit_learn(folder):
    need(impute)
    x, y = holes()
    places = np.where(np.arange(90) % 3, "u", "v")
    write_table(folder / "d.csv", x, y, site=places)
    np.save(folder / "d.npy", np.column_stack([x, y]))
    for name in ("mean", "median", "most-frequent", "constant"):
        words = ["--missing", name] + (["--missing-value", "-2.5"] if name == "constant" else [])
        own = impute.SimpleImputer(strategy=name.replace("-", "_"), fill_value=-2.5).fit(x)
        model = train(folder, "d.csv", *words)
        fill = model["transform"]["fill"]
        assert np.allclose(fill, own.statistics_, rtol=4e-16, atol=0), (name, fill, own.statistics_)
        write_table(folder / "filled.csv", own.transform(x), y, site=places)
        full = probabilities(run(folder, "predict", "out/model.json", "filled.csv").stdout)
        gaps = probabilities(run(folder, "predict", "out/model.json", "d.csv").stdout)
        assert np.allclose(full, gaps, rtol=1e-12)
        assert np.allclose(model["weights"], train(folder, "filled.csv")["weights"], rtol=1e-9)
        assert train(folder, "d.npy", *words)["transform"]["fill"] == fill
    # only training rows say what is filled in
    run(folder, "train", "--data", "d.csv", "--missing", "mean", "--holdout", "0.3", "--out", "h",
        "--quiet", "--pictures", "no")
    held = [int(row["row"]) - 1 for row in csv.DictReader(open(folder / "h/held_out.csv"))]
    kept = np.delete(x, held, axis=0)
    fill = json.loads((folder / "h/model.json").read_text())["transform"]["fill"]
    assert np.allclose(fill, np.nanmean(kept, axis=0), rtol=1e-15)
    # any order of rows, any division of them, the same bits
    order = np.random.default_rng(1).permutation(90)
    write_table(folder / "p.csv", x[order], y[order])
    for name in ("mean", "median", "most-frequent"):
        assert train(folder, "p.csv", "--missing", name)["transform"]["fill"] == \
            train(folder, "d.csv", "--missing", name)["transform"]["fill"]


@case
def levels_are_filled_with_the_most_frequent(folder):
    x, y = table(rows=90)
    words = [["red", "blue", "blue", "", "green", "NA"][i % 6] for i in range(90)]
    filled = [word if word not in ("", "NA") else "blue" for word in words]
    write_table(folder / "d.csv", x, y, colour=words)
    write_table(folder / "f.csv", x, y, colour=filled)
    for more in ([], ["--drop-first-level"]):
        a = train(folder, "d.csv", "--missing", "median", "--categories", "colour", *more)
        gaps = probabilities(run(folder, "predict", "out/model.json", "d.csv").stdout)
        b = train(folder, "f.csv", "--categories", "colour", *more)
        full = probabilities(run(folder, "predict", "out/model.json", "f.csv").stdout)
        assert a["transform"]["fill"][3:] == ([0, 0] if more else [1, 0, 0])
        assert np.allclose(a["weights"], b["weights"], rtol=1e-9) and np.allclose(gaps, full)
    constant = train(folder, "d.csv", "--missing", "constant", "--missing-value", "7",
                     "--categories", "colour")
    assert constant["transform"]["fill"] == [7, 7, 7, 0, 0, 0]


@case
def what_cannot_be_filled_is_refused(folder):
    x, y = holes()
    write_table(folder / "d.csv", x, [*y[:-1], ""])
    assert "d.csv:91" in refused(folder, "d.csv", "--missing", "mean")
    x[:, 1] = math.nan
    write_table(folder / "d.csv", x, y)
    assert "column 'b' has no value at all" in refused(folder, "d.csv", "--missing", "median")
    assert train(folder, "d.csv", "--missing", "constant")["transform"]["fill"] == [0, 0, 0]
    assert "missing" in refused(folder, "d.csv")
    for words in (["--missing", "mean"], ["--class-weight", "balanced"]):
        said = refused(folder, "d.csv", *words, "--privacy.epsilon", "2")
        assert f"{words[0][2:]} cannot be used with privacy" in said, said
    assert "missing has no effect beside schema" in refused(folder, "d.csv", "--missing", "mean", "--schema", "s.yaml")


@case
def conversions_fill_too(folder):
    x, y = holes()
    write_table(folder / "d.csv", x, y)
    run(folder, "data", "convert", "d.csv", "f.csv", "--missing", "mean")
    found = [[float(row[name]) for name in "abc"] for row in csv.DictReader(open(folder / "f.csv"))]
    expected = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    assert np.allclose(found, expected, rtol=1e-15)
    assert "nan" not in run(folder, "data", "inspect", "d.csv", "--missing", "median").stdout


# ---- the program's own format ----

def weights(model):
    return model["weights"]


@case
def a_mapped_file_trains_to_the_same_bits(folder):
    run(folder, "data", "generate", "d.csv", "--agents", 7, "--rows", 30, "--unequal", "0.5")
    run(folder, "data", "convert", "d.csv", "d.fplt")
    os.chmod(folder / "d.fplt", 0o444)
    assert train(folder, "d.csv") == train(folder, "d.fplt")
    assert train(folder, "d.csv", "--holdout", "0.2", "--class-weight", "balanced") == \
        train(folder, "d.fplt", "--holdout", "0.2", "--class-weight", "balanced")
    (folder / "unnamed").write_bytes((folder / "d.fplt").read_bytes())
    assert weights(train(folder, "d.csv")) == weights(train(folder, "unnamed"))
    said = run(folder, "data", "inspect", "d.fplt").stdout
    assert said.startswith("fplt, mapped\n"), said
    assert run(folder, "data", "inspect", "d.csv").stdout.startswith(said.split("\n", 1)[1])  # then its columns
    for words in (["--separator", "comma"], ["--header", "no"], ["--id", "a"]):
        for command in (["train", "--data", "d.fplt"], ["data", "inspect", "d.fplt"], ["predict", "out/model.json", "d.fplt"]):
            said = run(folder, *command, *words, status=2).stderr
            assert f"{words[0][2:]} says how a file is read" in said, (command, words, said)
    run(folder, "data", "convert", "d.fplt", "back.csv")
    assert (folder / "back.csv").read_bytes() == (folder / "d.csv").read_bytes()
    # a pipe
    piped = (folder / "d.fplt").read_bytes()
    assert weights(train(folder, "-", given=piped)) == weights(train(folder, "d.csv"))


@case
def a_mapped_file_is_evaluated_and_predicted(folder):
    patients = "site,label,age,arm,id\n" + "".join(
        f"{'nord' if i % 3 else 'sud'},{'yes' if i * 7 % 5 < 2 + i % 2 else 'no'},{i % 11},"
        f"{'abc'[i % 3]},p{i}\n" for i in range(60))
    (folder / "d.csv").write_text(patients)
    words = ["--categories", "arm", "--id", "id"]
    run(folder, "data", "convert", "d.csv", "d.fplt", *words)
    assert train(folder, "d.csv", *words)["weights"] == train(folder, "d.fplt")["weights"]
    found = [run(folder, "evaluate", "out/model.json", data).stdout.replace(data, "d")
             for data in ("d.csv", "d.fplt")]
    assert found[0] == found[1], found
    rows = [sorted(line.split(",")[-1] for line in
                   run(folder, "predict", "out/model.json", data).stdout.splitlines()[1:])
            for data in ("d.csv", "d.fplt")]
    assert len(rows[0]) == 60 and rows[0] == rows[1]


@case
def mapped_files_that_are_not_taken(folder):
    run(folder, "data", "generate", "d.csv", "--agents", 3, "--rows", 30)
    run(folder, "data", "convert", "d.csv", "d.fplt")
    bytes_ = (folder / "d.fplt").read_bytes()
    (folder / "p.fplt").write_bytes(gzip.compress(bytes_))
    assert "packed by gzip" in refused(folder, "p.fplt")
    (folder / "c.fplt").write_bytes(bytes_[:-8])
    assert "cut short" in refused(folder, "c.fplt")
    (folder / "h.fplt").write_bytes(bytes_[:40] + b"\1" + bytes_[41:])
    assert "header is damaged" in refused(folder, "h.fplt")
    assert "several files" in refused(folder, "d.fplt", "--data", "d.csv")
    assert "settled in an fplt file" in refused(folder, "d.fplt", "--label", "x1")
    assert "not an fplt file" in refused(folder, "d.csv", "--format", "fplt")
    assert "for CSV and LIBSVM" in run(folder, "data", "schema", "d.fplt", status=2).stderr
    # a number that is not finite is found when rows are packed, whatever is done to them before
    first = np.float64((folder / "d.csv").read_text().split("\n")[1].split(",")[2]).tobytes()
    at = bytes_.index(first)
    for bad in (math.nan, math.inf):
        (folder / "n.fplt").write_bytes(bytes_[:at] + np.float64(bad).tobytes() + bytes_[at + 8:])
        for words in ([], ["--standardise", "no"], ["--paper"]):
            said = refused(folder, "n.fplt", *words)
            assert "finite" in said or "nan" in said, said
        assert "finite" in run(folder, "data", "inspect", "n.fplt", status=2).stderr


@case
def a_row_of_weight_zero_does_not_count(folder):
    """Trained, refitted and evaluated as if it were not there; predicted all the same."""
    rng = np.random.default_rng(4)
    rows = [f"s{i % 2},{rng.normal():.3f},{rng.normal():.3f},{rng.integers(2)},{(i % 3) / 2},{1 + i % 7}" for i in range(90)]
    some = [row for row in rows if row.split(",")[4] != "0.0"]
    for name, lines in (("all", rows), ("some", some)):
        (folder / f"{name}.csv").write_text("site,a,b,y,w,t\n" + "\n".join(lines) + "\n")
    for number, words in enumerate((["--label", "y", "--ignore", "t"], ["--label", "t", "--ignore", "y", "--task", "regression"])):
        weights, numbers = [], []
        for name in ("all", "some"):
            model = f"{name}{number}/model.json"
            run(folder, "train", "--data", f"{name}.csv", "--row-weight", "w", *words, "--out", f"{name}{number}", "--quiet")
            weights.append(json.loads((folder / model).read_text())["weights"])
            refit = json.loads(run(folder, "summary", model, f"{name}.csv", "--refit", "--json").stdout)
            loss = json.loads(run(folder, "evaluate", model, f"{name}.csv", "--json").stdout)["all"]["loss"]
            numbers.append([loss, *(value for table in (refit["fit"], *refit["coefficients"]) for value in table.values()
                                    if isinstance(value, float))])
        assert weights[0] == weights[1]
        np.testing.assert_allclose(*numbers, rtol=1e-11)
    run(folder, "predict", "all0/model.json", "all.csv", "--out", "p.csv")
    assert (folder / "p.csv").read_text().count("\n") == 91
    # declared by a schema the weights are the same, zeros too
    (folder / "schema.yaml").write_text("columns:\n" + "".join(
        f"  {name}: {{type: number, bounds: -9..9, missing: refused}}\n" for name in "ab")
        + "  w: {type: weight, bounds: 0..1, missing: refused}\n  t: {type: ignore}\n  site: {type: site}\n"
        "  y: {type: label, classes: [0, 1], missing: refused, other: refused}\n")
    words = ("train", "--data", "all.csv", "--standardise", "no", "--quiet")
    run(folder, *words, "--row-weight", "w", "--label", "y", "--ignore", "t", "--out", "plain")
    run(folder, *words, "--schema", "schema.yaml", "--out", "declared")
    plain, declared = (json.loads((folder / name / "model.json").read_text())["weights"] for name in ("plain", "declared"))
    assert plain == declared, (plain, declared)
    (folder / "none.csv").write_text((folder / "all.csv").read_text().replace("0.5,", "0,").replace("1.0,", "0,"))
    assert "no row of a weight above 0" in refused(folder, "none.csv", "--label", "y", "--row-weight", "w")
    (folder / "below.csv").write_text((folder / "all.csv").read_text().replace("0.5,", "-1,"))
    assert "at least 0" in refused(folder, "below.csv", "--label", "y", "--row-weight", "w")


@case
def a_file_that_shrinks_while_it_is_mapped_ends_with_a_sentence(folder):
    program = subprocess.Popen([PROGRAM, "data", "inspect", "-"], cwd=folder, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(600):  # until it hears the signal that the system then sends
        caught = [line for line in open(f"/proc/{program.pid}/status") if line.startswith("SigCgt")]
        if int(caught[0].split()[1], 16) >> (signal.SIGBUS - 1) & 1:
            break
        time.sleep(0.01)
    program.send_signal(signal.SIGBUS)
    said = program.communicate(timeout=60)[1]
    assert program.returncode == 1 and "made shorter" in said, said


@case
def folds_fill_with_their_own_rows(folder):
    x, y = holes()
    write_table(folder / "d.csv", x, y, site=np.where(np.arange(90) % 2, "u", "v"))
    for command in (["baseline", "--resamples", "5", "--quiet"],
                    ["validate", "--grid", "0.01,0.1", "--folds", "3", "--quiet"],
                    ["compare", "--algorithms", "fed-plt,fedavg", "--quiet"]):
        assert "nan" not in run(folder, *command, "--data", "d.csv", "--missing", "mean").stdout


if __name__ == "__main__":
    sys.exit(run_cases("reading"))
