#!/usr/bin/python3
"""Runs the real program the way a person or a script would. Speaks TAP.

usage: tests/cli/cli.py PROGRAM [FOLDER WITH MANUAL PAGES]
Run from the root of the source tree.
"""
import array
import csv
import gzip
import io
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
MANUAL = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
ROOT = pathlib.Path.cwd()
SHARED = ROOT / "../shared"
HEART = SHARED / "data/heart_disease/heart_disease.csv"
CASES = []


class Skip(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def need(path):
    if not pathlib.Path(path).exists():
        raise Skip(f"{path} is not there")


class Place:
    """A folder of its own in which the program runs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def run(self, *words, status=0, environment=None, **more):
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=more.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, timeout=120,
                              env=dict(os.environ, **(environment or {})), **more)
        assert done.returncode == status, \
            f"{words}: status {done.returncode}, not {status}: {done.stderr or done.stdout}"
        return done

    def refuses(self, *words, says, status=2):
        """Fails with one sentence on stderr, nothing on stdout (but what data inspect shows), and no new file."""
        before = self.files()
        done = self.run(*words, status=status)
        if words[:2] != ("data", "inspect"):  # shows the columns of a refused file
            assert done.stdout == "", f"{words} wrote to stdout: {done.stdout}"
        assert done.stderr.startswith("fedplt: "), done.stderr
        assert done.stderr.count("\n") == 1, f"more than one line: {done.stderr}"
        for part in [says] if isinstance(says, str) else says:
            assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
        assert self.files() == before, f"{words} left {self.files() - before}"
        return done

    def files(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def json(self, name):
        return json.loads((self.folder / name).read_text())


def commands():
    listed = subprocess.run([PROGRAM, "--help"], text=True, capture_output=True, check=True).stdout
    body = listed.split("\n\n")[2]
    return [re.match(r"  (\S+(?: \S+)?)  ", line).group(1) for line in body.splitlines()]


def weights(place, folder):
    """The digits as they stand in the file, not as a parser sees them."""
    text = (place.folder / folder / "model.json").read_text()
    return re.search(r'"weights": \[(.*?)\]', text, re.S).group(1).split()


@case
def help_of_every_command(place):
    names = commands()
    assert {"train", "evaluate", "predict", "data generate", "data inspect", "data convert", "list",
            "completion", "version"} <= set(names), names
    for name in names:
        text = place.run(*name.split(), "--help").stdout
        assert text.startswith(f"usage: fedplt {name}"), text[:80]
        assert "\nexamples\n  " in text and "fedplt " + name.split()[0] in text, name
        assert all(len(line) <= 100 for line in text.splitlines()), name
    assert place.run("--help").stdout == place.run("-h").stdout == place.run("help").stdout
    assert "--anderson-memory" in place.run("train", "--algorithm", "fed-plt-anderson",
                                            "--help").stdout
    assert place.run("data", "--help").stdout.startswith("usage: fedplt data")
    assert place.run(status=2).stdout.startswith("usage")


@case
def help_shows_every_setting_with_its_default(place):
    text = place.run("train", "--help").stdout
    for flag, default in [("--rho", "auto"), ("--eps", "0.5"), ("--rounds", "1000"),
                          ("--solver", "gradient"), ("--out", "fedplt-out")]:
        body = text[text.index(f"  {flag} "):]
        body = body[:body.index("\n  --") if "\n  --" in body else len(body)]
        assert f"[{default}]" in body or f"[{default}; with --data " in " ".join(body.split()), (flag, body)


@case
def version_and_list(place):
    built = json.loads(place.run("version", "--json").stdout)
    assert re.fullmatch(r"\d+\.\d+\.\d+", built["fedplt"]) and "reference" in built["kernels"]
    assert place.run("--version").stdout == place.run("version").stdout
    families = json.loads(place.run("list", "--json").stdout)
    assert "fed-plt" in families["algorithms"] and "gradient" in families["solvers"]
    for family, names in families.items():
        rows = json.loads(place.run("list", family, "--json").stdout)["members"]
        assert [row["name"] for row in rows] == names, family
        shown = place.run("list", family).stdout
        assert all(name in shown for name in names), family
    plt = next(row for row in json.loads(place.run("list", "algorithms", "--json").stdout)["members"]
               if row["name"] == "fed-plt")
    assert plt["stored_paper"] == plt["stored_kept"] == "2N + 1"
    assert plt["partial"] == plt["privacy"] == plt["h"] == "yes"
    commands = {row["name"]: row for row in json.loads(place.run("list", "commands", "--json").stdout)["members"]}
    for name, command in commands.items():
        help_text = " ".join(place.run(*name.split(), "--help").stdout.split())
        for row in command["settings"]:
            assert f"--{row['name']}" in help_text and " ".join(row["help"].split()) in help_text, (name, row)
            assert row["help"].count("auto: ") <= 1, (name, row["name"], "the meaning of auto is printed twice")
    defaults = {row["name"]: row for row in commands["train"]["settings"]}
    assert defaults["eps"]["default"] != defaults["eps"]["default_with_data"] is not None
    assert defaults["solver"]["kind"] == "choice" or "gradient" in defaults["solver"]["help"]
    place.refuses("list", "algorithm", says=["no family 'algorithm'", "did you mean 'algorithms'"])


@case
def the_recorded_step_is_the_one_that_was_taken(place):
    job = ["train", "--agents", "6", "--rows", "40", "--rounds", "3"]
    for algorithm, pull in [("fed-plt", "rho"), ("fedpd", "eta"), ("fedavg", None)]:
        words = [*job, "--algorithm", algorithm]
        printed = place.run(*words, "--solver", "accelerated", "--out", "fast").stdout
        record = place.json("fast/model.json")["training"]
        inverse = 1 / record["parameters"][pull]["value"] if pull else 0
        gamma = record["local"]["gamma"]
        least = 1 / (record["curvature"]["lmax"] + inverse)
        assert abs(gamma["least"] - least) <= 1e-15 and gamma["least"] < gamma["most"], gamma
        assert f"{gamma['least']:.6g} .. {gamma['most']:.6g}" in printed
        assert "gamma = 1/(lmax + 1/rho)" in gamma["why"], gamma
        for solver in ["newton", "lbfgs"]:
            printed = place.run(*words, "--solver", solver, "--out", "none").stdout
            gamma = place.json("none/model.json")["training"]["local"]["gamma"]
            assert gamma["least"] is None and gamma["most"] is None, gamma
            assert re.search(r"\n  gamma +none +the solver \w+ takes no step size\n", printed)
            place.run("data", "generate", "d.csv", "--agents", "6", "--rows", "40", "--force")
            place.run("evaluate", "none/model.json", "d.csv")


@case
def theory_and_privacy_choose_the_same_rho(place):
    """lmin / lmax is below the floor of 1e-4: rho = 1/sqrt(1e-4 lmax^2), by hand."""
    bounds = ["--lmin", "1e-6", "--lmax", "2"]
    rho = 1 / (2 * 1e-4 ** 0.5)
    shown = json.loads(place.run("theory", *bounds, "--json").stdout)["quantities"]
    assert abs(shown["rho"]["corrected"] - rho) <= 1e-13 * rho, shown["rho"]
    epsilon = ["privacy", "epsilon", *bounds, "--records", "100", "--sensitivity", "1", "--tau",
               "0.1", "--json"]
    assert place.run(*epsilon).stdout == place.run(*epsilon, "--rho", repr(rho)).stdout
    gamma = 2 / (1e-6 + 2 + 2 / rho)
    chosen = json.loads(place.run(*epsilon).stdout)
    given = json.loads(place.run(*epsilon, "--rho", repr(rho), "--gamma", repr(gamma)).stdout)
    assert chosen == given, (chosen, given)


@case
def train_writes_its_files(place):
    place.run("train", "--agents", "10")
    assert place.files() == {"fedplt-out"} | {f"fedplt-out/{name}" for name in
                                              ("model.json", "convergence.csv", "manifest.txt")}, \
        "pictures that nobody looks at"
    done = place.run("train", "--agents", "10", "--agents-models", "--pictures", "yes")
    assert done.stderr == "", done.stderr
    expected = {"model.json", "convergence.csv", "agents.csv", "manifest.txt", "convergence.svg", "convergence.png"}
    assert place.files() == {"fedplt-out"} | {f"fedplt-out/{name}" for name in expected}
    for part in ["converged after", "criterion", "objective", "training accuracy",
                 "gradient evaluations", "vectors sent", "time as in the paper", "wall time", "rho",
                 "1/sqrt(lmin lmax)", "files in fedplt-out", "next"]:
        assert part in done.stdout, part
    rows = list(csv.DictReader(open(place.folder / "fedplt-out/convergence.csv")))
    assert [int(row["round"]) for row in rows] == list(range(len(rows)))
    assert float(rows[-1]["criterion"]) <= 1e-5 < float(rows[-2]["criterion"])
    model = place.json("fedplt-out/model.json")
    counters = model["training"]["counters"]
    assert counters["rounds"] == len(rows) - 1
    assert counters["gradients"] == 5 * 10 * counters["rounds"]
    assert counters["vectors_up"] == counters["vectors_down"] == 10 * counters["rounds"]
    assert counters["bytes_up"] == 8 * 5 * counters["vectors_up"]
    assert counters["paper_time"] == (5 + 10) * 10 * counters["rounds"]
    agents = list(csv.DictReader(open(place.folder / "fedplt-out/agents.csv")))
    assert len(agents) == 10 and all(int(row["updates"]) == counters["rounds"] for row in agents)


@case
def advice_can_be_followed(place):
    place.run("data", "generate", "d.csv", "--agents", "4", "--rows", "20")
    for words in (["--data", "d.csv"], ["--agents", "3", "--rounds", "2"]):
        text = place.run("train", *words, "--pictures", "no").stdout
        advice = text.split("\nnext\n")[1].strip().splitlines()
        assert 2 <= len(advice) <= 4, advice
        for line in advice:
            done = subprocess.run(line.strip(), shell=True, cwd=place.folder, text=True,
                                  capture_output=True, timeout=120)
            assert done.returncode == 0, (line, done.stderr)


@case
def json_is_one_document(place):
    done = place.run("train", "--agents", "5", "--json", "--holdout", "0.25", "--out", "a")
    document = json.loads(done.stdout)
    assert done.stderr == ""
    assert document["outcome"] == "converged" and document["model"] == place.json("a/model.json")
    assert sorted([*document["files"], "a/manifest.txt"]) == \
        sorted(f for f in place.files() if "/" in f)
    assert document["model"]["training"]["held_out"]["rows"] == 5 * 63
    done = place.run("train", "--agents", "5", "--quiet", "--out", "b")
    assert done.stdout == done.stderr == ""
    assert weights(place, "a") != weights(place, "b")


@case
def flags_override_the_file(place):
    place.write("c.yaml", "agents: 7\nrounds: 3\ntolerance: 0\nepochs: 2\nintercept: yes\nout: y\n")
    place.run("train", "c.yaml", "--pictures", "no")
    model = place.json("y/model.json")
    assert model["training"]["counters"]["gradients"] == 7 * 3 * 2 and model["intercept"]
    assert model["training"]["outcome"] == "rounds-done"
    place.run("train", "--epochs=4", "c.yaml", "--intercept", "no",
              "--pictures=no", "--out", "z")
    model = place.json("z/model.json")
    assert model["training"]["counters"]["gradients"] == 7 * 3 * 4 and not model["intercept"]
    # a switch alone does not swallow the argument behind it
    place.run("train", "--intercept", "c.yaml", "--pictures", "no", "--out", "w")
    assert place.json("w/model.json")["training"]["counters"]["rounds"] == 3
    text = place.run("train", "c.yaml", "--pictures", "no").stdout
    assert "not converged, the rounds ran out" in text and "--rounds 40" in text


@case
def why_is_recorded(place):
    place.write("c.yaml", "agents: 4\nrho: 2\n")
    place.run("train", "c.yaml", "--gamma", "0.1", "--pictures", "no", "--quiet")
    training = place.json("fedplt-out/model.json")["training"]
    assert training["parameters"]["rho"] == {"value": 2.0, "why": "given by c.yaml:2"}
    assert training["local"]["gamma"]["why"] == "given by --gamma"
    assert training["local"]["gamma"]["least"] == training["local"]["gamma"]["most"] == 0.1


@case
def every_algorithm_trains(place):
    for name in json.loads(place.run("list", "--json").stdout)["algorithms"]:
        document = json.loads(place.run("train", "--algorithm", name, "--agents", "6", "--rows",
                                        "30", "--rounds", "5", "--pictures", "no", "--json").stdout)
        training = document["model"]["training"]
        assert training["algorithm"] == name
        assert training["end"]["criterion"] < training["start"]["criterion"], name


@case
def unknown_names_are_answered_with_near_ones(place):
    place.refuses("trian", says="did you mean 'train'")
    place.refuses("data", "inspekt", says="did you mean 'data inspect'")
    place.refuses("train", "--rhoo", "1", says=["--rhoo", "did you mean 'rho'"])
    place.write("c.yaml", "agents: 3\nepohcs: 4\n")
    place.refuses("train", "c.yaml", says=["c.yaml:2", "did you mean 'epochs'"])
    place.refuses("train", "--algorithm", "fedplt", says="did you mean 'fed-plt'")
    place.refuses("train", "--solver", "newtn", says=["--solver", "newton"])
    place.write("d.yaml", "algorithm: fed-plt\nanderson-memory: 4\n")
    place.refuses("train", "d.yaml", says=["d.yaml:2", "fed-plt-anderson"])


@case
def bad_settings_are_refused(place):
    for words, says in [
            (["--rho", "0"], "--rho: rho is '0', but it must be a number above 0"),
            (["--rho", "nan"], "rho is 'nan'"), (["--rho", "1e999"], "1e999"),
            (["--rho", "0.5x"], "0.5x"), (["--rho"], "--rho needs a value"),
            (["--epochs", "0"], "epochs is '0'"), (["--epochs", "2.5"], "epochs is '2.5'"),
            (["--holdout", "1"], "holdout is '1'"), (["--rounds", "-1"], "rounds is '-1'"),
            (["-x"], "two dashes"), (["a.yaml", "b.yaml"], "b.yaml"),
            (["--intercept=maybe"], "yes or no"), (["--solver", "noisy"], "give tau"),
            (["--algorithm", "fedlin", "--participation", "bernoulli"], "fedlin"),
            (["--algorithm", "fedavg", "--h", "l1"], "fed-plt"),
            (["--checkpoint-every", "5"], "give checkpoint"),
            (["--start", "model"], "start-model"), (["--participation", "trace"], "give trace"),
            (["--participation", "fixed", "--active", "500"], "500"),
            (["--generator", "quadratic", "--loss", "logistic"], "logistic"),
            (["--out", "/dev/null/x"], "/dev/null/x")]:
        place.refuses("train", *words, says=says)
    place.refuses("list", "--oops", says="there is no setting 'oops'")
    place.refuses("evaluate", "m.json", says="evaluate needs more arguments")
    place.refuses("completion", "tcsh", says="bash")


@case
def bad_configurations_are_refused(place):
    for text, says in [("agents: 3\nagents: 4\n", "c.yaml:2"), ("agents: [3\n", "c.yaml:"),
                       ("agents: three\n", "c.yaml:1"), ("- agents\n", "c.yaml:1"),
                       ("agents: 3\nrho:\n  a: 1\n", "c.yaml:")]:
        place.write("c.yaml", text)
        place.refuses("train", "c.yaml", says=says)
    place.refuses("train", "missing.yaml", says="missing.yaml")
    place.refuses("train", ".", says=".")


@case
def bad_data_are_refused(place):
    good = "label,u,v\n1,2,3\n-1,4,5\n1,6,7\n"
    for text, says in [("label,u,v\n1,2,3\n-1,4\n", "d.csv:3"), ("label,u,v\n1,2,x\n", "d.csv:2"),
                       ("u,v\n1,2\n", "label"), ("", "d.csv"), ("label,u\n1,nan\n-1,2\n", "d.csv:2"),
                       ("label,u\n1,1e400\n-1,2\n", "d.csv:2"), ("label,u\n1,\n-1,2\n", "d.csv:2"),
                       ("label,u\nyes,1\n0,2\n", "d.csv:2"), (good.replace("4,5", "4,\"5"), "d.csv")]:
        place.write("d.csv", text)
        place.refuses("train", "--data", "d.csv", says=says)
        place.refuses("data", "inspect", "d.csv", says=says)
    place.write("d.libsvm", "1 1:2 2:3\n-1 2:1 1:5\n")
    place.refuses("train", "--data", "d.libsvm", says="d.libsvm:2")
    place.write("d.npy", "\x93NUMPY rubbish")
    place.refuses("train", "--data", "d.npy", says="d.npy")
    place.refuses("train", "--data", "nothing.csv", says="nothing.csv")
    place.refuses("data", "convert", "nothing.csv", "x.npy", says="nothing.csv")
    place.write("d.csv", good)
    place.write("each.csv", "agent,gamma\n7,1\n")
    place.refuses("train", "--data", "d.csv", "--uncoordinated", "each.csv", says="each.csv:2")
    place.write("t.txt", "0\n9\n")
    place.refuses("train", "--data", "d.csv", "--participation", "trace", "--trace", "t.txt",
                  says="t.txt:2")
    place.write("m.json", "{}")
    place.refuses("train", "--data", "d.csv", "--start", "model", "--start-model", "m.json",
                  says="m.json")
    place.refuses("evaluate", "m.json", "d.csv", says=["m.json", "not a model"])
    place.refuses("predict", "m.json", "d.csv", says=["m.json", "not a model"])
    place.write("state", "not a checkpoint")
    place.refuses("train", "--resume", "state", says="state")


@case
def unreadable_files_are_refused(place):
    if os.geteuid() == 0:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if not shutil.which("setpriv") or subprocess.run([*words, "true"]).returncode:
            raise Skip("root reads everything, and there is no setpriv to become someone else")
    else:
        words = []
    place.folder.chmod(0o777)
    place.write("d.csv", "label,u\n1,2\n-1,3\n")
    (place.folder / "d.csv").chmod(0)
    program = shutil.copy(PROGRAM, place.folder / "program")
    os.chmod(program, 0o755)
    done = subprocess.run([*words, program, "train", "--data", "d.csv"], cwd=place.folder, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 2 and "d.csv" in done.stderr and "ermission" in done.stderr, done
    (place.folder / "shut").mkdir(mode=0o555)
    done = subprocess.run([*words, program, "train", "--agents", "2", "--out", "shut"],
                          cwd=place.folder, text=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and "shut" in done.stderr and "ermission" in done.stderr, done


@case
def divergence_is_a_failure(place):
    done = place.refuses("train", "--gamma", "100", says=["diverged", "gamma is 100", "gamma: auto"],
                         status=1)
    assert done.stderr.count("gamma: auto") == 1


@case
def full_disc(place):
    with open("/dev/full", "w") as full:
        done = place.run("list", stdout=full, status=1)
    assert "No space left" in done.stderr
    disc = place.folder / "disc"
    disc.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disc],
                      capture_output=True).returncode:
        raise Skip("no small disc can be mounted here; standard output was tried")
    try:
        done = place.run("train", "--agents", "3", "--rounds", "300", "--tolerance", "0", "--out",
                         "disc/o", status=1)
        assert "No space left" in done.stderr and done.stderr.startswith("fedplt: "), done.stderr
        assert not any("tmp" in name or name.endswith("model.json") for name in
                       {str(path.relative_to(disc)) for path in disc.rglob("*")})
        done = place.run("data", "generate", "disc/d.csv", status=1)
        assert "No space left" in done.stderr and not (disc / "d.csv").exists()
    finally:
        subprocess.run(["umount", disc], check=True)


@case
def a_reader_that_leaves_is_no_failure(place):
    done = subprocess.run(f"'{PROGRAM}' train --help | head -1; echo ${{PIPESTATUS[0]}}", shell=True,
                          executable="/bin/bash", capture_output=True, text=True, cwd=place.folder)
    assert done.stdout.splitlines()[1] == "0" and done.stderr == "", done
    place.run("data", "generate", "d.csv", "--agents", "40")
    place.run("train", "--data", "d.csv", "--quiet", "--pictures", "no")
    done = subprocess.run(f"'{PROGRAM}' predict fedplt-out/model.json d.csv | head -1; "
                          "echo ${PIPESTATUS[0]}", shell=True, executable="/bin/bash",
                          capture_output=True, text=True, cwd=place.folder)
    assert done.stdout.splitlines()[1] == "0" and done.stderr == "", done


@case
def predictions_agree_with_training(place):
    """Accuracy in the summary, by evaluate, and counted from the predicted labels."""
    place.run("data", "generate", "d.csv", "--generator", "planted", "--agents", "5", "--rows", "80",
              "--features", "6")
    place.run("train", "--data", "d.csv", "--eps", "0.01", "--intercept", "--standardise", "yes",
              "--quiet", "--pictures", "no")
    model = place.json("fedplt-out/model.json")
    trained = model["training"]["model"]["accuracy"]
    found = json.loads(place.run("evaluate", "fedplt-out/model.json", "d.csv", "--json").stdout)
    assert [site["rows"] for site in found["sites"]] == [80] * 5 and found["all"]["rows"] == 400
    assert found["all"]["accuracy"] == trained and 0.6 < trained < 1
    predicted = list(csv.DictReader(io.StringIO(
        place.run("predict", "fedplt-out/model.json", "d.csv").stdout)))
    truth = list(csv.DictReader(open(place.folder / "d.csv")))
    hits = sum(float(a["label"]) == float(b["label"]) for a, b in zip(predicted, truth))
    assert len(predicted) == len(truth) == 400 and hits / 400 == trained
    for row in predicted:
        p, q = float(row["probability:-1"]), float(row["probability:1"])
        assert abs(p + q - 1) < 1e-12 and (q > p) == (float(row["label"]) > 0)
    # rows of mixed sites keep their order
    lines = (place.folder / "d.csv").read_text().splitlines()
    mixed = [lines[1 + (i * 83) % 400] for i in range(400)]
    place.write("mixed.csv", "\n".join([lines[0], *mixed]) + "\n")
    shuffled = list(csv.DictReader(io.StringIO(
        place.run("predict", "fedplt-out/model.json", "mixed.csv").stdout)))
    assert shuffled == [predicted[(i * 83) % 400] for i in range(400)]
    # the same from columns in another order, with a column more, and without labels
    with open(place.folder / "e.csv", "w") as out:
        names = [f"x{j}" for j in range(6, 0, -1)]
        out.write(",".join(["other"] + names) + "\n")
        for row in truth:
            out.write(",".join(["word"] + [row[name] for name in names]) + "\n")
    again = place.run("predict", "fedplt-out/model.json", "e.csv", "--out", "p.csv")
    assert again.stdout == ""
    assert list(csv.DictReader(open(place.folder / "p.csv"))) == predicted


@case
def probabilities_by_hand(place):
    """An independent reckoning of scores from the model file."""
    import math
    place.run("data", "generate", "d.csv", "--generator", "planted", "--task", "classes",
              "--classes", "4", "--agents", "3", "--rows", "50")
    place.run("train", "--data", "d.csv", "--task", "classes", "--standardise", "yes", "--radius",
              "2", "--intercept", "--rounds", "20", "--quiet", "--pictures", "no")
    model = place.json("fedplt-out/model.json")
    w, n, k = model["weights"], model["features"], len(model["classes"])
    assert len(w) == k * (n + 1) == 24
    predicted = list(csv.DictReader(io.StringIO(
        place.run("predict", "fedplt-out/model.json", "d.csv").stdout)))
    for row, said in zip(csv.DictReader(open(place.folder / "d.csv")), predicted):
        a = [(float(row[f"x{j + 1}"]) - model["transform"]["mean"][j]) /
             model["transform"]["scale"][j] for j in range(n)]
        norm = math.sqrt(sum(x * x for x in a))
        a = [x * min(1, 2 / norm) for x in a]
        scores = [sum(x * w[c * n + j] for j, x in enumerate(a)) + w[k * n + c] for c in range(k)]
        total = sum(math.exp(s) for s in scores)
        for c in range(k):
            assert abs(float(said[f"probability:{model['classes'][c]}"]) -
                       math.exp(scores[c]) / total) < 1e-12
        assert said["label"] == model["classes"][max(range(k), key=lambda c: scores[c])]


@case
def regression_round_trip(place):
    place.run("data", "generate", "d.csv", "--generator", "quadratic", "--agents", "3")
    text = place.run("train", "--data", "d.csv", "--task", "regression", "--holdout", "0.2",
                     "--pictures", "no").stdout
    assert "rmse" in text.split("held-out rows")[1] and "accuracy" not in text
    found = json.loads(place.run("evaluate", "fedplt-out/model.json", "d.csv", "--json").stdout)
    assert {name for name, value in found["all"].items() if value is not None} == {
        "site", "rows", "loss", "rmse", "r2"} and found["confusion"] == found["roc"] == []
    rows = [*found["sites"], found["all"]]
    predicted = list(csv.DictReader(io.StringIO(
        place.run("predict", "fedplt-out/model.json", "d.csv").stdout)))
    truth = [float(row["label"]) for row in csv.DictReader(open(place.folder / "d.csv"))]
    squares = sum((float(p["value"]) - b) ** 2 for p, b in zip(predicted, truth))
    assert abs((squares / len(truth)) ** 0.5 - rows[-1]["rmse"]) < 1e-10


@case
def long_files_are_predicted_in_blocks(place):
    """Text of several blocks, with line ends between quotes and rows that are left out, beside the same from a pipe, which is
    read at once."""
    place.run("data", "generate", "small.csv", "--agents", "1", "--features", "4", "--rows", "60")
    place.run("train", "--data", "small.csv", "--pictures", "no", "--id", "none")
    lines = ['name,x4,x1,x2,x3']
    for i in range(260000):
        quoted = f'"{i},\n""{i % 7}"' if i % 3 == 0 else f"n{i}"
        lines.append(f"{quoted},{(i * 7919) % 1000 / 7:.15f},{i % 13 - 6}.25,"
                     f"{'?' if i % 50001 == 50000 else i % 17},{-i / 1e5!r}")
    (place.folder / "long.csv").write_text("\n".join(lines) + "\n")
    words = ["predict", "fedplt-out/model.json", "--missing", "drop", "--id", "name", "--format", "csv"]
    place.run(*words, "long.csv", "--out", "blocks.csv")
    with open(place.folder / "long.csv") as file:
        piped = subprocess.run([PROGRAM, *words, "-"], cwd=place.folder, stdin=file, text=True,
                               capture_output=True, check=True)
    assert piped.stdout == (place.folder / "blocks.csv").read_text()
    assert piped.stderr.count("5 rows with missing values were left out") == 1
    done = place.run(*words, "long.csv")
    assert done.stdout == piped.stdout and done.stderr.count("5 rows with missing values were left out") == 1
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert len(rows) == 260000 - 5 + 1 and rows[-1][:2] == ["260000", "n259999"] and rows[1][1] == '0,\n"0'
    (place.folder / "bad.csv").write_text("\n".join(lines) + "\nx,1,2,3,word\n")
    number = sum(line.count("\n") + 1 for line in lines) + 1
    place.refuses(*words, "bad.csv", "--out", "none.csv", says=f"bad.csv:{number}:")


@case
def long_files_are_evaluated_in_blocks(place):
    """Rows of three sites, of which one ends and one begins in the middle, and values that are filled in: the same measures to
    the last bit as from a pipe, which is read at once. Labels are sorted, so that a block may lack a class."""
    header = "site,x1,x2,x3,note,label\n"
    rows = [f"{'a' if i % 3 else 'b' if i < 90000 else 'c'},{i % 97 / 8 - 6},{'' if i % 1009 == 7 else i * 7919 % 1000 / 64},"
            f"{i * i % 89},{'n' * 60},{int(i > 70000)}\n" for i in range(130000)]
    (place.folder / "small.csv").write_text(header + "".join(rows[::400]))
    (place.folder / "long.csv").write_text(header + "".join(rows))
    place.run("train", "--data", "small.csv", "--site", "site", "--ignore", "note", "--missing", "mean", "--label", "label",
              "--pictures", "no", "--rounds", "3")
    words = ["evaluate", "fedplt-out/model.json", "--json", "--format", "csv"]
    done = place.run(*words, "long.csv")
    with open(place.folder / "long.csv") as file:
        piped = subprocess.run([PROGRAM, *words, "-"], cwd=place.folder, stdin=file, text=True,
                               capture_output=True, check=True)
    assert done.stdout == piped.stdout
    made = json.loads(done.stdout)
    assert [site["site"] for site in made["sites"]] == ["b", "a", "c"] and made["all"]["rows"] == 130000
    assert sum(line["filled"] for line in made["filled"]) == len(range(7, 130000, 1009))
    (place.folder / "long.csv").write_text(header + "".join(rows) + "a,1,2,word,n,1\n")
    place.refuses(*words, "long.csv", says="long.csv:130002: column 'x3'")


def repeated(length, row):
    """row(0), row(1), ... of which those from 10007 on come again, since making them takes time."""
    made = [row(i) for i in range(min(length, 10007))]
    return (made * (length // len(made) + 1))[:length]


@case
def several_long_files_are_evaluated_in_blocks(place):
    """Three files, each a site, the last of them short: the same bytes as from packed files, which are read at once. The same
    where a column names the sites, and where one file holds rows of two sites a sentence."""
    names = ["east", "west", "north"]
    rows = [repeated(length, lambda i: f"{i % 97 / 8 - 6},{'' if i % 1009 == 7 else i * 7919 % 1000 / 64},{i * (i + k) % 89},"
                                       f"{'n' * 60},{int(i % 7 > k)}") for k, length in enumerate((110000, 130000, 700))]
    for header, site in (("x1,x2,x3,note,label", ""), ("x1,x2,x3,note,label,site", ",s")):
        for k, name in enumerate(names):
            text = header + "\n" + "".join(f"{row}{site and site + str(k)}\n" for row in rows[k])
            (place.folder / f"{name}.csv").write_text(text)
            with gzip.open(place.folder / f"{name}.csv.gz", "wt", compresslevel=1) as file:
                file.write(text)
        if not site:
            place.run("train", "--data", "north.csv", "--ignore", "note", "--missing", "mean", "--label", "label",
                      "--pictures", "no", "--rounds", "3")
        words = ["evaluate", "fedplt-out/model.json", "--json", "--format", "csv"]
        done = place.run(*words, *(f"{name}.csv" for name in names))
        packed = place.run(*words, *(f"{name}.csv.gz" for name in names))
        assert done.stdout == packed.stdout and done.stderr == packed.stderr.replace(".csv.gz", ".csv")
        assert [one["rows"] for one in json.loads(done.stdout)["sites"]] == [110000, 130000, 700]
    with open(place.folder / "west.csv", "a") as file:
        file.write("1,2,3,n,1,s0\n")
    place.refuses(*words, "east.csv", "west.csv", says="west.csv:130002: the site 's0' after 's1'")


def predicts_as_from_a_pipe(place, name, *words):
    """The same lines and warnings from the file, in blocks, and from a pipe, which is read at once; the lines."""
    done = place.run("predict", "fedplt-out/model.json", *words, name)
    with open(place.folder / name) as file:
        piped = subprocess.run([PROGRAM, "predict", "fedplt-out/model.json", *words, "-"], cwd=place.folder, stdin=file,
                               text=True, capture_output=True, check=True)
    assert done.stdout == piped.stdout and done.stderr == piped.stderr.replace(" -:", f" {name}:")
    return done.stdout.splitlines()


@case
def long_libsvm_files_are_predicted_in_blocks(place):
    place.run("data", "generate", "small.libsvm", "--agents", "1", "--features", "4", "--rows", "60")
    place.run("train", "--data", "small.libsvm", "--features", "4", "--pictures", "no")
    (place.folder / "long.libsvm").write_text("".join(
        f"{i % 2 * 2 - 1} 1:{i % 13 - 6}.25 {'' if i % 7 else f'2:{i % 17}.000000000000000000000000 '}4:{-i / 1e5!r}\n"
        for i in range(330000)))
    assert len(predicts_as_from_a_pipe(place, "long.libsvm", "--format", "libsvm")) == 330001


@case
def long_arrays_are_predicted_and_evaluated_in_blocks(place):
    """Doubles and integers of either order of bytes: the bytes that the same array gives from a pipe, which is read at once."""
    place.run("data", "generate", "small.npy", "--agents", "1", "--features", "4", "--rows", "60")
    place.run("train", "--data", "small.npy", "--pictures", "no")
    for kind, code, size in (("<f8", "d", 8), (">i2", "h", 2)):
        rows = 8500000 // (4 * size) + 12345
        for name, columns in (("rows.npy", 4), ("labelled.npy", 5)):
            numbers = array.array(code, repeated(4 * rows, lambda i: (i * 7919 + i // 9) % 1000 - 500))
            if columns == 5:  # the label is the last column
                made = array.array(code, bytes(5 * rows * size))
                for k in range(4):
                    made[k::5] = numbers[k::4]
                made[4::5] = array.array(code, repeated(rows, lambda i: i * i % 7 % 2 * 2 - 1))
                numbers = made
            if kind[0] == ">":
                numbers.byteswap()
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n".encode()
            with open(place.folder / name, "wb") as file:
                file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + numbers.tobytes())
        assert len(predicts_as_from_a_pipe(place, "rows.npy", "--format", "npy")) == rows + 1
        words = ["evaluate", "fedplt-out/model.json", "--json", "--format", "npy"]
        with open(place.folder / "labelled.npy") as file:
            piped = subprocess.run([PROGRAM, *words, "-"], cwd=place.folder, stdin=file, text=True, capture_output=True, check=True)
        assert place.run(*words, "labelled.npy").stdout == piped.stdout.replace('"standard input"', '"labelled"')


@case
def long_files_of_sites_are_predicted_in_blocks(place):
    """With effects of sites, whose rows are grouped and put back in order; a row that is left out keeps its number."""
    rows = [f"{'abc'[i * i % 3 if i < 90000 else 2]},{i % 97 / 8 - 6},{i * 7919 % 1000 / 64},{'n' * 60},{int(i * 31 % 97 > 40)}\n"
            for i in range(130000)]
    header = "site,x1,x2,note,label\n"
    (place.folder / "small.csv").write_text(header + "".join(rows[::400]))
    (place.folder / "long.csv").write_text(header + "".join(rows))
    place.run("train", "--data", "small.csv", "--site", "site", "--site-effects", "fixed", "--ignore", "note",
              "--label", "label", "--pictures", "no")
    assert len(predicts_as_from_a_pipe(place, "long.csv", "--format", "csv")) == 130001
    rows[1000] = "a,,1,n,1\n"
    (place.folder / "long.csv").write_text(header + "".join(rows))
    lines = predicts_as_from_a_pipe(place, "long.csv", "--format", "csv", "--missing", "drop")
    assert [line.split(",")[0] for line in lines[999:1003]] == ["999", "1000", "1002", "1003"] and len(lines) == 130000


@case
def many_words_are_no_classes_unless_said(place):
    with open(place.folder / "words.csv", "w") as file:
        file.write("a,b,y\n")
        for i in range(404):
            file.write(f"{i % 7},{i % 5},w{i % 101}\n")
    place.refuses("train", "--data", "words.csv", "--label", "y",
                  says=["words.csv:2: the label 'w0' is one of 101 different words", "--task classes"])
    place.run("train", "--data", "words.csv", "--label", "y", "--task", "classes", "--pictures", "no", "--rounds", "2")
    assert len(place.json("fedplt-out/model.json")["classes"]) == 101


@case
def conversions_keep_every_bit(place):
    place.run("data", "generate", "a.csv", "--agents", "4", "--rows", "25")
    place.run("data", "convert", "a.csv", "b.npy")
    place.run("data", "convert", "b.npy", "c.libsvm")
    place.run("data", "convert", "c.libsvm", "d.csv", "--agents", "4")
    a, d = (list(csv.DictReader(open(place.folder / name))) for name in ("a.csv", "d.csv"))
    names = [f"x{j}" for j in range(1, 6)]
    assert len(a) == len(d) == 100
    values = [list(row.values()) for row in d]
    for row, other in zip(a, values):
        mine = {float(row[name]) for name in names} | {float(row["label"])}
        assert mine <= {float(x) for x in other}, (row, other)
    one = json.loads(place.run("data", "inspect", "a.csv", "--json").stdout)
    two = json.loads(place.run("data", "inspect", "d.csv", "--json").stdout)
    for key in ["rows", "features", "agents", "task", "largest_norm"]:
        assert one[key] == two[key], key
    for x, y in zip(one["feature_table"], two["feature_table"]):
        assert abs(x["mean"] - y["mean"]) < 1e-12 and x["largest"] == y["largest"]
    # the shortest digits that read back: as repr writes them, but for the form of whole numbers and exponents
    for row in d:
        for text in list(row.values())[1:]:
            assert len(text) <= len(repr(float(text))) and text == repr(float(text)).removesuffix(".0"), text
    # the same training from either
    for name, more in (("a.csv", []), ("b.npy", ["--agents", "4"])):
        place.run("train", "--data", name, *more, "--quiet", "--pictures", "no", "--out", name[0])
    assert weights(place, "a") == weights(place, "b")
    place.run("data", "generate", "x.dat", "--to", "csv", "--agents", "2", "--rows", "3")
    assert (place.folder / "x.dat").read_text().startswith("site,label,")


@case
def inspect_counts_rightly(place):
    place.write("d.libsvm", "1 1:2 3:-1\n-1 2:4\n1 1:6\n")
    told = json.loads(place.run("data", "inspect", "d.libsvm", "--json").stdout)
    assert (told["rows"], told["features"], told["nonzeros"], told["sparse"]) == (3, 3, 4, True)
    first, second, third = told["feature_table"]
    assert abs(first["mean"] - 8 / 3) < 1e-15
    assert abs(first["deviation"] ** 2 - (4 + 36 - 64 / 3) / 3) < 1e-13
    assert (first["least"], first["largest"]) == (0, 6) and (third["least"], third["largest"]) == (-1, 0)
    assert abs(second["deviation"] ** 2 - (16 - 16 / 3) / 3) < 1e-13


@case
def examples_run(place):
    found = sorted(p for p in (ROOT / "examples").glob("*.yaml") if ".schema" not in p.name)
    assert len(found) >= 4
    for path in found:
        words = []
        if path.stem.startswith("private"):
            continue  # has no measure to converge by; tests/whole/privacy runs it
        if path.stem == "hospitals":
            if not HEART.exists():
                continue
            words = ["--data", HEART.resolve()]
        document = json.loads(place.run("train", path, *words, "--out", path.stem, "--json").stdout)
        assert document["outcome"] == "converged", path
    model = place.json("sparse/model.json")
    assert 0 < sum(w == 0 for w in model["weights"]) < len(model["weights"])


@case
def hospitals_reach_the_known_minimiser(place):
    reference = SHARED / "data/reference/heart_disease_eps0.5_l2.txt"
    need(reference)
    expected = [float(line) for line in reference.read_text().split()]
    place.run("train", "--data", HEART.resolve(), "--label", "b", "--paper", "--tolerance", "1e-24",
              "--quiet", "--pictures", "no")
    model = place.json("fedplt-out/model.json")
    assert max(abs(a - b) for a, b in zip(model["weights"], expected)) < 2e-11
    text = place.run("evaluate", "fedplt-out/model.json", HEART.resolve()).stdout
    assert all(site in text for site in ["cleveland", "hungarian", "switzerland", "va", "all"])


@case
def threads_do_not_change_bits(place):
    for threads in (1, 2, 5):
        place.run("train", "--agents", "13", "--solver", "sgd", "--participation", "bernoulli",
                  "--rounds", "30", "--threads", threads, "--quiet", "--pictures", "no", "--out",
                  f"t{threads}")
    assert weights(place, "t1") == weights(place, "t2") == weights(place, "t5")


@case
def a_model_is_a_start(place):
    words = ["--agents", "6", "--quiet", "--pictures", "no", "--tolerance", "1e-20"]
    place.run("train", *words, "--out", "a")
    place.run("train", *words, "--out", "b", "--start", "model", "--start-model", "a/model.json")
    a, b = (place.json(f"{name}/model.json")["training"] for name in "ab")
    assert b["start"]["criterion"] < 1e-6 * a["start"]["criterion"]
    place.refuses("train", *words, "--features", "4", "--start", "model", "--start-model",
                  "a/model.json", says=["a/model.json", "5 coordinates"])


LONG = ["--agents", "20", "--solver", "sgd", "--participation", "bernoulli", "--rounds", "400000",
        "--tolerance", "0", "--eval-every", "5000", "--pictures", "no", "--quiet"]
SHORT = [*LONG[:7], "1500", *LONG[8:]]


def interrupted(place, words, when, number=signal.SIGINT):
    process = subprocess.Popen([PROGRAM, "train", *words], cwd=place.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        when(process)
        process.send_signal(number)
        out, told = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
    return process.returncode, out, told


@case
def a_first_run_converges_on_unscaled_columns(place):
    """Columns between a thousandth and a thousand, nothing said but the file."""
    place.run("data", "generate", "rows.csv", "--generator", "planted", "--agents", "5",
              "--features", "7", "--rows", "120")
    rows = list(csv.reader(open(place.folder / "rows.csv")))
    numbers = [i for i, name in enumerate(rows[0]) if name not in ("site", "label")]
    for row in rows[1:]:
        for rank, i in enumerate(numbers):
            row[i] = repr(float(row[i]) * 10.0 ** (rank - 3))
    with open(place.folder / "unscaled.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    for extra in ([], ["--intercept"], ["--eps", "0.01"]):
        done = json.loads(place.run("train", "--data", "unscaled.csv", "--json", *extra).stdout)
        text = json.dumps(done)
        assert '"converged"' in text and "fed-newton" in text, (extra, text[:600])


@case
def the_method_follows_the_occasion(place):
    """With data of your own and no algorithm given; the reason is printed."""
    place.run("data", "generate", "rows.csv", "--generator", "planted", "--agents", "5",
              "--features", "7", "--rows", "60")
    for name, why, *words in (
            ("fed-newton", "Hessians cost less"),
            ("fed-newton", "Hessians cost less", "--participation", "all"),
            ("fed-newton", "Hessians cost less", "--regulariser", "nonconvex"),
            ("fed-newton", "the prox of h", "--h", "l1", "--h-weight", "0.1"),
            ("fed-newton", "Hessians cost less", "--t-communication", "1"),
            ("fed-lbfgs", "a gradient a round", "--t-communication", "1", "--loss", "squared-hinge"),
            ("fed-plt-anderson", "local training", "--epochs", "3"),
            ("fed-plt-anderson", "local training", "--solver", "newton"),
            ("fed-plt-anderson", None, "--rho", "1"),
            ("fed-newton-partial", "its last quadratic model", "--participation", "fixed", "--active", "2"),
            ("fed-newton-partial", "its last quadratic model", "--participation", "fixed", "--active",
             "2", "--regulariser", "nonconvex"),
            ("fed-plt", None, "--participation", "fixed", "--active", "2", "--rho", "1", "--rounds", "5"),
            ("fed-plt", None, "--solver", "sgd", "--rounds", "5"),
            ("fed-plt", "randomness", "--algorithm", "auto", "--solver", "sgd", "--rounds", "5"),
            ("fed-plt", "every agent", "--algorithm", "auto", "--participation", "fixed", "--active",
             "2", "--epochs", "3", "--rounds", "5")):
        done = place.run("train", "--data", "rows.csv", "--pictures", "no", *words)
        text = place.json("fedplt-out/model.json")["training"]
        assert text["algorithm"] == name, (words, text["algorithm"])
        assert done.stderr == "", done.stderr
        assert why is None or f"{name}: " in done.stdout and why in done.stdout, (words, done.stdout)
    place.run("data", "generate", "wide.csv", "--generator", "planted", "--agents", "5",
              "--features", "40", "--rows", "60")
    for name, price, *words in (("fed-lbfgs", "1"), ("fed-newton", "10"),
                                ("fed-newton", "1", "--loss", "least-squares")):
        place.run("train", "--data", "wide.csv", "--pictures", "no", "--t-communication", price, *words)
        assert place.json("fedplt-out/model.json")["training"]["algorithm"] == name
    place.refuses("tune", "--data", "rows.csv", "--algorithm", "auto", says=["must be named"])


@case
def interruption_and_resumption(place):
    """Stopped by a signal and resumed, a run ends with the bits of one that was not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        words = [*LONG, "--checkpoint", "run.state", "--checkpoint-every", "200", "--out", "o"]

        def after_first_checkpoint(process):
            end = time.time() + 60
            while not (place.folder / "run.state").exists():
                assert process.poll() is None and time.time() < end, process.stderr.read()
                time.sleep(0.002)

        status, out, told = interrupted(place, words, after_first_checkpoint, number)
        assert status == 130 and out == "", (status, told)
        assert told.startswith("fedplt: interrupted after round ")
        stopped_at = int(re.search(r"round (\d+)", told).group(1))
        again = told.splitlines()[1].split()
        assert again[-2:] == ["--resume", "run.state"]
        last = str(stopped_at + 700)
        for k, word in enumerate(again):
            if word == "--rounds":
                again[k + 1] = last
        done = subprocess.run(again, cwd=place.folder, text=True, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        whole = [last if word == "400000" else word for word in LONG]
        place.run("train", *whole, "--out", "whole")
        assert weights(place, "o") == weights(place, "whole")
        assert (place.folder / "o/convergence.csv").read_text() == \
            (place.folder / "whole/convergence.csv").read_text()
        (place.folder / "run.state").unlink()


@case
def interruption_without_checkpoint(place):
    status, out, told = interrupted(place, [*LONG, "--out", "o"], lambda process: time.sleep(0.5))
    assert status == 130 and out == "" and "; the model so far is in o" in told, (status, told)
    done = int(re.search(r"round (\d+)", told).group(1))
    assert place.json("o/model.json")["training"]["outcome"] == "stopped"
    words = [str(done) if word == "400000" else word for word in LONG]
    place.run("train", *words, "--out", "whole")
    assert weights(place, "o") == weights(place, "whole")


@case
def a_document_also_of_a_run_that_fails(place):
    """Diverged or interrupted, --json prints what happened."""
    done = place.run("train", "--gamma", "1e6", "--json", "--agents", "3", status=1)
    told = json.loads(done.stdout)
    assert told["outcome"] == "diverged" and told["files"] == [] and told["model"] is None
    assert told["sentence"] in done.stderr
    words = [word for word in LONG if word != "--quiet"]
    status, out, _ = interrupted(place, [*words, "--json"], lambda process: time.sleep(0.5))
    told = json.loads(out)
    assert status == 130 and told["outcome"] == "stopped", (status, told["outcome"])
    assert told["model"]["weights"] and told["rounds"] > 0


@case
def rows_kept_as_floats(place):
    """The digits of a run on rows that were rounded beforehand, also in another process and after a pause, on the kernel
    that `auto` takes for floats (on some processors another one than for doubles)."""
    drawn = random.Random(4)
    numbers = [[drawn.gauss(0, 1) for _ in range(6)] for _ in range(120)]
    labels = [drawn.choice((-1, 1)) for _ in numbers]
    near = [[struct.unpack("f", struct.pack("f", number))[0] for number in row] for row in numbers]
    for name, rows in (("raw", numbers), ("near", near)):
        place.write(f"{name}.csv", "a,b,c,d,e,f,label\n" + "".join(",".join(map(repr, row)) + f",{label}\n"
                                           for row, label in zip(rows, labels)))
        place.write(f"{name}.libsvm", "".join(
            f"{label} " + " ".join(f"{j}:{number!r}" for j, number in enumerate(row, 1) if j % 3) + "\n"
            for row, label in zip(rows, labels)))
    for kind in ("csv", "libsvm"):
        words = ["--agents", 4, "--rounds", 30, "--algorithm", "fed-plt", "--tolerance", 0, "--quiet",
                 "--pictures", "no", "--standardise", "no"]
        narrow = ["train", "--data", f"raw.{kind}", *words, "--precision", "float32"]
        place.run(*narrow, "--out", "float")
        kernel = ["--kernel", place.json("float/model.json")["training"]["kernel"]]
        place.run("train", "--data", f"near.{kind}", *words, *kernel, "--out", "double")
        for threads in (1, 3):
            place.run(*narrow, "--threads", threads, "--out", "float")
            assert weights(place, "float") == weights(place, "double"), kind
        place.run(*narrow, "--rounds", 11, "--checkpoint", "s", "--checkpoint-every", 11, "--out", "half")
        place.run(*narrow, "--resume", "s", "--out", "rest")
        assert weights(place, "rest") == weights(place, "double"), kind
        place.run("train", "--data", f"raw.{kind}", *words, *kernel, "--out", "other")
        assert weights(place, "other") != weights(place, "double"), kind
        assert place.json("float/model.json")["training"]["precision"] == "float32"
        assert place.json("double/model.json")["training"]["precision"] == "double"
    told = place.run("train", "--data", "raw.csv", "--precision", "float32", "--pictures", "no").stdout
    assert "rows kept as float32" in told, told
    (place.folder / "huge.csv").write_text((place.folder / "raw.csv").read_text() + "1,2,3,4,5,1e39,1\n")
    place.refuses("train", "--data", "huge.csv", "--precision", "float32", "--standardise", "no",
                  says="huge.csv:122: row 121 has a number that is too large for precision float32")


@case
def another_problem_is_not_resumed(place):
    kernel = ["--kernel", "reference"]  # on some processors `auto` takes another one for floats
    place.run("train", *SHORT, *kernel, "--checkpoint", "s", "--checkpoint-every", "1000", "--out", "o")
    for words, what in ((["--seed", "1"], "s"), (["--eps", "0.4"], "s"), (["--agents", "21"], "s"),
                        (["--precision", "float32"], "of rows kept as double, but this run keeps them as float32")):
        place.refuses("train", *SHORT, *kernel, *words, "--resume", "s", says=what)


@case
def no_progress_in_a_pipe(place):
    done = place.run("train", *[word for word in SHORT if word != "--quiet"], "--rounds", "6000")
    assert done.stderr == "" and "\r" not in done.stdout and "\x1b" not in done.stdout


@case
def progress_on_a_terminal(place):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([PROGRAM, "train", *[w for w in LONG if w != "--quiet"], "--rounds",
                                "12000"], cwd=place.folder, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    begun, seen, first = time.time(), b"", None
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        first = first or time.time() - begun
        seen += piece
    spent = time.time() - begun
    os.close(ours)
    process.stdout.read()
    assert process.wait() == 0
    if first is None:
        raise Skip("the run was over before a line was due")
    lines = seen.count(b"round ")
    assert first >= 0.2 and lines <= 10 * spent + 1, (first, lines, spent)
    assert seen.endswith(b"\r\x1b[K"), seen[-40:]
    line = seen.split(b"\r")[1].decode()
    assert re.match(r"round \d+  criterion \S+  \[#*\.*\] +\d+ %  \S+/s  .*", line), line


@case
def pictures_need_a_module_only_for_png_and_pdf(place):
    """A copy of the program in a folder of its own has no module beside it: SVG is drawn, PNG is skipped with a sentence."""
    alone = place.folder / "alone"
    alone.mkdir()
    shutil.copy(PROGRAM, alone / "fedplt")
    done = subprocess.run([alone / "fedplt", "train", "--agents", "3", "--pictures", "yes"], cwd=place.folder,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if (place.folder / "fedplt-out/convergence.png").exists():
        raise Skip("the module is installed on this machine")
    assert "convergence.png: not drawn" in done.stderr and "librsvg2" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert place.files() == {"alone", "alone/fedplt", "fedplt-out", "fedplt-out/model.json", "fedplt-out/convergence.csv",
                             "fedplt-out/convergence.svg", "fedplt-out/manifest.txt"}, place.files()


@case
def a_run_owns_its_folder(place):
    small = ["train", "--agents", "4", "--rows", "60", "--quiet"]
    place.run(*small, "--agents-models")
    place.write("fedplt-out/mine.txt", "kept")
    place.run(*small, "--privacy.epsilon", "2")
    assert place.files() == {"fedplt-out", *(f"fedplt-out/{name}" for name in (
        "model.json", "privacy.json", "manifest.txt", "mine.txt"))}, place.files()
    place.run(*small, "--pictures", "no")
    assert place.files() == {"fedplt-out", *(f"fedplt-out/{name}" for name in (
        "model.json", "convergence.csv", "manifest.txt", "mine.txt"))}, place.files()
    assert (place.folder / "fedplt-out/mine.txt").read_text() == "kept"


@case
def what_is_read_is_not_written_over(place):
    place.run("data", "generate", "d.csv", "--agents", "3", "--rows", "20")
    place.run("train", "--data", "d.csv", "--out", "o", "--quiet")
    os.symlink("d.csv", place.folder / "link.csv")
    before = {path: (place.folder / path).read_bytes() for path in ("d.csv", "o/model.json")}
    same = "read by the same command"
    place.refuses("predict", "o/model.json", "d.csv", "--out", "o/model.json", says=same)
    place.refuses("predict", "o/model.json", "d.csv", "--out", "link.csv", says=same)
    place.refuses("train", "--data", "d.csv", "--checkpoint", "./d.csv", says=same)
    place.refuses("train", "--start", "model", "--start-model", "o/model.json", "--data", "d.csv",
                  "--out", "o", says=same)
    place.refuses("data", "convert", "d.csv", "d.csv", "--force", says=same)
    place.refuses("data", "schema", "d.csv", "--out", "d.csv", says=same)
    place.refuses("data", "generate", "d.csv", says="--force")
    place.run("data", "generate", "e.csv", "--agents", "2", "--rows", "3")
    place.refuses("data", "convert", "d.csv", "e.csv", says="--force")
    place.run("data", "convert", "d.csv", "e.csv", "--force")
    for path, bytes_ in before.items():
        assert (place.folder / path).read_bytes() == bytes_, path
    place.run("data", "convert", "d.csv", "/dev/null", "--to", "csv")


@case
def bash_completes(place):
    script = place.run("completion", "bash").stdout
    place.write("c", script)

    def complete(*words):
        listed = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(["bash", "-c", f"source ./c; COMP_WORDS=({listed}); "
                               f"COMP_CWORD={len(words) - 1}; _fedplt; echo ${{COMPREPLY[@]}}"],
                              cwd=place.folder, text=True, capture_output=True)
        assert done.stderr == "", done.stderr
        return done.stdout.split()

    assert "train" in complete("fedplt", "t") and "data" in complete("fedplt", "")
    assert complete("fedplt", "data", "i") == ["inspect"]
    assert "--rho" in complete("fedplt", "train", "--r")
    assert "newton" in complete("fedplt", "train", "--solver", "n")
    assert complete("fedplt", "data", "generate", "--gen") == ["--generator"]
    assert complete("fedplt", "data", "generate", "--generator", "pl") == ["planted"]
    assert complete("fedplt", "train", "") == ["c"]


@case
def zsh_completes(place):
    if not shutil.which("zsh"):
        raise Skip("zsh is not installed")
    place.write("_fedplt", place.run("completion", "zsh").stdout)

    def complete(*words):
        """What the script hands to zsh's own functions."""
        listed = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(["zsh", "-f", "-c", 'compdef() {}; _describe() { print -l -- ${(P)2} }; '
                               '_arguments() { print -l -- "$@" }; source ./_fedplt; '
                               f"words=({listed}); CURRENT={len(words)}; _fedplt"],
                              cwd=place.folder, text=True, capture_output=True)
        assert done.stderr == "", done.stderr
        return done.stdout.splitlines()

    assert any(line.startswith("train:") for line in complete("fedplt", "t"))
    assert any(line.startswith("inspect:") for line in complete("fedplt", "data", "i"))
    flags = complete("fedplt", "train", "--s")
    assert any(line.startswith("*--rho[") for line in flags)
    assert any(line.startswith("*--solver[") and " newton" in line for line in flags)
    assert any(line.startswith("*--generator[") for line in complete("fedplt", "data", "generate", "--g"))


@case
def fish_completes(place):
    if not shutil.which("fish"):
        raise Skip("fish is not installed")
    place.write("c.fish", place.run("completion", "fish").stdout)

    def complete(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source ./c.fish; complete -C '{line}'"], cwd=place.folder,
                              text=True, capture_output=True, env=dict(os.environ, HOME=str(place.folder)))
        assert done.stderr == "", done.stderr
        return [found.split("\t")[0] for found in done.stdout.splitlines()]

    assert complete("fedplt tr") == ["train"] and "data" in complete("fedplt ")
    assert complete("fedplt data i") == ["inspect"]
    assert complete("fedplt train --rh") == ["--rho"]
    assert complete("fedplt train --solver newt") == ["newton"]
    assert complete("fedplt data generate --generator pl") == ["planted"]
    assert complete("fedplt summary --gen") == []


@case
def manual_pages_are_there(place):
    if MANUAL is None:
        raise Skip("no folder with manual pages was given")
    names = {"fedplt"} | {"fedplt-" + name.split()[0] for name in commands()}
    for name in names:
        assert (MANUAL / f"{name}.1").stat().st_size > 300, name
    if not shutil.which("mandoc"):
        raise Skip("mandoc is not installed")
    for name in names:
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", MANUAL / f"{name}.1"],
                              text=True, capture_output=True)
        assert done.returncode == 0, done.stdout
    text = subprocess.run(["mandoc", "-T", "ascii", MANUAL / "fedplt-train.1"], text=True,
                          capture_output=True).stdout
    text = re.sub(".\b", "", text)
    for flag in re.findall(r"^  (--\S+)", place.run("train", "--help").stdout, re.M):
        assert flag in text, flag


@case
def arguments_behind_two_dashes(place):
    place.run("data", "generate", "--agents", "2", "--rows", "3", "--", "--odd.csv")
    assert (place.folder / "--odd.csv").exists()
    place.run("data", "inspect", "--", "--odd.csv")


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="fedplt-cli-") as folder:
            try:
                function(Place(folder))
                print(f"ok {number} - {name}")
            except Skip as reason:
                print(f"ok {number} - {name} # SKIP {reason}")
            except Exception as problem:  # a test reports whatever went wrong
                failed += 1
                print(f"not ok {number} - {name}")
                for line in f"{type(problem).__name__}: {problem}".splitlines():
                    print("# " + line)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
