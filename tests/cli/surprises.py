#!/usr/bin/python3
"""What surprised people on their second day, each as a run of the real program. Speaks TAP.

usage: tests/cli/surprises.py PROGRAM
Run from the root of the source tree.
"""
import fcntl
import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time

from cli import PROGRAM, ROOT, CASES, Skip, case, main, weights
from outcomes import Site, federating

CASES.clear()


@case
def repeated_list_flags_add_up_and_replace_the_file(place):
    for name, seed in (("a.csv", 1), ("b.csv", 2), ("c.csv", 3)):
        place.run("data", "generate", name, "--agents", 1, "--rows", 20, "--seed", seed)
    place.write("two.yaml", "data: [c.csv, c.csv]\npictures: no\n")
    for words in (["--data", "a.csv", "--data", "b.csv"], ["--data", "a.csv,b.csv"],
                  ["--data=a.csv", "--data=b.csv"]):
        text = place.run("train", "two.yaml", *words, "--site", "none").stdout
        assert "on 2 agents, 40 rows" in text, text
    one = weights(place, "fedplt-out")
    place.run("train", "two.yaml", "--data", "a.csv", "--data", "b.csv", "--site", "none")
    assert weights(place, "fedplt-out") == one
    assert "repeated" in place.run("train", "--help").stdout


@case
def a_setting_without_effect_says_what_it_belongs_to(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    place.write("s.libsvm", "1 1:2\n-1 1:3\n")
    for words, says in (
            (["--active", 3], "--active: active has no effect without participation fixed or round-robin"),
            (["--trace", "t.csv"], "without participation trace, but participation is all"),
            (["--tau", 1], "without solver noisy or noisy-accelerated"),
            (["--batch", 8], "without solver sgd, svrg or accelerated-sgd"),
            (["--h-weight", 2], "without h l1, l2-squared, elastic-net or group-lasso, but h is zero"),
            (["--alpha", 2], "without partition skewed"),
            (["--data", "g.csv", "--rows", 5], "rows has no effect beside data (--data)"),
            (["--data", "g.csv", "--generator", "iid"], "generator has no effect beside data"),
            (["--label", "b"], "label has no effect without data: give data too"),
            (["--solver", "newton", "--gamma", 1], "gamma has no effect without solver gradient"),
            (["--algorithm", "fed-newton", "--epochs", 2], "but algorithm is fed-newton"),
            (["--regulariser", "none", "--eps", 1], "eps has no effect without regulariser ridge"),
            (["--rounds", 0, "--epochs", 3], "epochs has no effect without rounds other than 0, or algorithm auto, but rounds is 0"),
            (["--quiet", "--json"], "json has no effect without quiet no, but quiet is yes"),
            (["--tolerance", "0.0", "--relative"], "relative has no effect without tolerance other than 0, but tolerance is 0.0"),
            (["--checkpoint-every", 5], "checkpoint-every has no effect without checkpoint"),
            (["--privacy.delta", 1e-6], "without privacy.epsilon, or privacy.tau"),
            (["--start-scale", 2], "without start random, but start is zero"),
            (["--task", "classes"], "task has no effect without data, or generator planted"),
            (["--generator", "quadratic", "--task", "binary"], "task has no effect without data"),
            (["--paper"], "paper has no effect without data"),
            (["--data", "g.csv", "--paper", "--privacy.tau", 1], "paper has no effect beside privacy.tau"),
            (["--privacy.tau", 1, "--relative"], "relative has no effect beside privacy.tau (--privacy.tau)"),
            (["--privacy.epsilon", 1, "--criterion-at", "model"], "criterion-at has no effect beside privacy.epsilon"),
            (["--privacy.epsilon", 1, "--pictures"], "pictures has no effect beside privacy.epsilon"),
            (["--privacy.epsilon", 1, "--rounds", 0], "privacy.epsilon has no effect without rounds other than 0"),
            (["--data", "s.libsvm", "--header", "no"], "s.libsvm: header is for CSV files"),
            (["--data", "s.libsvm", "--separator", "tab"], "s.libsvm: separator is for CSV files")):
        place.refuses("train", *words, says=says)
    place.run("train", "--task", "auto", "--agents", 3, "--rows", 20, "--pictures", "no", "--quiet")
    place.refuses("data", "generate", "x.csv", "--task", "classes", says="task has no effect without generator planted")
    place.refuses("compare", "--points", 5, says="points has no effect without tune yes")
    place.refuses("tune", "--tune-rounds", 5, says="without by experiment or both, but by is theory")
    place.refuses("data", "inspect", "g.csv", "--data", "g.csv", says="takes its files without a flag")
    place.run("train", "--data", "g.csv", "--pictures", "no", "--quiet")
    for command in "baseline", "validate":
        place.refuses(command, "--data", "g.csv", "--holdout", 0.5, says=f"holdout has no effect in fedplt {command}: ")
    place.refuses("theory", "--rounds", 5, says="rounds has no effect in fedplt theory: show-rounds says")
    for command in ("summary", "fedplt-out/model.json"), ("report", "fedplt-out"):
        place.refuses(*command, "--header", "no", says="header has no effect without data: give their files behind")
    place.refuses("evaluate", "fedplt-out/model.json", "g.csv", "--details", "--json", says="details has no effect")
    place.run("train", "--generator", "planted", "--task", "regression", "--agents", 3, "--rows", 20, "--out", "r", "--pictures", "no")
    place.run("data", "generate", "r.csv", "--generator", "planted", "--task", "regression", "--agents", 3, "--rows", 20)
    place.refuses("evaluate", "r/model.json", "r.csv", "--details",
                  says="without the model's task binary or classes, but the model's task is regression; leave it out")
    place.refuses("summary", "r/model.json", "--units", "model",
                  says="units has no effect without the model's scale standardised, but the model's scale is the file's own")
    place.run("data", "convert", "g.csv", "g.fplt")
    place.run("evaluate", "fedplt-out/model.json", "g.fplt")
    for command, flag in (("evaluate", "row-weight"), ("predict", "row-weight"), ("evaluate", "labels"), ("evaluate", "label"),
                          ("evaluate", "site"), ("predict", "id")):
        place.refuses(command, "fedplt-out/model.json", "g.fplt", f"--{flag}", "1=1" if flag == "labels" else "x1",
                      says=f"{flag} says how a file is read, but all that is settled in an fplt file")
    place.refuses("baseline", "--data", "g.csv", "--algorithms", "fedavg,fedlin", "--algorithm", "fedavg",
                  says="algorithm has no effect beside algorithms (--algorithms)")
    place.refuses("baseline", "--data", "g.csv", "--algorithms", "fedavg,fedlin", "--t-gradient", 3,
                  says="t-gradient has no effect without epochs auto, or no algorithms, but epochs is 5")
    place.refuses("privacy", "epsilon", "--tau", 0.3, "--lattice", "no", "--dimension", 9, says="without lattice yes")
    place.refuses("privacy", "calibrate", "--tau", 0.3, "--rounds", 9, says="rounds has no effect beside tau (--tau)")
    place.refuses("privacy", "calibrate", "--threat", "paper", "--step-wise", says="without threat other than paper")
    place.refuses("data", "schema", "g.csv", "--features", 9, says="g.csv: features is for LIBSVM files")
    for flag in "label", "site", "labels":
        place.refuses("predict", "fedplt-out/model.json", "g.csv", f"--{flag}", "a=1", says="there is no setting")
    place.refuses("validate", "--data", "g.csv", "--eps", 1, says="eps has no effect without search other than eps")
    for command in "tune", "theory":
        place.refuses(command, "--lmin", 1, says="lmin has no effect without lmax, or generator quadratic: give lmax too")
        place.refuses(command, "--lmin", 1, "--lmax", 2, "--loss", "huber", says="loss has no effect without data, or generator")
    place.refuses("compare", "--algorithms", "fed-newton,fed-lbfgs", "--epochs", 3, says="epochs has no effect beside algorithms")
    place.refuses("train", "--algorithm", "fed-newton", "--uncoordinated", "e.csv", says="but algorithm is fed-newton")
    place.refuses("privacy", "tradeoff", "--privacy.epsilon", 3, says="epsilons says which are tried")
    place.refuses("privacy", "audit", "--privacy.epsilon", 3, "--privacy.noise", "simulated", says="secure-noise says which")
    for words in (["--columns", "x1"], ["--missing", "drop"], ["--task", "regression"], ["--agents", 2]):
        place.refuses("data", "schema", "g.csv", *words, says="there is no setting")


@case
def a_plan_and_a_file_about_agents_have_no_idle_settings(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    place.run("pki", "init", "heart", "--address", "127.0.0.1:7443")
    for section, settings, says in (
            ("train", {"active": 3}, "train: active has no effect without participation fixed or round-robin"),
            ("train", {"algorithm": "fed-newton", "epochs": 3}, "train: epochs has no effect without algorithm"),
            ("train", {"algorithm": "scaffnew", "p": 0.5, "epochs": 3}, "train: epochs has no effect without p auto"),
            ("train", {"algorithm": "fed-plt", "t-gradient": 3}, "train: t-gradient has no effect without epochs auto"),
            ("privacy", {"spare": 3}, "privacy.spare has no effect without privacy.epsilon"),
            ("quorum", 1, "federation.yaml:1: quorum has no effect without algorithm fed-plt"),
            ("inform", "yes", "federation.yaml:1: inform has no effect beside privacy.epsilon (privacy)"),
            ("check", "yes", "federation.yaml:1: check has no effect without algorithm fed-plt")):
        beside = {"quorum": {"train": {"algorithm": "fedlin"}}, "inform": {"privacy": {"epsilon": 2}},
                  "check": {"train": {"algorithm": "fedavg"}}}
        place.write("heart/federation.yaml", json.dumps({
            "federation": "heart", "folder": "heart", "roster": ["north", "south"], section: settings,
            **beside.get(section, {})}))
        place.refuses("coordinator", "heart/federation.yaml", "--dry-run", says=says)
    for command in "agent", "train":
        place.refuses(command, "heart/federation.yaml", says="heart/federation.yaml:1: there is no setting 'federation'")
        place.refuses(command, "heart/federation.yaml", says="; the file is one for `fedplt coordinator`")
    place.write("site.yaml", "coordinator: https://127.0.0.1:7443\ndata: g.csv\npolicy: {federations: [heart]}\n")
    place.refuses("coordinator", "site.yaml", says="site.yaml:1: there is no setting 'coordinator'; the file is one for `fedplt agent`")
    place.refuses("agent", "site.yaml", "--agents", 2, says="agents has no effect in fedplt agent: a site is one agent")
    for line, says in (("agents: 2", "site.yaml:4: agents has no effect in fedplt agent: a site is one agent"),
                       ("site: none\nschema: s.yaml", "site.yaml:4: site has no effect beside schema (site.yaml:5)"),
                       ("policy.delta: 1e-3", "policy.delta has no effect without policy.epsilon other than off: give"),
                       ("policy.epsilon: off\npolicy.delta: 1e-3", "other than off, but policy.epsilon is off"),
                       ("policy.epsilon: 2\npolicy.allow: facts", "policy.allow has no effect without policy.epsilon off, but")):
        place.write("site.yaml", f"coordinator: https://127.0.0.1:7443\ndata: g.csv\nfolder: north\n{line}\n")
        place.refuses("agent", "site.yaml", says=says)
    for command in "compare", "paper":
        place.refuses(command, "--quiet", "--json", says="json has no effect without quiet no")
    place.write("job.yaml", "data: g.csv\nrho: 1\n")
    place.refuses("coordinator", "job.yaml", says="job.yaml:1: there is no setting 'data'; the file is one for `fedplt train`")
    place.write("no.yaml", "nonsense: 1\n")
    assert "the file is one" not in place.refuses("train", "no.yaml", says="there is no setting 'nonsense'").stderr
    place.write("heart/federation.yaml", json.dumps({
        "federation": "heart", "folder": "heart", "roster": ["north", "south"],
        "train": {"participation": "fixed", "active": 1, "t-gradient": 3, "epochs": "auto", "algorithm": "fed-plt"}}))
    place.run("coordinator", "heart/federation.yaml", "--dry-run")
    place.write("each.csv", "agent,epochs\n1,3\n")
    for algorithm in "tamuna", "scaffnew":
        place.refuses("train", "--data", "g.csv", "--algorithm", algorithm, "--uncoordinated", "each.csv",
                      says=f"agent 1 has 3 epochs of its own, which have no effect with {algorithm}")
    agents = ["--data", "g.csv", "--algorithm", "fed-plt", "--uncoordinated", "each.csv", "--pictures", "no"]
    place.run("train", *agents)
    for words, says in ((["--batch", 3], "batch has no effect without solver sgd, svrg or accelerated-sgd, or uncoordinated, "
                                         "but uncoordinated (each.csv) has only gradient; leave it out"),
                        (["--memory", 3], "has only gradient"), (["--tau", 3], "has only gradient")):
        place.refuses("train", *agents, *words, says=says)
    place.write("each.csv", "agent,solver\n1,sgd\n")
    place.run("train", *agents, "--batch", 3, "--gamma", 0.1)
    place.refuses("train", *agents, "--memory", 3, says="has only gradient,sgd")


@case
def a_file_that_serves_one_command_has_no_idle_settings(place):
    """What a command cannot use passes in a file that another command takes too, and in no other."""
    for command, own, idle, says in (
            ("theory", "show-rounds: 5", "rounds: 7", "rounds has no effect in fedplt theory: show-rounds says"),
            ("tune", "by: experiment", "change: 0.1", "change has no effect in fedplt tune: "),
            ("privacy tradeoff", "epsilons: [1]", "privacy: {epsilon: 3}", "epsilons says which are tried"),
            ("privacy audit", "secure-noise: no", "privacy: {epsilon: 3, noise: simulated}", "secure-noise says which")):
        place.write("shared.yaml", f"{idle}\nrows: 20\n")
        place.write("own.yaml", f"{own}\n{idle}\nrows: 20\n")
        few = {"theory": [], "tune": [], "privacy tradeoff": ["--rounds", 2, "--repeats", 1, "--epsilons", 4],
               "privacy audit": ["--rounds", 2, "--epochs", 1, "--runs", 100]}[command]
        place.run(*command.split(), "shared.yaml", "--agents", 3, *few)
        place.refuses(*command.split(), "own.yaml", says=f"own.yaml:2: {idle.split(':')[0]}")
        place.refuses(*command.split(), "own.yaml", says=says)


@case
def a_site_says_nothing_beside_the_schema_of_the_proposal(place):
    files = place.folder / "files"
    files.mkdir()
    for name, seed in (("a.csv", 1), ("b.csv", 2)):
        place.run("data", "generate", f"files/{name}", "--agents", 1, "--rows", 20, "--seed", seed)
    place.write("files/one.schema.yaml", federating.SCHEMA + "  site: {type: ignore}\n")
    site = Site(place.folder / "site", files)
    settings = {"": ["declared", "file"], "data": "../files/a.csv", "once": "yes", "proxy": "off",
                "policy.federations": "heart", "policy.epsilon": "off", "policy.disclosure": "off"}
    for more, says in (({}, None), ({"schema": "../files/one.schema.yaml", "separator": "comma"}, None),
                       ({"header": "no"}, "site.yaml:1: header has no effect beside the proposal's schema; leave it out"),
                       ({"site": "none"}, "site.yaml:1: site has no effect beside the proposal's schema; leave it out")):
        outcome = site.attempt(PROGRAM, PROGRAM, {**settings, **more})
        assert outcome.status == (2 if says else 0) and (says or "") in outcome.complained, (more, outcome.signature(""))
    outcome = site.attempt(PROGRAM, PROGRAM, {**settings, "label": "none"})  # there would be nothing to learn
    assert outcome.status == 1 and "learns from labels: name their column" in outcome.said, outcome.signature("")


@case
def a_draft_goes_by_what_is_said(place):
    place.write("d.csv", 'site;label;"a, b";name;extra\nn;1;2.5;p1;3\ns;-1;1.5;p2;4\n')
    text = place.run("data", "schema", "d.csv", "--separator", "semicolon", "--ignore", "extra", "--id", "name").stdout
    assert '"a, b": {type: number' in text and "extra: ignore\n" in text and "name: id\n" in text, text
    place.write("u.csv", (place.folder / "d.csv").read_text().replace('"a, b"', "a, b"))
    place.run("data", "schema", "u.csv", "--separator", "semicolon", "--ignore", "extra", "--id", "name", "--out",
              "s.yaml")
    done = place.run("train", "--data", "u.csv", "--schema", "s.yaml", "--separator", "semicolon", "--pictures", "no")
    assert "on 2 agents, 2 rows, 1 feature:" in done.stdout, done.stdout


@case
def a_random_start_is_one_for_every_method(place):
    """At round 0 the criterion is not that of zero, and other seeds have others."""
    listed = json.loads(place.run("list", "algorithms", "--json").stdout)
    methods = [one["name"] for one in listed["members"]]
    assert len(methods) >= 15, methods
    for method in methods:
        found = set()
        for more in ([], ["--start", "random"], ["--start", "random", "--seed", 1, "--generator", "iid"]):
            place.run("train", "--agents", 4, "--rows", 20, "--algorithm", method, "--rounds", 1, "--pictures", "no",
                      "--quiet", *more)
            found.add((place.folder / "fedplt-out/convergence.csv").read_text().splitlines()[1].split(",")[2])
        assert len(found) == 3, (method, found)


@case
def flags_override_a_file_with_all_that_hangs_on_it(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    quick = ["--rounds", 2, "--pictures", "no"]
    place.write("half.yaml", "participation: fixed\nactive: 2\nalgorithm: fed-plt\nrho: 1\nrows: 9\n")
    place.run("train", "half.yaml", "--participation", "all", *quick)
    assert "FedAvg" in place.run("train", "half.yaml", "--algorithm", "fedavg", *quick).stdout
    assert "60 rows" in place.run("train", "half.yaml", "--data", "g.csv", *quick).stdout
    place.refuses("train", "half.yaml", "--algorithm", "fedavg", "--rho", 2,
                  says="rho is a setting of the algorithm fed-plt")
    place.refuses("train", "half.yaml", "--active-share", 0.5,
                  says=["--active-share: ", "without participation bernoulli", "participation is fixed"])
    place.write("bad.yaml", "active: 2\n")
    place.refuses("train", "bad.yaml", says="bad.yaml:1: active has no effect without participation")


@case
def an_example_that_needs_data_says_so(place):
    needing = 0
    for example in sorted((ROOT / "examples").glob("*.yaml")):
        if ".schema." in example.name:
            continue
        if "--data" in example.read_text():
            place.refuses("train", example, says="has no effect without data: give data too")
            needing += 1
        else:
            place.run("train", example, "--rounds", 2, "--pictures", "no")
    assert needing == 2, needing


def with_gaps(place, name, into, *rows):
    """Copies a file of generated data; the last value of some data rows (from 1) is missing."""
    lines = (place.folder / name).read_text().splitlines()
    for row in rows:
        lines[row] = lines[row].rsplit(",", 1)[0] + ","
    return place.write(into, "\n".join(lines) + "\n")


@case
def labels_that_are_not_there_teach_nothing(place):
    place.run("data", "generate", "g.csv", "--agents", 2, "--rows", 20)
    place.refuses("train", "--data", "g.csv", "--label", "none", says=["--label: label is none", "learns"])
    place.refuses("train", "--data", "g.csv", "--label", "none", "--loss", "poisson", says="the loss poisson")


@case
def a_model_of_generated_data_takes_the_generated_file(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    place.run("train", "--agents", 3, "--rows", 20, "--pictures", "no")
    lines = place.run("predict", "fedplt-out/model.json", "g.csv").stdout.splitlines()
    truth = [line.split(",")[1] for line in (place.folder / "g.csv").read_text().splitlines()[1:]]
    assert len(lines) == 61 and len(truth) == 60, len(lines)
    right = sum(float(line.split(",")[0]) == float(b) for line, b in zip(lines[1:], truth))
    tested = place.run("evaluate", "fedplt-out/model.json", "g.csv", "--json").stdout
    assert f"{right / 60:.6f}"[:6] in tested, (right, tested)


@case
def rows_left_out_are_counted_and_numbered(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 10)
    with_gaps(place, "g.csv", "m.csv", 1, 2, 15, 30)
    done = place.run("train", "--data", "m.csv", "--missing", "drop", "--pictures", "no")
    assert "m.csv: 4 rows with missing values were left out: 2 of 0, 1 of 1, 1 of 2" in done.stderr
    whole = place.run("predict", "fedplt-out/model.json", "g.csv").stdout.splitlines()[1:]
    some = place.run("predict", "fedplt-out/model.json", "m.csv", "--missing", "drop").stdout.splitlines()
    assert some[0].startswith("row,label,")
    numbers = [int(line.split(",")[0]) for line in some[1:]]
    assert numbers == [n for n in range(1, 31) if n not in (1, 2, 15, 30)], numbers
    assert [line.split(",", 1)[1] for line in some[1:]] == [whole[n - 1] for n in numbers]


@case
def decimal_labels_are_regression(place):
    for count in (40, 3000):
        rows = [f"{i * 0.37:.2f},{i * 0.37 - 1:.2f},{i % 7}" for i in range(count)]
        place.write("d.csv", "label,a,b\n" + "\n".join(rows) + "\n")
        done = place.run("train", "--data", "d.csv", "--pictures", "no", "--out", "a")
        assert "d.csv: the labels are decimal numbers, so the task is regression" in done.stderr
        assert f" on 1 agent, {count} rows, 2 features" in done.stdout, done.stdout[:200]
        said = place.run("train", "--data", "d.csv", "--pictures", "no", "--out", "b", "--task",
                         "regression")
        assert said.stderr == "" and weights(place, "a") == weights(place, "b")
    place.write("c.csv", "label,a\n" + "\n".join(f"{i},{i}" for i in range(200)) + "\n")
    place.refuses("train", "--data", "c.csv", says="200 distinct labels: say whether")


@case
def a_resumed_run_has_all_rounds(place):
    run = ["train", "--rounds", 30, "--tolerance", 0, "--pictures", "no", "--agents", 5]
    place.run(*run, "--out", "whole")
    place.run("train", "--rounds", 17, *run[3:], "--checkpoint", "state", "--checkpoint-every", 10)
    place.run(*run, "--resume", "state", "--out", "again")
    rows = [(place.folder / folder / "convergence.csv").read_text() for folder in ("whole", "again")]
    assert rows[0] == rows[1] and rows[0].count("\n") == 32


def with_short_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


@case
def a_run_killed_between_measurements_and_state_has_all_rounds(place):
    """Files of more than 8,000 bytes end the process: that is at first the measurements, after some 80 rounds."""
    run = ["train", "--rounds", 200, "--tolerance", 0, "--pictures", "no", "--agents", 3]
    place.run(*run, "--out", "whole")
    killed = subprocess.run([PROGRAM, *map(str, run), "--checkpoint", "state", "--checkpoint-every", "20"],
                            cwd=place.folder, preexec_fn=with_short_files, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    assert killed.returncode != 0 and (place.folder / "state").exists()
    place.run(*run, "--resume", "state", "--out", "again")
    rows = [(place.folder / folder / "convergence.csv").read_text() for folder in ("whole", "again")]
    assert rows[0] == rows[1] and rows[0].count("\n") == 202


@case
def what_a_killed_run_left_is_swept_away(place):
    """Names as a killed process leaves them; one that is still being written is locked, and stays."""
    run = ["train", "--rounds", 20, "--tolerance", 0, "--pictures", "no", "--agents", 3, "--checkpoint", "state",
           "--checkpoint-every", 10]
    for name in ("state.12345-3.tmp", "state.csv.12345-4.tmp", "state.12346-1.tmp"):
        place.write(name, "half")
    with open(place.folder / "state.12346-1.tmp") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        place.run(*run)
        assert {name for name in place.files() if name.endswith(".tmp")} == {"state.12346-1.tmp"}


def modestly():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@case
def absurd_input_is_refused_before_memory_is_spent(place):
    place.write("wide.libsvm", "-1 1:1 200000000:1\n+1 2:1\n")
    place.write("deep.yaml", "a: " + "[" * 100000 + "]" * 100000)
    place.write("deeper.yaml", "{a: " * 100000)
    for words, says in ((["--data", "wide.libsvm"], "wide.libsvm:1: index 200000000, but without"),
                        (["--data", "/dev/zero", "--format", "csv"], "/dev/zero: this is a device"),
                        (["deep.yaml"], "deep.yaml:1: nested more than 64 deep"),
                        (["deeper.yaml"], "deeper.yaml:1: nested more than 64 deep")):
        begun = time.monotonic()
        done = place.run("train", *words, status=2, preexec_fn=modestly)
        assert says in done.stderr, done.stderr
        assert time.monotonic() - begun < 5, words
    place.run("data", "generate", "g.csv", "--agents", 2, "--rows", 2000)
    place.refuses("train", "--data", "g.csv", "--largest-file", 1e-4, says="g.csv: ")
    place.refuses("train", "--rows", "1e15", says="must be a whole number from 1 to 1000000000000000")
    place.run("data", "inspect", "g.csv", "--largest-file", 1)


@case
def files_as_spreadsheets_write_them(place):
    place.run("data", "generate", "g.csv", "--agents", 1, "--rows", 30, "--features", 3)
    text = (place.folder / "g.csv").read_text()
    place.run("train", "--data", "g.csv", "--pictures", "no", "--out", "comma")
    for name, sign in (("tab", "\t"), ("semicolon", ";")):
        place.write("other.csv", text.replace(",", sign))
        place.run("train", "--data", "other.csv", "--pictures", "no", "--out", "auto")
        place.run("train", "--data", "other.csv", "--separator", name, "--pictures", "no", "--out", name)
        assert weights(place, "auto") == weights(place, name) == weights(place, "comma")
        assert len(place.run("predict", "comma/model.json", "other.csv").stdout.splitlines()) == 31
        place.write("other.txt", text.replace(",", sign))  # told by what is in it
        with open(place.folder / "other.txt") as pipe:
            done = subprocess.run([PROGRAM, "data", "inspect", "-"], stdin=pipe, text=True, capture_output=True)
        assert "30 rows, 3 features" in done.stdout, done
        place.run("train", "--data", "other.txt", "--pictures", "no", "--out", "text")
        assert weights(place, "text") == weights(place, "comma")
    place.refuses("train", "--data", "other.csv", "--separator", "comma", says=["no label column", "separator auto"])
    place.write("tabs.txt", "1\t1:2\t3:1\n-1\t2:1\n")
    assert "2 rows, 3 features" in place.run("data", "inspect", "tabs.txt").stdout
    for word in ("", "?", "NA", "N/A", "nan", "NaN", "NULL", "null", "-"):
        lines = text.splitlines()
        lines[3] = lines[3].rsplit(",", 1)[0] + "," + word
        place.write("gap.csv", "\n".join(lines) + "\n")
        place.refuses("train", "--data", "gap.csv", says="gap.csv:4: column 'x3': the value is missing")
    place.write("comma.csv", text.replace(",", ";").replace(".", ","))
    place.refuses("train", "--data", "comma.csv", says=["has a decimal comma: add --decimal comma"])
    lines[3] = lines[3].rsplit(",", 1)[0] + ",blue"
    place.write("word.csv", "\n".join(lines) + "\n")
    place.refuses("train", "--data", "word.csv", says=["word.csv:4: column 'x3': 'blue' is not a number",
                                                       "categories auto"])


@case
def huge_values_are_found_again(place):
    """Their squares overflow: the sentence names file and line, of the right file among several."""
    rows = "label,a,b\n1,2,3\n-1,4,2\n1,3,4\n-1,5,4\n"
    place.write("one.csv", rows)
    place.write("two.csv", rows.replace("3,4", "3,-1e200"))
    place.write("two.libsvm", "1 1:2\n-1 1:3\n1 2:1e300\n")
    as_they_are = ["--standardise", "no", "--pictures", "no"]
    place.refuses("train", "--data", "two.csv", *as_they_are, says="two.csv:4: row 3 has a number that is too large")
    place.refuses("train", "--data", "one.csv", "--data", "two.csv", *as_they_are, says="two.csv:4: row 3")
    place.refuses("train", "--data", "two.libsvm", *as_they_are, says="two.libsvm:3: row 3")
    assert "1 agent (4 to 4 rows)" in place.run("data", "inspect", "two.csv").stdout
    place.write("four.csv", rows.replace("3,4", "3,1e999"))
    place.refuses("train", "--data", "four.csv", says="four.csv:4: column 'b': '1e999' is not a finite number")


@case
def what_is_tuned_is_what_is_trained(place):
    """tune and theory look at the job that train would do with data of your own."""
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 50, "--features", 3)
    trained = place.run("train", "--data", "g.csv", "--algorithm", "fed-plt", "--pictures", "no").stdout
    rho = trained.split("  rho ")[1].split()[0]
    proposed = json.loads(place.run("tune", "--data", "g.csv", "--json").stdout)["candidates"]
    assert rho in [f"{one['rho']:.6g}" for one in proposed if one["from"] == "auto"], (rho, proposed)
    theory = place.run("theory", "--data", "g.csv", "--picture", "none").stdout
    assert theory.split("\nrho ")[1].split()[1] == rho, theory
    other = place.run("theory", "--data", "g.csv", "--picture", "none", "--paper").stdout
    assert other.split("\nrho ")[1].split()[1] != rho


@case
def columns_are_found_by_name_in_every_file(place):
    for name, seed in (("a.csv", 1), ("b.csv", 2)):
        place.run("data", "generate", name, "--agents", 1, "--rows", 20, "--features", 3, "--seed", seed)
    place.run("train", "--data", "a.csv", "--data", "b.csv", "--site", "none", "--pictures", "no",
              "--out", "one")
    rows = [line.split(",") for line in (place.folder / "b.csv").read_text().splitlines()]
    place.write("c.csv", "\n".join(",".join(reversed(row)) for row in rows) + "\n")
    place.run("train", "--data", "a.csv", "--data", "c.csv", "--site", "none", "--pictures", "no",
              "--out", "two")
    assert weights(place, "one") == weights(place, "two")


@case
def advice_can_be_pasted(place):
    place.run("data", "generate", "my data.csv", "--agents", 2, "--rows", 20)
    text = place.run("train", "--data", "my data.csv", "--pictures", "no", "--out", "my model").stdout
    commands = [line.strip() for line in text.split("\nnext\n")[1].splitlines() if line.strip()]
    assert len(commands) == 3, commands
    rows = (place.folder / "my data.csv").read_text().splitlines()[1:]
    place.write("bare.csv", "\n".join([*rows, rows[0].rsplit(",", 1)[0] + ","]).replace(",", ";") + "\n")
    text = place.run("train", "--data", "bare.csv", "--pictures", "no", "--header", "no", "--label", 2, "--site", 1,
                     "--separator", "semicolon", "--missing", "drop", "--out", "bare").stdout
    commands += [line.strip() for line in text.split("\nnext\n")[1].splitlines() if line.strip()]
    assert len(commands) == 6, commands
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=place.folder, text=True, capture_output=True)
        assert done.returncode == 0, (command, done.stderr)


LENGTHY = (
    ["train", "--rounds", 10 ** 8, "--tolerance", 0, "--eval-every", 0],
    ["train", "--data", "wide.csv", "--algorithm", "fed-plt", "--rounds", 10 ** 6, "--tolerance", 0],
    ["compare", "--runs", 10 ** 5, "--pictures", "no"],
    ["compare", "--runs", 20, "--tune", "--points", 1000, "--pictures", "no"],
    ["paper", "--seeds", 10000],
    ["theory", "--generator", "paper", "--runs", 10000, "--show-rounds", 10000, "--participation",
     "bernoulli"],
    ["validate", "--data", "wide.csv", "--algorithm", "fed-plt", "--rounds", 10 ** 7, "--tolerance", 0],
    ["baseline", "--data", "wide.csv", "--algorithm", "fed-plt", "--rounds", 10 ** 7, "--tolerance", 0],
    ["privacy", "audit", "--privacy.tau", 1, "--runs", 10 ** 5, "--rounds", 50],
    ["privacy", "tradeoff", "--repeats", 10 ** 6, "--rounds", 10000],
    ["tune", "--by", "experiment", "--tune-rounds", 10 ** 9, "--tolerance", 1e-300, "--agents", 1000, "--rows", 1000],
)


def processor_seconds(process):
    """User and system time of a running process with its threads."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_seconds_to_end(place, words):
    """Processor time between SIGINT and the end of the process: other programs on the machine do not change it."""
    process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=place.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while processor_seconds(process) < 0.5 and time.monotonic() < deadline:
            time.sleep(0.02)
        before = processor_seconds(process)
        process.send_signal(signal.SIGINT)
        ended = 0
        while ended == 0:
            assert time.monotonic() < deadline + 60, (words, "does not end")
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode in (130, -signal.SIGINT), (words, process.returncode)
        return usage.ru_utime + usage.ru_stime - before
    finally:
        if process.poll() is None:
            process.kill()


@case
def an_interrupt_ends_every_command_within_a_second(place):
    """A second of processor time on each core; all these commands compute and none waits."""
    place.run("data", "generate", "wide.csv", "--agents", 5, "--rows", 400, "--features", 60)
    for words in LENGTHY:
        used = processor_seconds_to_end(place, words)
        assert used < os.cpu_count(), (words, used)


@case
def pictures_say_what_is_in_them(place):
    """Bars and a band around what is measured, chance beside it, dashes; every kind of file."""
    tradeoff = ["privacy", "tradeoff", "--agents", 2, "--rows", 40, "--rounds", 5, "--epsilons", "1,4", "--repeats", 3]
    audit = ["privacy", "audit", "--agents", 2, "--rows", 30, "--rounds", 3, "--epochs", 2, "--privacy.epsilon", 4,
             "--runs", 100]
    for kind, head in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        place.run(*tradeoff, "--picture", f"t.{kind}")
        place.run(*audit, "--picture", f"a.{kind}")
        place.run("privacy", "curve", "--form", kind)
        for name in (f"t.{kind}", f"a.{kind}", f"curve-tau.{kind}"):
            found = next(place.folder.rglob(name)).read_bytes()
            assert found.startswith(head), (name, found[:20])
    for words in (tradeoff, audit):  # before anything is run
        place.refuses(*words, "--picture", "t.gif", says="must be named .svg, .png or .pdf")
    drawn = (place.folder / "t.svg").read_text()
    assert "deviation over the repeats" in drawn and "stroke-dasharray" in drawn
    drawn = (place.folder / "a.svg").read_text()
    assert "by chance" in drawn and "confidence 0.9999" in drawn and "fill-opacity" in drawn


def watched(place, words, patience):
    """What stands on a terminal that is the program's standard error; ended when something does, or by `patience`."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=place.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown, begun, first = b"", time.monotonic(), None
    try:
        while time.monotonic() - begun < patience and b" left" not in shown:
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    shown += os.read(leader, 4096)
                except OSError:
                    break
                first = first or time.monotonic() - begun
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return shown.decode(), first


@case
def progress_is_shown_on_a_terminal_after_two_seconds(place):
    """From two seconds on, on a terminal; a pipe sees nothing."""
    for words, says in ((["theory", "--runs", 10000, "--participation", "bernoulli"], " of "),
                        (["privacy", "audit", "--privacy.tau", 1, "--runs", 10 ** 7, "--rounds", 50], " of ")):
        shown, first = watched(place, words, 30)
        assert says in shown and " left" in shown and first >= 2, (words, shown, first)
    process = subprocess.Popen([PROGRAM, "theory", "--runs", "10000", "--participation", "bernoulli"], cwd=place.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(2.5)
    process.kill()
    assert process.communicate() == (b"", b"")


if __name__ == "__main__":
    sys.exit(main())
