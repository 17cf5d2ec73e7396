#!/usr/bin/python3
"""Models as other programs see them: `fedplt export` beside `fedplt predict`. Speaks TAP.

usage: tests/cli/models.py PROGRAM

An ONNX file is checked by the onnx package and evaluated by the small interpreter below, written from
the standard's text.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    onnx = None

PROGRAM = os.path.abspath(sys.argv[1])
CASES = []


def case(function):
    CASES.append(function)
    return function


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *words], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


def columns(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def evaluate(path, rows):
    """The outputs of the graph by name."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    values = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    values[model.graph.input[0].name] = rows
    for node in model.graph.node:
        given = [values[name] for name in node.input]
        own = attributes(node)
        if node.op_type in ("LinearClassifier", "LinearRegressor"):
            assert node.domain == "ai.onnx.ml"
            weights = np.array(own["coefficients"], np.float32).astype(float)
            intercepts = np.array(own["intercepts"], np.float32).astype(float)
            scores = given[0] @ weights.reshape(len(intercepts), -1).T + intercepts
            if node.op_type == "LinearRegressor":
                results = [scores]
            else:
                after = own["post_transform"].decode()
                labels = np.array([name.decode() for name in own["classlabels_strings"]])
                chosen = labels[scores.argmax(axis=1)]
                if after == "LOGISTIC":
                    scores = 1 / (1 + np.exp(-scores))
                elif after == "SOFTMAX":
                    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
                    scores /= scores.sum(axis=1, keepdims=True)
                else:
                    assert after == "NONE"
                results = [chosen, scores]
        elif node.op_type == "ReduceL2":
            results = [np.sqrt((given[0] ** 2).sum(axis=tuple(own["axes"]), keepdims=True))]
        else:
            operation = {"Sub": np.subtract, "Div": np.divide, "Mul": np.multiply,
                         "Min": np.minimum, "Exp": np.exp}[node.op_type]
            with np.errstate(divide="ignore"):
                results = [operation(*given)]
        values.update(zip(node.output, results))
    names = json.loads({p.key: p.value for p in model.metadata_props}["features"])
    return names, {o.name: values[o.name] for o in model.graph.output}


def compare(folder, data, *train):
    run(folder, "train", "--data", data, "--out", "out", "--pictures", "no", *train)
    run(folder, "export", "out/model.json", "--to", "onnx", "--out", "m.onnx")
    run(folder, "predict", "out/model.json", data, "--out", "p.csv")
    table, predicted = columns(folder / data), columns(folder / "p.csv")
    model = onnx.load(folder / "m.onnx")
    names = json.loads({p.key: p.value for p in model.metadata_props}["features"])
    rows = np.array([[float(v) for v in table[name]] for name in names]).T
    found_names, found = evaluate(folder / "m.onnx", rows)
    assert found_names == names
    return table, predicted, found


@case
def two_classes(folder):
    run(folder, "data", "generate", "d.csv", "--agents", "3", "--features", "4", "--rows", "40")
    for more in ([], ["--standardise", "yes", "--intercept", "yes"], ["--radius", "0.7"]):
        _, predicted, found = compare(folder, "d.csv", "--eps", "0.1", *more)
        gap = 0
        for k, name in enumerate(["-1", "1"]):
            mine = np.array([float(p) for p in predicted[f"probability:{name}"]])
            gap = max(gap, abs(mine - found["probabilities"][:, k]).max())
        assert gap < 1e-6, f"{more}: {gap}"
        sure = abs(found["probabilities"][:, 1] - 0.5) > 1e-6
        assert (np.array(predicted["label"])[sure] == found["label"][sure]).all()


@case
def scores_without_probabilities(folder):
    run(folder, "data", "generate", "d.csv", "--agents", "3", "--features", "4", "--rows", "40")
    _, predicted, found = compare(folder, "d.csv", "--loss", "squared-hinge")
    mine = np.array([float(p) for p in predicted["score"]])
    assert abs(mine - found["scores"][:, 1]).max() < 1e-6
    assert abs(mine + found["scores"][:, 0]).max() < 1e-6


@case
def several_classes(folder):
    run(folder, "data", "generate", "d.csv", "--generator", "planted", "--task", "classes",
        "--classes", "4", "--agents", "2", "--features", "5", "--rows", "80")
    _, predicted, found = compare(folder, "d.csv", "--eps", "0.01", "--intercept", "yes",
                                  "--standardise", "yes")
    for k in range(4):
        mine = np.array([float(p) for p in predicted[f"probability:{k}"]])
        assert abs(mine - found["probabilities"][:, k]).max() < 1e-6


@case
def numbers_and_counts(folder):
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(120, 3))
    counts = generator.poisson(np.exp(0.3 + rows @ [0.5, -0.2, 0.1]))
    with open(folder / "d.csv", "w") as file:
        file.write("site,label,a,b,c\n")
        for i, (row, count) in enumerate(zip(rows, counts)):
            file.write(f"{i % 2},{count}," + ",".join(map(repr, map(float, row))) + "\n")
    for loss in ("least-squares", "poisson"):
        _, predicted, found = compare(folder, "d.csv", "--task", "regression", "--loss", loss,
                                      "--intercept", "yes", "--eps", "0.001", "--standardise", "yes")
        mine = np.array([float(p) for p in predicted["value"]])
        assert abs(mine - found["value"][:, 0]).max() < 1e-6 * abs(mine).max()
        assert loss != "poisson" or mine.min() > 0


@case
def coefficients_in_own_units(folder):
    run(folder, "data", "generate", "d.csv", "--agents", "2", "--features", "3", "--rows", "50")
    run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no", "--standardise",
        "yes", "--intercept", "yes")
    done = run(folder, "export", "out/model.json", "--to", "csv")
    assert done.stdout.strip() == "out/model.csv"
    table = columns(folder / "out/model.csv")
    own = dict(zip(table["name"], map(float, table["in_own_units"])))
    data = columns(folder / "d.csv")
    run(folder, "predict", "out/model.json", "d.csv", "--out", "p.csv")
    predicted = columns(folder / "p.csv")["probability:1"]
    for i in range(len(predicted)):
        score = own["(intercept)"] + sum(own[name] * float(data[name][i])
                                         for name in own if name != "(intercept)")
        assert abs(1 / (1 + np.exp(-score)) - float(predicted[i])) < 1e-12


@case
def bad_requests_are_answered(folder):
    run(folder, "data", "generate", "d.csv", "--agents", "2")
    run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no")
    assert "onnx, csv" in run(folder, "export", "out/model.json", "--to", "pdf", status=2).stderr
    assert "to" in run(folder, "export", "out/model.json", status=2).stderr
    run(folder, "export", "none.json", "--to", "csv", status=2)
    stderr = run(folder, "export", "out/model.json", "--to", "csv", "--out", "no/where.csv",
                 status=1).stderr
    assert "no/where.csv" in stderr


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        if onnx is None and "compare" in function.__code__.co_names:
            print(f"ok {number} - {name} # SKIP python3-onnx is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(pathlib.Path(folder))
                print(f"ok {number} - {name}")
            except Exception as problem:  # a broken case must not hide the others
                failed += 1
                print(f"not ok {number} - {name}\n# {problem!r}")
    return 1 if failed else 0


sys.exit(main())
