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
import pathlib
import subprocess
import sys
import tempfile
import traceback

import numpy as np

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
HEART = pathlib.Path("../shared/data/heart_disease").resolve()
CASES = []


class Skip(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


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
    assert "standard input" in refused(folder, "-", given=b"a,label\n1,0\nx,1\n")
    assert "given twice" in refused(folder, "-,-", given=plain)


@case
def arrays_of_any_number(folder):
    draw = np.random.default_rng(2)
    whole = np.hstack([draw.integers(0, 100, (60, 3)), draw.integers(0, 2, (60, 1))])
    np.save(folder / "d.npy", whole.astype(float))
    expected = train(folder, "d.npy")
    for kind in ("i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", ">i4", ">f8", ">u2"):
        for order in "CF":
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


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="fedplt-reading-") as folder:
            try:
                function(pathlib.Path(folder))
                print(f"ok {number} - {name}", flush=True)
            except Skip as reason:
                print(f"ok {number} - {name} # SKIP {reason}", flush=True)
            except Exception as problem:  # a failed case must not hide the others
                failed += 1
                line = traceback.extract_tb(problem.__traceback__)[1].lineno
                print(f"not ok {number} - {name}\n# line {line}: {type(problem).__name__}: "
                      f"{problem}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
