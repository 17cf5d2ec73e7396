#!/usr/bin/python3
"""Every document of --json beside its schema in schema/, of runs that end well and of those that do not.
Speaks TAP.

usage: tests/cli/documents.py PROGRAM
Run from the root of the source tree.
"""
import json
import re
import signal
import subprocess
import sys
import time

import jsonschema

from cli import PROGRAM, ROOT, CASES, case, commands, main

CASES.clear()
FOLDER = ROOT / "schema"


def schema_of(command):
    return FOLDER / f"{command.replace(' ', '-')}.schema.json"


def validator(path):
    schema = json.loads(path.read_text())
    resolver = jsonschema.RefResolver(path.resolve().as_uri(), schema)
    return jsonschema.Draft7Validator(schema, resolver=resolver)


def hold(command, text):
    """One document, of the form that the schema says."""
    document = json.loads(text, parse_constant=lambda word: 1 / 0)  # NaN is no JSON
    problem = jsonschema.exceptions.best_match(validator(schema_of(command)).iter_errors(document))
    assert problem is None, f"{command}: {problem.json_path}: {problem.message[:300]}"
    return document


def holds(place, command, *words, status=0):
    return hold(command, place.run(*command.split(), *words, "--json", status=status).stdout)


def written(command):
    """Files of documents, which commands write beside what they print."""
    return validator(schema_of(command))


def data(place):
    place.run("data", "generate", "d.csv", "--agents", 3, "--rows", 40, "--features", 3)
    place.run("data", "schema", "d.csv", "--out", "d.schema.yaml")
    return place.folder / "d.csv"


PRIVATE = ["--data", "d.csv", "--schema", "d.schema.yaml", "--privacy.epsilon", 2]


def with_model(place):
    data(place)
    place.run("train", "--data", "d.csv", "--pictures", "no", "--out", "m")
    return "m/model.json"


def of_train(place):
    data(place)
    holds(place, "train", "--data", "d.csv", "--holdout", 0.3, "--agents-models", "--algorithm", "fed-plt")


def of_compare(place):
    document = holds(place, "compare", "--agents", 3, "--rows", 20, "--runs", 2, "--pictures", "no", "--tune",
                     "--points", 2, "--algorithms", "fed-plt,fedlin,scaffnew,led", "--participation",
                     "bernoulli", "--active-share", 0.5)
    assert any("refusal" in method for method in document["methods"])
    holds(place, "compare", "--agents", 3, "--rows", 20, "--runs", 1, "--rounds", 2, "--algorithms", "fedavg")


def of_tune(place):
    holds(place, "tune", "--lmin", 0.5, "--lmax", 5)
    holds(place, "tune", "--agents", 3, "--rows", 20, "--by", "both", "--tune-rounds", 50)


def of_theory(place):
    assert holds(place, "theory", "--lmin", 0.5, "--lmax", 5)["run"] is None
    assert holds(place, "theory", "--agents", 3, "--rows", 20, "--show-rounds", 5)["run"]["error"]
    holds(place, "theory", "--agents", 3, "--rows", 20, "--solver", "accelerated", "--picture", "none")


def of_epsilon(place):
    document = holds(place, "privacy epsilon", "--tau", 0.1, "--records", "46,100", "--active-share", 0.5,
                     "--batch-rate", 0.1, "--orders", "2,2.5,64")
    assert document["orders"] == [2, 2.5, 64] and len(document["sampling"]) == 4
    for claim in document["claims"]:  # of a Gaussian: linear in the order
        if claim["guarantee"]:
            assert [round(x / claim["rdp_rate"], 9) for x in claim["rdp"]] == [2, 2.5, 64], claim
    holds(place, "privacy epsilon", "--tau", 0.1, "--lmin", 0, "--lattice", "no")
    place.refuses("privacy", "epsilon", "--tau", 1, "--orders", ",".join(map(str, range(2, 11))),
                  says="more than 8 values")


def of_calibrate(place):
    holds(place, "privacy calibrate", "--epsilon", 2, "--best")
    holds(place, "privacy calibrate", "--epsilon", 2, "--tau", 0.1)
    assert not holds(place, "privacy calibrate", "--threat", "paper")["guarantee"]


def of_curve(place):
    holds(place, "privacy curve", "--tau", 0.1)


def of_tradeoff(place):
    document = holds(place, "privacy tradeoff", "--agents", 2, "--rows", 30, "--rounds", 5, "--epsilons", "1,4",
                     "--repeats", 2)
    assert len(document["points"]) == 4 and 0.5 < document["without_noise"] <= 1
    # where the plan has one epoch a round the second training would be the first again: measured, and told, once
    words = ["--agents", 2, "--rows", 30, "--rounds", 5, "--epsilons", "1,4", "--repeats", 2,
             "--algorithm", "fed-plt"]
    for epochs, rows in ((1, 2), (3, 4)):
        told = place.run("privacy", "tradeoff", *words, "--epochs", epochs).stdout
        assert told.count("one epoch") == 2 and told.count("local") == rows - 2, told
        first, second = holds(place, "privacy tradeoff", *words, "--epochs", epochs)["points"][:2]
        assert ({**first, "local_training": False} == second) == (epochs == 1), (first, second)


def of_audit(place):
    document = holds(place, "privacy audit", "--agents", 2, "--rows", 30, "--rounds", 3, "--epochs", 2,
                     "--privacy.epsilon", 4, "--runs", 100, "--confidence", 0.999, "--canary", "features")
    assert document["confidence"] == 0.999 and document["canary"]["replaced"] == "features"


def private(place, *words):
    data(place)
    place.run("train", *PRIVATE, "--out", "p", *words)


def of_verify(place):
    private(place)
    assert holds(place, "privacy verify", "p/model.json")["holds"]
    certificate = json.loads((place.folder / "p/privacy.json").read_text())
    certificate["promise"]["epsilon"] /= 2
    place.write("lie.json", json.dumps(certificate))
    assert not holds(place, "privacy verify", "lie.json", status=1)["holds"]


def of_ledger(place):
    private(place, "--ledger", "spent.db")
    assert holds(place, "privacy ledger", "spent.db")["charges"]


def of_agent_ledger(place):
    (place.folder / "site").mkdir()
    private(place, "--ledger", "site/ledger.db")
    holds(place, "agent ledger", "--folder", "site")


def of_paper(place):
    holds(place, "paper", "IX", "--seeds", 1, "--runs", 1, "--points", 1)


def of_pki(place):
    place.run("pki", "init", "heart", "--address", "127.0.0.1:7443")
    place.run("pki", "invite", "basel", "--folder", "heart")
    assert holds(place, "pki list", "--folder", "heart")["members"][0]["name"] == "basel"


def of_history(place):
    place.run("federation", "demo", "--out", "four", "--rounds", 3)
    folder = next(place.folder.glob("four/**/federation.yaml")).parent
    document = holds(place, "federation history", "--folder", folder)
    assert document["rounds"] and document["events"]
    for name in ("coordinator", "north"):
        model = hold("model", (place.folder / "four" / name / "out/model.json").read_text())
        assert model["training"]["federation"]["name"] == "hospitals"
    assert all(event["member"] for event in document["events"] if event["event"] == "joined")
    for command, where, words in (("agent log", "four/north", {"started", "agreed", "answer", "ended", "signed"}),
                                  ("federation log", "four/coordinator", {"joined", "consent", "closed", "signed-for"})):
        log = holds(place, command, "--folder", place.folder / where)
        assert log["wrong"] is None and words <= {entry["event"] for entry in log["entries"]}, log
    place.refuses("federation", "history", "--folder", folder, "--trace", "--json", says="json has no effect")


def of_evaluate(place):
    holds(place, "evaluate", with_model(place), "d.csv")
    holds(place, "evaluate", "m/model.json", "d.csv", "--threshold", 0.3)
    holds(place, "evaluate", "m/model.json", "d.csv", "--grid", 100)


def of_predict(place):
    document = holds(place, "predict", with_model(place), "d.csv")
    assert [row["row"] for row in document["rows"]] == list(range(1, 121))
    csv = place.run("predict", "m/model.json", "d.csv").stdout.splitlines()[1:]
    shown = [[row["label"], *map(repr, row["probabilities"])] for row in document["rows"]]
    assert [[line.split(",")[0], *(repr(float(x)) for x in line.split(",")[1:])] for line in csv] == shown
    place.run("predict", "m/model.json", "d.csv", "--json", "--out", "p.json")
    assert json.loads((place.folder / "p.json").read_text()) == document
    place.run("train", "--data", "d.csv", "--loss", "squared-hinge", "--pictures", "no", "--out", "h", "--id", "x1")
    assert "score" in holds(place, "predict", "h/model.json", "d.csv")["rows"][0]


def of_summary(place):
    holds(place, "summary", with_model(place))
    holds(place, "summary", "m/model.json", "d.csv", "--refit", "--robust")
    place.refuses("summary", "m/model.json", "--json", "--csv", says="csv has no effect")


def of_baseline(place):
    data(place)
    document = holds(place, "baseline", "--data", "d.csv", "--resamples", 5)
    assert sum(cell["site"] is None for cell in document["results"]) == 5
    holds(place, "baseline", "--data", "d.csv", "--resamples", 0)


def of_validate(place):
    data(place)
    document = holds(place, "validate", "--data", "d.csv", "--grid", "0.01,0.1", "--folds", 2)
    assert [p["value"] for p in document["points"] if p["chosen"]] == [document["chosen"]]
    holds(place, "validate", "--data", "d.csv", "--grid", "0.1", "--by", "sites")


def of_inspect(place):
    data(place)
    document = holds(place, "data inspect", "d.csv")
    rows = [one["rows"] for one in document["classes"]]
    assert sum(rows) == 120
    assert [sum(one["class_rows"][k] for one in document["agent_table"]) for k in range(2)] == rows
    place.write("r.csv", "label,a\n" + "".join(f"{i / 7},{i}\n" for i in range(30)))
    assert holds(place, "data inspect", "r.csv")["classes"] == []
    place.write("w.csv", "label,a\n" + "".join(f"{'abc'[i % 3]},{i}\n" for i in range(30)))
    assert [one["class"] for one in holds(place, "data inspect", "w.csv")["classes"]] == ["a", "b", "c"]


def of_describe(place):
    data(place)
    document = holds(place, "describe", "d.csv", "--by", "label", "--cross", "label:site", "--minimum", 3)
    assert len(document["strata"]) == 2 and document["cross"]
    holds(place, "describe", "d.csv")
    made = json.loads(place.run("describe", "d.csv", "--schema", "d.schema.yaml", "--by", "label", "--privacy.epsilon", 3, "--json").stdout)
    validator(FOLDER / "describe-private.schema.json").validate(made)
    assert made["lines"] and any("draft" in note for note in made["notes"])


def of_meta(place):
    place.write("e.csv", "site,term,estimate,std_error\na,x,1,0.5\nb,x,2,0.4\n")
    assert [line["effects"] for line in holds(place, "meta", "e.csv")["combined"]] == ["fixed", "random (REML)"]


def of_survival(place):
    place.write("s.csv", "time,event,arm,site\n" + "".join(f"{i % 9 + 1},{i % 3 % 2},{'ab'[i % 2]},{'ns'[i // 20]}\n" for i in range(40)))
    document = holds(place, "survival curves", "s.csv", "--by", "arm", "--minimum", 4, "--grid", "3")
    assert len(document["curves"]) == 6 and len(document["tests"]) == 2 and document["notes"]
    assert holds(place, "survival curves", "s.csv")["tests"][0]["test"] == "sites"


def of_hazard(place):
    place.write("s.csv", "time,event,x,site\n" + "".join(
        f"{i * 7 % 23 + 1},{i % 4 > 0:d},{i * 11 % 13},{'ns'[i // 20]}\n" for i in range(40)))
    place.write("new.csv", "x\n3\n9\n")
    place.write("s.yaml", "columns:\n  site: site\n  x: {type: number, bounds: 0..20}\n  time: {type: time, bounds: 1..99}\n"
                '  event: {type: event, classes: ["0", "1"]}\n')
    place.run("train", "--data", "s.csv", "--schema", "s.yaml", "--out", "h", "--pictures", "no")
    model = ("h/model.json", "s.csv")
    assert holds(place, "survival baseline", *model, "--refit", "--minimum", 5)["notes"]
    document = holds(place, "survival predict", *model, "--refit", "--new", "new.csv")
    assert len(document["patients"]) == 4 and document["times"][0]["low"] is not None
    assert holds(place, "survival predict", *model, "--new", "new.csv")["times"][0]["low"] is None
    assert [line["name"] for line in holds(place, "survival test", *model)["tests"]] == ["x", "GLOBAL"]


def of_list(place):
    for family in holds(place, "list"):
        holds(place, "list", family)


def of_version(place):
    holds(place, "version")


OF = {"train": of_train, "compare": of_compare, "tune": of_tune, "theory": of_theory,
      "privacy epsilon": of_epsilon, "privacy calibrate": of_calibrate, "privacy curve": of_curve,
      "privacy tradeoff": of_tradeoff, "privacy audit": of_audit, "privacy verify": of_verify,
      "privacy ledger": of_ledger, "agent ledger": of_agent_ledger, "paper": of_paper, "pki list": of_pki,
      "federation history": of_history, "agent log": of_history, "federation log": of_history,
      "evaluate": of_evaluate, "predict": of_predict,
      "summary": of_summary, "baseline": of_baseline, "validate": of_validate,
      "data inspect": of_inspect, "describe": of_describe, "meta": of_meta,
      "survival curves": of_survival, "survival baseline": of_hazard, "survival predict": of_hazard, "survival test": of_hazard,
      "list": of_list, "version": of_version}


@case
def every_command_with_json_has_a_schema_and_is_held_to_it(place):
    told = {name for name in commands() if "--json" in place.run(*name.split(), "--help").stdout}
    assert told == set(OF), f"no case or no --json: {told ^ set(OF)}"
    files = {path.name for path in FOLDER.glob("*.schema.json")}
    wanted = {schema_of(name).name for name in told} | {"privacy.schema.json", "model.schema.json",
                                                           "model-custom.schema.json", "describe-private.schema.json"}
    assert files == wanted, f"no command or no schema: {files ^ wanted}"


def look(schema, path, where=""):
    """Objects name all their fields, in snake_case, or say whose words their keys are."""
    if isinstance(schema, list):
        for one in schema:
            look(one, path, where)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        more = schema.get("additionalProperties")
        fields = schema.get("properties")
        if fields is not None:
            assert more is False and set(schema.get("required", ())) <= set(fields), (path, where)
            assert "required" in schema, (path, where)
            for name in fields:
                assert re.fullmatch(r"[a-z][a-z0-9_]*", name), (path, where, name)
        else:
            assert isinstance(more, dict) and schema.get("description"), (path, where)
    for key, value in schema.items():
        look(value, path, f"{where}/{key}")


@case
def schemas_are_strict(place):
    for path in sorted(FOLDER.glob("*.schema.json")):
        schema = json.loads(path.read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        look(schema, path.name)


for name, function in OF.items():
    def held(place, run=function):
        run(place)
    held.__name__ = f"{name} prints what its schema says".replace(" ", "_")
    case(held)


@case
def what_is_written_is_what_is_printed(place):
    data(place)
    place.run("train", "--data", "d.csv", "--holdout", 0.3, "--pictures", "no", "--out", "m")
    written("model").validate(json.loads((place.folder / "m/model.json").read_text()))
    written("evaluate").validate(json.loads((place.folder / "m/held_out.json").read_text()))


def trained(place, *words, status=0):
    document = holds(place, "train", *words, "--pictures", "no", "--out", "t", status=status)
    where = document["model"]["training"] if document["model"] else None
    assert where is None or where["outcome"] == document["outcome"]
    return document


@case
def runs_that_do_not_converge_have_a_document(place):
    data(place)
    few = ["--data", "d.csv", "--algorithm", "fed-plt", "--rounds", 1]
    assert trained(place, *few)["outcome"] == "rounds-done"
    assert trained(place, *few, "--strict", status=1)["outcome"] == "rounds-done"
    document = trained(place, "--agents", 3, "--gamma", 1e6, status=1)
    assert document["outcome"] == "diverged" and document["files"] == [] and document["model"] is None


@case
def interrupted_runs_have_a_document(place):
    data(place)
    process = subprocess.Popen([PROGRAM, "train", "--rounds", str(10 ** 9), "--tolerance", "0", "--json",
                                "--eval-every", "0", "--out", "t", "--checkpoint", "state", "--checkpoint-every",
                                "1000"], cwd=place.folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (place.folder / "state").exists() and time.monotonic() < until:  # then it is among its rounds
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        out, told = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, (process.returncode, told)
    document = hold("train", out)
    assert document["outcome"] == "stopped" and document["model"] is not None, document


@case
def private_runs_have_a_document(place):
    data(place)
    document = trained(place, *PRIVATE)
    assert "criterion" not in document and "end" not in document["model"]["training"]
    place.run("key", "create", "k")
    trained(place, *PRIVATE, "--sign", "k.key")


def survival(count):
    rows = [f"{1 + (7 * i) % 50},{i % 3 != 0:d},{(i * 13 % 17) / 5},{i % 5},{'ab'[i % 2]}" for i in range(count)]
    return "months,died,x,z,site\n" + "\n".join(rows) + "\n"


TIMES = """header: yes
columns:
  months: {type: time, bounds: 1..60}
  died: {type: event, classes: [0, 1]}
  x: {type: number, bounds: 0..4}
  z: {type: number, bounds: 0..5}
  site: {type: site}
"""


@case
def every_task_has_a_document(place):
    rows = [f"{'red green blue'.split()[i % 3]},{i % 7 + (i % 3)},{(i * 5) % 11},{'ab'[i % 2]},r{i}"
            for i in range(60)]
    place.write("c.csv", "label,x,z,site,id\n" + "\n".join(rows) + "\n")
    rows = [f"{i * 0.37 + (i % 5):.2f},{i % 7},{(i * 5) % 11},{'ab'[i % 2]}" for i in range(60)]
    place.write("r.csv", "label,x,z,site\n" + "\n".join(rows) + "\n")
    place.write("n.csv", "label,x,z,site\n" + "\n".join(f"{i % 4},{i % 7},{(i * 5) % 11},{'ab'[i % 2]}"
                                                        for i in range(60)) + "\n")
    place.write("s.csv", survival(60))
    place.write("s.yaml", TIMES)
    place.write("g.csv", "label,x,z,site\n1,,2,a\n-1,3,4,a\n1,5,6,b\n-1,7,8,b\n1,2,2,a\n-1,3,3,b\n")
    for name, words in (("c.csv", ["--id", "id"]), ("r.csv", []), ("r.csv", ["--loss", "huber"]),
                        ("n.csv", ["--loss", "poisson", "--task", "regression"]),
                        ("s.csv", ["--schema", "s.yaml"]),
                        ("g.csv", ["--missing", "mean", "--row-weight", "z"])):
        document = trained(place, "--data", name, *words)
        assert document["model"] is not None, (name, words)
        reading = {"g.csv": ["--missing", "mean"], "n.csv": words[2:]}.get(name, words)
        holds(place, "evaluate", "t/model.json", name)
        predicted = holds(place, "predict", "t/model.json", name)
        assert len(predicted["rows"]) == 60 or name == "g.csv"
        assert ("id" in predicted["rows"][0]) == (name == "c.csv")
        if name != "c.csv":  # softmax has no standard errors
            holds(place, "summary", "t/model.json", *(["--robust"] if "huber" in words else []))
        holds(place, "data inspect", name, *(reading if name != "r.csv" else []))
        if name not in ("g.csv",):
            holds(place, "baseline", "--data", name, *words, "--resamples", 3)
            holds(place, "validate", "--data", name, *words, "--grid", 0.1, "--folds", 2)


if __name__ == "__main__":
    sys.exit(main())
