#!/usr/bin/python3
"""Files as hospitals export them, made from the heart disease data: each trains to the model of the clean file, or is
refused with a sentence that has the remedy; and levels that a model does not know. Speaks TAP.

usage: tests/cli/awkward.py PROGRAM
Run from the root of the source tree; the data are looked for in ../shared.
"""
import csv
import datetime
import io
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
HEART = pathlib.Path("../shared/data/heart_disease").resolve()
COLUMNS = "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal num".split()
SITES = "cleveland hungarian switzerland va".split()
SEX = {"1": "male", "0": "female"}
PAIN = {"1": "typical angina", "2": "atypical, angina", "3": "non-anginal", "4": "asymptomatic"}
BASE = ["--label", "disease", "--categories", "auto", "--missing", "mean"]
ASIDE = ["--ignore", "patient_id,date"]


def rows():
    """The header and the rows of the clean file; None is missing."""
    if not (HEART / "processed.va.data").exists():
        raise Skip("../shared/data/heart_disease is absent")
    made, begin = [], datetime.date(2020, 1, 1)
    for site in SITES:
        for line in csv.reader((HEART / f"processed.{site}.data").open()):
            row = dict(zip(COLUMNS, (None if value == "?" else value for value in line)))
            row = {name: value if value is None else repr(float(value)) for name, value in row.items()}
            number = len(made)
            row.update(sex=SEX[row["sex"][0]], cp=PAIN[row["cp"][0]], patient_id=f"P{number:05d}", site=site,
                       date=str(begin + datetime.timedelta(number)), disease="yes" if float(row["num"]) else "no")
            made.append(row)
    header = ["patient_id", "site", *COLUMNS[:-1], "disease", "date"]
    return header, [[row[name] for name in header] for row in made]


def text_of(header, table, missing="", separator=",", decimal=".", quoting=csv.QUOTE_MINIMAL, end="\n"):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(header)
    for row in table:
        writer.writerow([missing if value is None else value.replace(".", decimal) if number(value) else value
                         for value in row])
    return out.getvalue()


def number(value):
    try:
        float(value)
        return True
    except ValueError:
        return False


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stdout[:300]} {done.stderr}"
    return done


def train(folder, *words):
    run(folder, "train", "--out", "out", "--pictures", "no", "--quiet", *words)
    return json.loads((folder / "out/model.json").read_text())


def refused(folder, *words):
    done = run(folder, "train", "--out", "never", "--quiet", *words, status=2)
    assert not (folder / "never").exists() and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def clean(folder):
    """The weights of the clean file, and the file."""
    header, table = rows()
    (folder / "clean.csv").write_text(text_of(header, table))
    model = train(folder, "--data", "clean.csv", *BASE, *ASIDE)
    assert model["features"] == 17, model["features"]
    return header, table, model["weights"]


def says(sentence, *words):
    for word in words:
        assert word in sentence, f"{word!r} is not in {sentence!r}"


@case
def other_ways_to_write_the_table_give_the_same_model(folder):
    header, table, weights = clean(folder)
    german = {"age": "Alter (Jahre)", "sex": "Geschlecht", "trestbps": "Größe", "site": "Zentrum", "disease": "Erkrankung"}
    for name, text, *words in (
            ("na.csv", text_of(header, table, missing="NA")),
            ("tabs.tsv", text_of(header, table, separator="\t")),
            ("bars.csv", text_of(header, table, separator="|")),
            ("bars", text_of(header, table, separator="|")),
            ("quoted.csv", text_of(header, table, quoting=csv.QUOTE_ALL)),
            ("dot.csv", text_of(header, table, missing="."), "--missing-codes", "."),
            ("codes.csv", text_of(header, table, missing="-9"), "--missing-codes", "-9"),
            ("several.csv", text_of(header, table, missing="-9.0"), "--missing-codes", "unknown,-9"),
            ("comma.csv", text_of(header, table, separator=";", decimal=","), "--decimal", "comma"),
            ("both.csv", text_of(header, table, missing="-9,0", separator="\t", decimal=",", quoting=csv.QUOTE_ALL),
             "--decimal", "comma", "--missing-codes", "-9")):
        (folder / name).write_text(text)
        assert train(folder, "--data", name, *BASE, *ASIDE, *words)["weights"] == weights, name
    (folder / "g.csv").write_bytes(text_of([german.get(name, name) for name in header], table, separator=";", decimal=",",
                                           end="\r\n").encode("utf-8-sig"))
    assert train(folder, "--data", "g.csv", *BASE, *ASIDE, "--decimal", "comma", "--label", "Erkrankung", "--site",
                 "Zentrum")["weights"] == weights
    # the same from a YAML file, and from an index column that is left out
    (folder / "numbered.csv").write_text(text_of(["", *header], [[str(i), *row] for i, row in enumerate(table)], missing="-9"))
    (folder / "t.yaml").write_text("data: numbered.csv\nlabel: disease\ncategories: auto\nmissing: mean\n"
                                   "missing-codes: [-9, '.', NA]\nignore: [1, patient_id, date]\n")
    assert train(folder, "t.yaml")["weights"] == weights


@case
def what_would_become_nonsense_is_refused_with_the_remedy(folder):
    header, table, _ = clean(folder)
    said = refused(folder, "--data", "clean.csv", *BASE, "--ignore", "date")
    says(said, "clean.csv:2: column 'patient_id' has 920 different words in 920 rows", "--id patient_id", "--ignore patient_id")
    said = refused(folder, "--data", "clean.csv", *BASE, "--ignore", "patient_id")
    says(said, "clean.csv:2: column 'date' has dates such as '2020-01-01'", "--dates days", "--ignore date")
    says(refused(folder, "--data", "clean.csv", "--label", "disease", "--missing", "mean", "--ignore", "patient_id,sex,cp"),
         "clean.csv:2: column 'date': '2020-01-01' is a date", "--dates days")
    for name, missing, separator, decimal, words in (
            ("dot.csv", ".", ",", ".", ("dot.csv:395: column 'trestbps' has 861 numbers and 59 times words such as '.'",
                                        "--missing-codes .", "--ignore trestbps")),
            ("codes.csv", "-9", ",", ".", ("codes.csv: column 'trestbps': -9 stands 59 times below", "chol",
                                           "--missing-codes -9", "--missing-codes none")),
            ("nines.csv", "9999", ",", ".", ("nines.csv: column 'trestbps': 9999 stands 59 times far above", "--missing-codes 9999")),
            ("comma.csv", "", ";", ",", ("comma.csv:2: column 'age' has numbers with a decimal comma such as '63,0'",
                                         "--decimal comma"))):
        (folder / name).write_text(text_of(header, table, missing=missing, separator=separator, decimal=decimal))
        says(refused(folder, "--data", name, *BASE, *ASIDE), *words)
    says(refused(folder, "--data", "comma.csv", "--label", "disease", "--missing", "mean", "--ignore", "patient_id,date,sex,cp"),
         "comma.csv:2: column 'age': '63,0' has a decimal comma: add --decimal comma")
    says(refused(folder, "--data", "clean.csv", *BASE, *ASIDE, "--decimal", "comma"), "column 'age'", "although decimal is comma")
    (folder / "numbered.csv").write_text(text_of(["", *header], [[str(i), *row] for i, row in enumerate(table)]))
    says(refused(folder, "--data", "numbered.csv", *BASE, *ASIDE), "column '' numbers the rows, 0 to 919", "--ignore 1")
    # the remedies hold: real numbers, dates as years, an id that passes through
    train(folder, "--data", "codes.csv", *BASE, *ASIDE, "--missing-codes", "none")
    model = train(folder, "--data", "clean.csv", *BASE, "--id", "patient_id", "--dates", "years")
    at = model["feature_names"].index("date")
    assert abs(model["transform"]["mean"][at] - (2020 + 919 / 2 / 365.2425)) < 2e-3, model["transform"]["mean"][at]
    assert run(folder, "predict", "out/model.json", "clean.csv").stdout.splitlines()[1].startswith("P00000,")


@case
def files_of_other_programs_are_refused_with_the_way_to_convert_them(folder):
    header, table = rows()
    text = text_of(header, table)
    for name, content in (("h.parquet", b"PAR1\x15\x04\x15"), ("h.pdf", b"%PDF-1.4\n%\xe2"),
                          ("h.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20)), ("utf16.csv", text.encode("utf-16")),
                          ("latin1.csv", text.replace("chol", "Größe").encode("latin-1"))):
        (folder / name).write_bytes(content)
    for name, *words in (("h.parquet", "Parquet", "in Python: pandas.read_parquet", "in R: write.csv(arrow::read_parquet"),
                         ("h.pdf", "PDF", "CSV"),
                         ("h.xls", "Excel", "CSV UTF-8"), ("utf16.csv", "UTF-16", "iconv -f UTF-16"),
                         ("latin1.csv", "latin1.csv:1: byte 0xf6", "iconv -f LATIN1 -t UTF-8 latin1.csv > utf8.csv")):
        said = refused(folder, "--data", name, "--label", "disease")
        says(said, f"fedplt: {name}", *words)
        if "iconv" in said:  # the command works
            subprocess.run(shlex.split(said[said.index("iconv"):].split(">")[0]), cwd=folder, check=True,
                           stdout=(folder / "utf8.csv").open("w"))
            train(folder, "--data", "utf8.csv", *BASE, *ASIDE)
    says(refused(folder, "--data", HEART / "processed.va.data"), "va.data:1: the first line has numbers (63, 1, ...)", "--header no",
         "--label 14")


@case
def small_tables_keep_their_categories(folder):
    """Numbers as levels, short words, few rows: none of this is taken for a mistake."""
    grades = ["1", "2", "3", "x"]
    (folder / "d.csv").write_text("label,grade,name,when\n" + "".join(
        f"{i % 2},{grades[i % 4]},n{i},w{i % 3}\n" for i in range(16)))
    model = train(folder, "--data", "d.csv", "--categories", "auto")
    assert model["features"] == 4 + 16 + 3, model["feature_names"]
    (folder / "n.csv").write_text("label,a,b\n" + "".join(f"{i % 2},{-9 if i == 3 else i % 7},{i - 20}\n" for i in range(40)))
    assert train(folder, "--data", "n.csv")["features"] == 2  # a code stands more than once


@case
def dates_are_counted_in_days(folder):
    """Beside Python's calendar: leap days, both forms, times behind them; what cannot be told apart is refused."""
    days = [datetime.date(1899, 12, 31) + datetime.timedelta(1237 * i) for i in range(60)] + [datetime.date(2000, 2, 29)]
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%dT10:30:00Z"):
        (folder / "d.csv").write_text("label,day\n" + "".join(f"{i % 2},{day.strftime(form)}\n" for i, day in enumerate(days)))
        run(folder, "data", "convert", "d.csv", "n.csv", "--dates", "days", "--force")
        found = [float(row["day"]) for row in csv.DictReader((folder / "n.csv").open())]
        assert found == [(day - datetime.date(1970, 1, 1)).days for day in days], form
    (folder / "d.csv").write_text("label,day\n" + "".join(f"{i % 2},{day.strftime('%m/%d/%Y')}\n" for i, day in enumerate(days)))
    says(refused(folder, "--data", "d.csv", "--categories", "auto"), "d.csv:2", "cannot be told apart", "2020-12-31")
    for wrong in ("2021-02-29", "31.04.2020", "2020-13-01"):
        (folder / "d.csv").write_text(f"label,day\n1,2020-01-01\n0,{wrong}\n")
        says(refused(folder, "--data", "d.csv", "--dates", "days"), "d.csv:3", wrong)


@case
def values_with_two_meanings_are_refused(folder):
    (folder / "d.csv").write_text('label;a\n1;1.234\n0;2,5\n1;3,5\n')
    says(refused(folder, "--data", "d.csv", "--decimal", "comma"), "d.csv:2: column 'a': '1.234' has a decimal point", "thousands")
    (folder / "d.csv").write_text('label,a\n1,"1,234"\n0,2\n1,3\n')
    says(refused(folder, "--data", "d.csv"), "d.csv:2: column 'a': '1,234'", "--decimal comma", "thousands")
    (folder / "r.csv").write_text("label;a\n" + "".join(f"{i},5;{i * i % 7},25\n" for i in range(9)))
    model = train(folder, "--data", "r.csv", "--decimal", "comma", "--task", "regression")
    (folder / "p.csv").write_text((folder / "r.csv").read_text().replace(",", "."))
    assert model["weights"] == train(folder, "--data", "p.csv", "--task", "regression")["weights"]


# ---- what was filled in or clipped ----

@case
def filled_values_are_counted_by_column_and_site(folder):
    header, table, _ = clean(folder)
    at = {name: i for i, name in enumerate(header)}
    table = [[None if name == "cp" and i % 50 == 0 else value for name, value in zip(header, row)] for i, row in enumerate(table)]
    (folder / "gaps.csv").write_text(text_of(header, table))
    expected = {}
    for row in table:
        for name in header:
            if row[at[name]] is None:
                expected[name, row[at["site"]]] = expected.get((name, row[at["site"]]), 0) + 1
    said = run(folder, "train", "--data", "gaps.csv", *BASE, *ASIDE, "--out", "out", "--pictures", "no").stdout
    counts = lambda lines: {(line["column"], line["site"]): line["filled"] for line in lines}
    model = json.loads((folder / "out/model.json").read_text())
    assert counts(model["training"]["filled"]) == expected, model["training"]["filled"]
    found = json.loads(run(folder, "evaluate", "out/model.json", "gaps.csv", "--json").stdout)
    assert counts(found["filled"]) == expected
    for text in (said, run(folder, "evaluate", "out/model.json", "gaps.csv").stdout):
        says(text, "missing values that were filled in")
        assert any(line.split()[:4] == ["ca", "va", "198", "200"] for line in text.splitlines()), text
    run(folder, "report", "out")
    says((folder / "out/report.html").read_text(), "Missing values that were filled in", "switzerland")
    model = train(folder, "--data", "gaps.csv", *BASE[:-1], "drop", *ASIDE)
    assert "filled" not in model["training"]


@case
def clipped_values_are_counted_at_the_site(folder):
    (folder / "s.yaml").write_text("columns:\n  label: {type: label, classes: [no, yes], missing: neutral-row, other: neutral-row}\n"
                                   "  chol: {type: number, bounds: 2..12, missing: centre}\n  age: {type: number, bounds: 0..100, missing: centre}\n")
    write = lambda scale: (folder / "d.csv").write_text("label,chol,age\n" + "".join(
        f"{'yes' if i % 3 else 'no'},{'' if i % 20 == 0 else scale * (3 + i % 5)},{101 if i == 7 else 40 + i % 9}\n" for i in range(60)))
    fit = lambda *words: run(folder, "train", "--data", "d.csv", "--schema", "s.yaml", "--out", "out", "--pictures", "no", *words)
    write(38.67)  # mg/dl instead of mmol/l
    assert "clipped" not in fit("--privacy.epsilon", "2").stderr  # nothing that is printed depends on a record
    for done in (fit(), run(folder, "data", "inspect", "d.csv", "--schema", "s.yaml")):
        says(done.stderr, "warning: d.csv: column 'chol': 57 of 57 values (100 %) are outside of the bounds 2 to 12", "116.01 to 270.69",
             "another unit", "column 'age': 1 of 60 values", "column 'chol': 3 missing or undeclared values were replaced")
    write(1)
    assert "warning" not in fit().stderr


@case
def inspection_shows_every_column_at_every_site(folder):
    """Beside the quantiles of Python's statistics module; also where training refuses the file."""
    header, table, _ = clean(folder)
    said = run(folder, "data", "inspect", "clean.csv", "--label", "disease", status=2)
    lines = {tuple(line.split()[:2]): line.split()[2:] for line in said.stdout.splitlines() if len(line.split()) > 4}
    for name in ("age", "chol", "ca"):
        for site in ("all", *SITES):
            own = [row[header.index(name)] for row in table if site in ("all", row[1])]
            values = sorted(float(value) for value in own if value is not None)
            quarters = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [math.nan] * 3
            expected = [statistics.fmean(values), statistics.stdev(values), values[0], *quarters, values[-1]]
            found = lines[name, site]
            assert found[:2] == [str(len(own)), str(len(own) - len(values))], (name, site, found)
            assert all(abs(float(a) - b) <= 1e-3 * abs(b) for a, b in zip(found[2:], expected)), (name, site, found, expected)
    says(said.stdout, "male 726, female 194", "likely mistakes", "--id patient_id", "--dates days", "'ca': 611 of 920 values are missing")
    (folder / "t.yaml").write_text("data: clean.csv\nlabel: disease\ncategories: auto\nmissing: mean\nignore: [patient_id, date]\n"
                                   "algorithm: fedavg\nout: never\n")
    said = run(folder, "data", "inspect", "t.yaml").stdout
    says(said, "920 rows, 17 features, 4 agents", "median")
    assert "--dates" not in said and not (folder / "never").exists()


# ---- levels that a model does not know ----

def levels(folder):
    text = "site,label,sex,arm,age\n" + "".join(
        f"{'ab'[i % 2]},{'yes' if (i * 7 + i // 3) % 5 < 2 else 'no'},{'fm'[i % 2]},{['one', 'two', 'three'][i % 3]},{i % 11}\n" for i in range(60))
    (folder / "d.csv").write_text(text)
    return text


@case
def unknown_levels_are_refused_by_default(folder):
    text = levels(folder)
    (folder / "upper.csv").write_text(text.replace(",f,", ",F,").replace(",m,", ",M,"))
    (folder / "new.csv").write_text(text.replace("two", "four", 1))
    for more in (["--drop-first-level"], []):
        train(folder, "--data", "d.csv", "--categories", "sex,arm", *more)
        for command in ("evaluate", "predict"):
            run(folder, command, "out/model.json", "d.csv")
            done = run(folder, command, "out/model.json", "upper.csv", status=2)
            says(done.stderr, "upper.csv:2: column 'sex': the model does not know the level 'F', it knows f, m; is 'f' meant?",
                 "--unknown-level missing", "--unknown-level reference")
            done = run(folder, command, "out/model.json", "new.csv", status=2)
            says(done.stderr, "new.csv:3: column 'arm'", "'four'", "one", "two", "three")


@case
def unknown_levels_can_be_the_reference_or_missing(folder):
    text = levels(folder)
    (folder / "new.csv").write_text(text.replace("two", "four"))
    predict = lambda data, *words: run(folder, "predict", "out/model.json", data, *words).stdout
    train(folder, "--data", "d.csv", "--categories", "sex,arm", "--drop-first-level", "yes")
    (folder / "reference.csv").write_text(text.replace("two", "one"))
    assert predict("new.csv", "--unknown-level", "reference") == predict("reference.csv")
    done = run(folder, "predict", "out/model.json", "new.csv", "--unknown-level", "missing", status=2)
    says(done.stderr, "new.csv:3: column 'arm'", "--missing drop")
    dropped = predict("new.csv", "--unknown-level", "missing", "--missing", "drop").splitlines()
    assert len(dropped) == 41 and [line.split(",")[0] for line in dropped[1:4]] == ["1", "3", "4"], dropped[:4]
    # filled as in training: with the most frequent level, the first of several
    (folder / "gaps.csv").write_text(text.replace("two", "", 1))
    (folder / "hole.csv").write_text(text.replace("two", ""))
    train(folder, "--data", "gaps.csv", "--categories", "sex,arm", "--drop-first-level", "yes", "--missing", "median")
    assert predict("new.csv", "--unknown-level", "missing") == predict("hole.csv")


@case
def a_model_without_reference_levels_is_read(folder):
    """One unknown level of a column may be the reference that an earlier program did not write down; two are not."""
    text = levels(folder)
    model = train(folder, "--data", "d.csv", "--categories", "sex,arm", "--drop-first-level", "yes")
    assert sorted(model["reading"]["reference_levels"]) == ["arm=one", "sex=f"], model["reading"]
    del model["reading"]["reference_levels"]
    (folder / "old.json").write_text(json.dumps(model))
    assert run(folder, "predict", "old.json", "d.csv").stdout == run(folder, "predict", "out/model.json", "d.csv").stdout
    (folder / "new.csv").write_text(text.replace("two", "four", 1))
    says(run(folder, "predict", "old.json", "new.csv", status=2).stderr, "column 'arm'", "'four'")


sys.exit(run_cases("awkward"))
