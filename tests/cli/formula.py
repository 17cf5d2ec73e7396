#!/usr/bin/python3
"""Formulas from the command line, a YAML file and Python: columns and predictions beside the same columns made by hand; what
cannot be read is refused with its place. Beside R: tests/oracle/comparison.py. Speaks TAP.

usage: tests/cli/formula.py PROGRAM
"""
import csv
import json
import os
import subprocess
import sys

import numpy as np

from cases import case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
TERMS = "age * sex + poly(chol, 2) + C(cp) + log(age):sex + I(chol^2)"


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def people(count, seed):
    rng = np.random.default_rng(seed)
    age, chol = np.round(rng.normal(54, 9, count), 1), np.round(rng.normal(240, 50, count))
    sex, cp = rng.integers(0, 2, count), rng.integers(1, 5, count)
    margin = 0.05 * (age - 54) + 0.8 * sex + 0.3 * (cp - 2) + 0.03 * (age - 54) * sex
    return age, sex, chol, cp, (rng.random(count) < 1 / (1 + np.exp(-margin))).astype(int)


def write(path, data, missing=()):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", "age", "sex", "chol", "cp", "disease"])
        for i, (age, sex, chol, cp, y) in enumerate(zip(*data)):
            out.writerow([f"s{i % 3}", "" if i in missing else age, ["female", "male"][sex], chol, cp, y])


def design(data, of):
    """The columns of TERMS by hand: contrasts to the first level, the polynomial by orthogonalising over the rows `of`."""
    age, sex, chol, cp, _ = data
    powers = np.vander(of[2], 3, increasing=True)
    q, r = np.linalg.qr(powers)
    poly = np.vander(chol, 3, increasing=True) @ np.linalg.inv(r) @ np.diag(np.sign(np.diag(r)))
    columns = {"age": age, "sex=male": sex, "poly(chol, 2)1": poly[:, 1], "poly(chol, 2)2": poly[:, 2],
               **{f"cp={k}": cp == k for k in (2, 3, 4)}, "I(chol^2)": chol**2, "age:sex=male": age * sex,
               "sex=female:log(age)": (1 - sex) * np.log(age), "sex=male:log(age)": sex * np.log(age)}
    return columns


@case
def columns_and_predictions_are_those_made_by_hand(folder):
    data, other = people(300, 1), people(40, 2)
    write(folder / "d.csv", data)
    write(folder / "new.csv", other)
    common = ["--eps", "0.02", "--pictures", "no", "--quiet"]
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ " + TERMS, *common, "--out", "f")
    columns = design(data, data)
    model = json.loads((folder / "f/model.json").read_text())
    assert sorted(model["feature_names"]) == sorted(columns), model["feature_names"]
    with open(folder / "h.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", *(f"x{i}" for i in range(len(columns))), "disease"])
        matrix = np.column_stack([columns[name] for name in model["feature_names"]])
        for i, row in enumerate(matrix):
            out.writerow([f"s{i % 3}", *map(repr, map(float, row)), data[4][i]])
    run(folder, "train", "--data", "h.csv", "--label", "disease", *common, "--out", "h")
    by_hand = json.loads((folder / "h/model.json").read_text())
    np.testing.assert_allclose(model["weights"], by_hand["weights"], rtol=1e-6, atol=1e-9)
    run(folder, "predict", "f/model.json", "new.csv", "--out", "p.csv")
    matrix = np.column_stack([design(other, data)[name] for name in model["feature_names"]])
    z = (matrix - by_hand["transform"]["mean"]) / by_hand["transform"]["scale"]
    expected = 1 / (1 + np.exp(-(z @ model["weights"][:-1] + model["weights"][-1])))
    found = [float(row["probability:1"]) for row in csv.DictReader(open(folder / "p.csv"))]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # read from a file and written again, a model has the same bits
    run(folder, "evaluate", "f/model.json", "d.csv")
    run(folder, "export", "f/model.json", "--to", "csv", "--out", "c.csv")
    assert "poly(chol, 2)2" in (folder / "c.csv").read_text()
    assert "formula has no ONNX" in run(folder, "export", "f/model.json", "--to", "onnx", "--out", "m.onnx", status=2).stderr


@case
def files_held_out_rows_and_missing_values(folder):
    write(folder / "d.csv", people(200, 3), missing=(4, 9))
    (folder / "t.yaml").write_text("data: d.csv\nformula: disease ~ age * sex + poly(chol, 2)\nmissing: mean\n"
                                   "holdout: 0.2\npictures: no\nout: y\nquiet: yes\n")
    run(folder, "train", "t.yaml")
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ sex * age + poly(chol, degree = 2)", "--missing", "mean",
        "--holdout", "0.2", "--pictures", "no", "--out", "f", "--quiet")
    models = [json.loads((folder / name / "model.json").read_text()) for name in "yf"]
    by_name = [dict(zip(model["feature_names"], model["weights"])) for model in models]
    for name, value in by_name[0].items():
        assert abs(value - by_name[1][name.replace("age:sex=male", "sex=male:age")]) < 1e-7, name
    assert models[0]["transform"]["formula"]["columns"] == ["age", "sex=female", "sex=male", "chol"]
    assert len(models[0]["transform"]["fill"]) == 4
    told = run(folder, "train", "--data", "d.csv", "--formula", "disease ~ age + chol", "--missing", "mean",
               "--pictures", "no", "--out", "g").stdout
    assert "age" in told and "filled" in told, told
    for command in (["validate", "--grid", "0.01,0.1", "--folds", "3"], ["baseline", "--resamples", "5"]):
        run(folder, *command, "--data", "d.csv", "--missing", "mean", "--quiet", "--formula", "disease ~ age * sex")


@case
def sites_have_effects(folder):
    """Predictions in the order of the file, a new site only where it is said what its effect is."""
    data = people(240, 5)
    write(folder / "d.csv", data)
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ age + chol", "--site-effects", "fixed", "--out", "m",
        "--standardise", "no", "--algorithm", "fed-newton", "--pictures", "no", "--quiet")
    model = json.loads((folder / "m/model.json").read_text())
    assert model["feature_names"] == ["age", "chol", "site=s1", "site=s2"]
    assert model["transform"]["formula"]["sites"] == ["s0", "s1", "s2"]
    age, _, chol, _, _ = data
    site = np.arange(240) % 3
    w = model["weights"]
    expected = 1 / (1 + np.exp(-(w[0] * age + w[1] * chol + w[2] * (site == 1) + w[3] * (site == 2) + w[4])))

    def predicted(*words):
        run(folder, "predict", "m/model.json", *words, "--out", "p.csv")
        return [float(row["probability:1"]) for row in csv.DictReader(open(folder / "p.csv"))]

    np.testing.assert_allclose(predicted("d.csv"), expected, rtol=1e-12)
    (folder / "new.csv").write_text((folder / "d.csv").read_text().replace("s1,", "s9,"))
    for command in ("predict", "evaluate"):
        said = run(folder, command, "m/model.json", "new.csv", status=2).stderr
        assert "the site 's9' was not in the training" in said and "--unknown-level reference" in said and "--site-intercept NUMBER" in said, said
    reference = 1 / (1 + np.exp(-(w[0] * age + w[1] * chol + w[3] * (site == 2) + w[4])))
    np.testing.assert_allclose(predicted("new.csv", "--unknown-level", "reference"), reference, rtol=1e-12)
    stated = 1 / (1 + np.exp(-(w[0] * age + w[1] * chol + w[3] * (site == 2) + np.where(site == 1, -2.25, w[4]))))
    np.testing.assert_allclose(predicted("new.csv", "--site-intercept", "-2.25"), stated, rtol=1e-12)
    # the same of a scaled model, whose intercept of `summary` is that of rows as they are; of its own sites nothing changes
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ age + chol", "--site-effects", "fixed", "--out", "m",
        "--standardise", "yes", "--algorithm", "fed-newton", "--pictures", "no", "--quiet")
    scaled = json.loads((folder / "m/model.json").read_text())
    mean, scale = (np.array(scaled["transform"][name]) for name in ("mean", "scale"))
    w = np.array(scaled["weights"])
    raw = w[:4] / scale
    base = w[4] - raw @ mean
    for stated in (1.5, base):
        margin = raw[0] * age + raw[1] * chol + raw[3] * (site == 2) + np.where(site == 1, stated, base)
        np.testing.assert_allclose(predicted("new.csv", "--site-intercept", repr(float(stated))), 1 / (1 + np.exp(-margin)),
                                   rtol=1e-10)
    np.testing.assert_allclose(predicted("d.csv", "--site-intercept", "9"), predicted("d.csv"), rtol=0)
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ age + chol", "--out", "plain", "--pictures", "no", "--quiet")
    said = run(folder, "predict", "plain", "d.csv", "--site-intercept", "1", status=2).stderr
    assert "site-intercept is for models" in said, said
    # sites of one class are named; without sites there is no effect; survival times are stratified already
    rows = (folder / "d.csv").read_text().splitlines()
    (folder / "one.csv").write_text("\n".join([rows[0], *(row[:-1] + "1" if row.startswith("s2") else row for row in rows[1:])]) + "\n")
    told = run(folder, "train", "--data", "one.csv", "--formula", "disease ~ age", "--site-effects", "fixed", "--out", "o",
               "--pictures", "no", "--quiet").stderr
    assert "the site 's2' has rows of one class only" in told, told
    said = run(folder, "train", "--data", "d.csv", "--site", "none", "--formula", "disease ~ age", "--site-effects", "fixed",
               status=2).stderr
    assert "--site" in said, said


ANSWERS = "missing: neutral-row, other: neutral-row"
DECLARED = """columns:
  site: {type: site, names: [s0, s1, s2]}
  age: {type: number, bounds: 20..90, missing: 55}
  sex: {type: category, levels: [female, male], %s}
  chol: {type: number, bounds: -100..600, missing: 250}
  cp: {type: number, bounds: 1..4, missing: 1}
  disease: {type: label, classes: [0, 1], %s}
""" % (ANSWERS, ANSWERS)


def private(folder, data, schema, out, *words, status=0):
    (folder / "s.yaml").write_text(schema)
    return run(folder, "train", "--data", data, "--schema", "s.yaml", "--privacy.epsilon", "8", "--privacy.noise", "simulated",
               "--seed", "4", "--pictures", "no", "--out", out, "--quiet", *words, status=status)


@case
def with_privacy_bounds_follow_from_those_declared(folder):
    """The same bits, noise included, as columns made by hand with bounds by hand."""
    data = people(150, 6)
    write(folder / "d.csv", data)
    age, sex, chol, cp, y = data
    private(folder, "d.csv", DECLARED, "f", "--formula", "disease ~ age * sex + I(chol^2) + age:chol + log(cp)")
    made = {"age": (age, 20, 90), "I(chol^2)": (chol * chol, 0, 360000), "log(cp)": (np.log(cp), 0, np.log(4)),
            "age:sex=male": (age * sex, 0, 90), "age:chol": (age * chol, -9000, 54000)}
    schema = "columns:\n  site: {type: site, names: [s0, s1, s2]}\n"
    for i, (_, low, high) in enumerate(made.values()):
        schema += f"  x{i}: {{type: number, bounds: {low!r}..{float(high)!r}, missing: {low!r}}}\n"
    schema += f"  sex: {{type: category, levels: [female, male], base: female, {ANSWERS}}}\n"
    schema += f"  disease: {{type: label, classes: [0, 1], {ANSWERS}}}\n"
    with open(folder / "h.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", *(f"x{i}" for i in range(len(made))), "sex", "disease"])
        for i in range(150):
            out.writerow([f"s{i % 3}", *(repr(float(values[i])) for values, _, _ in made.values()),
                          ["female", "male"][sex[i]], y[i]])
    private(folder, "h.csv", schema, "h")
    models = [json.loads((folder / name / "model.json").read_text()) for name in "fh"]
    names = [*made, "sex=male"]
    assert sorted(models[0]["feature_names"]) == sorted(names), models[0]["feature_names"]
    place = [names.index(name) for name in models[0]["feature_names"]]
    for key in ("mean", "scale"):
        assert models[0]["transform"][key] == [models[1]["transform"][key][j] for j in place], (key, models[0]["transform"])
    assert models[0]["transform"]["radius"] == models[1]["transform"]["radius"] == 6**0.5
    certificates = [json.loads((folder / name / "privacy.json").read_text()) for name in "fh"]
    for key in ("promise", "mechanism", "problem"):
        assert certificates[0][key] == certificates[1][key], [certificate[key] for certificate in certificates]
    # the same columns in the same order have the same noise, and so the same bits
    private(folder, "d.csv", DECLARED.replace("cp: {type: number, bounds: 1..4, missing: 1}", "cp: {type: ignore}"), "p",
            "--formula", "disease ~ age + chol")
    private(folder, "d.csv", DECLARED.replace("cp: {type: number, bounds: 1..4, missing: 1}", "cp: {type: ignore}")
            .replace("sex: {type: category, levels: [female, male], " + ANSWERS + "}", "sex: {type: ignore}"), "q")
    weights = [json.loads((folder / name / "model.json").read_text())["weights"] for name in "pq"]
    assert weights[0] == weights[1] and len(weights[0]) == 3, weights
    private(folder, "d.csv", DECLARED, "n", "--formula", "disease ~ age - 1")
    assert not json.loads((folder / "n/model.json").read_text())["intercept"]
    for formula, says in (("disease ~ poly(age, 2)", "write poly(age, 2, raw = TRUE) or I(age^2)"),
                          ("disease ~ C(cp)", "declare 'cp' in the schema as {type: category"),
                          ("disease ~ log(chol)", "bounds of 'chol' are -100..600"),
                          ("disease ~ sqrt(chol)", "of at least 0"), ("cp ~ age", "the label that the schema declares is 'disease'")):
        said = private(folder, "d.csv", DECLARED, "never", "--formula", formula, status=2).stderr
        assert says in said and not (folder / "never").exists(), (formula, said)
    wide = DECLARED.replace("-100..600", "-1e200..1e200")
    assert "out of range" in private(folder, "d.csv", wide, "never", "--formula", "disease ~ I(chol^2)", status=2).stderr
    based = DECLARED.replace("levels: [female, male]", "levels: [female, male], base: female")
    for words in ([], ["--privacy.epsilon", "8"]):
        (folder / "s.yaml").write_text(based)
        said = run(folder, "train", "--data", "d.csv", "--schema", "s.yaml", "--formula", "disease ~ sex + age", *words, status=2)
        assert "leave base out" in said.stderr, said.stderr


@case
def bounds_and_radius_without_privacy(folder):
    """standardise schema scales by the bounds, a radius shortens the rows of the formula's columns."""
    data = people(120, 7)
    write(folder / "d.csv", data)
    (folder / "s.yaml").write_text(DECLARED)
    run(folder, "train", "--data", "d.csv", "--schema", "s.yaml", "--standardise", "schema", "--radius", "0.7", "--eps", "0.1",
        "--formula", "disease ~ age + I(chol^2)", "--out", "f", "--quiet", "--pictures", "no")
    with open(folder / "h.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", "a", "c", "disease"])
        for i in range(120):
            z = np.array([(data[0][i] - 55) / 35, (data[2][i]**2 - 180000) / 180000])
            z *= min(1, 0.7 / np.linalg.norm(z))
            out.writerow([f"s{i % 3}", *map(repr, map(float, z)), data[4][i]])
    run(folder, "train", "--data", "h.csv", "--label", "disease", "--standardise", "no", "--eps", "0.1", "--out", "h", "--quiet",
        "--pictures", "no")
    models = [json.loads((folder / name / "model.json").read_text())["weights"] for name in "fh"]
    np.testing.assert_allclose(*models, rtol=1e-9)


@case
def what_cannot_be_read_is_refused(folder):
    write(folder / "d.csv", people(60, 4))
    for formula, says in (("disease ~ age +", "a column's name is expected at character 16"), ("disease ~ nothing", "nothing"),
                          ("disease ~ poly(age)", "poly() takes a column and a degree"),
                          ("disease ~ (age + sex", "')' is expected"), ("disease ~ age %in% sex", "an operator is expected"),
                          ("disease ~ exp(age)", "one of I, poly, C, factor, log, sqrt"),
                          ("disease ~ poly(sex, 2)", "'sex' is a category"), ("disease ~ 1", "no column is named"),
                          ("disease ~ poly(cp, 4)", "needs more than 4 distinct values"),
                          ("disease ~ C(chol2)", "chol2"), ("log(disease) ~ age", "'~' is expected"),
                          ("disease ~ age^30", "from 1 to 20")):
        said = run(folder, "train", "--data", "d.csv", "--formula", formula, "--out", "never", status=2).stderr
        assert says in said and not (folder / "never").exists(), (formula, said)
    for words, says in ((["--columns", "age"], "leave one of them out"), (["--label", "cp"], "the formula says 'disease'")):
        assert says in run(folder, "train", "--data", "d.csv", "--formula", "disease ~ age", *words, status=2).stderr
    # a level, or a number without a logarithm, that the training did not have
    run(folder, "train", "--data", "d.csv", "--formula", "disease ~ log(age) + C(cp)", "--out", "m", "--quiet", "--pictures", "no")
    text = (folder / "d.csv").read_text().splitlines()
    (folder / "level.csv").write_text("\n".join([text[0], text[1].rsplit(",", 2)[0] + ",7,1"]) + "\n")
    assert "'cp' is 7, a level that the training did not have" in run(
        folder, "predict", "m/model.json", "level.csv", status=2).stderr
    fields = text[1].split(",")
    (folder / "log.csv").write_text("\n".join([text[0], ",".join([fields[0], "-1", *fields[2:]])]) + "\n")
    assert "'age' is -1, which has no logarithm" in run(folder, "predict", "m/model.json", "log.csv", status=2).stderr
    (folder / "broken.json").write_text((folder / "m/model.json").read_text().replace('"numbers":', '"numbers": [1], "n":'))
    assert "formula" in run(folder, "predict", "broken.json", "d.csv", status=2).stderr


if __name__ == "__main__":
    sys.exit(run_cases("formula"))
