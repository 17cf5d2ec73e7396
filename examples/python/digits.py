#!/usr/bin/python3
"""Handwritten digits at four sites: a network of torch over mutual TLS by Fed-PLT, FedAvg and SCAFFOLD, side by side. Every
site is a process of its own, and one of them is killed and started again while each run goes on.

usage: PYTHONPATH=build/python python3 examples/python/digits.py [FOLDER [ROUNDS [secure|plain|private]]]

Prints accuracy on held-out rows, rounds and bytes, and writes digits.png and the models into FOLDER. The sites turn
the disclosure rules off for this digest (policy.models-off), because minibatches and a given rho are against them; the
coordinator still sees sums only. Every round waits for all sites. With `plain` it sees the updates, and the models have the bits of a run in one process.

With `private` there is one run, by FedAvg with one noisy step a round, which promises (8, 1e-5)-differential privacy of every record
against the coordinator and everybody else. Every site has a budget of 8.5, the sums are plain, and no rule is off."""
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

import numpy as np
import torch
from sklearn.datasets import load_digits

import fedplt
from fedplt import federation

SITES = ["basel", "bern", "chur", "zug"]
COMMON = {"solver": "sgd", "batch": 32, "epochs": 12, "gamma": 0.3, "gamma-decay": 0.99, "tolerance": 0}
ALGORITHMS = {"fed-plt": {"rho": 3.0}, "fedavg": {}, "scaffold": {}}
PRIVATE = {"algorithm": "fedavg", "clip": 1.0, "gamma": 1.0}
EPSILON = 8.0


def digits():
    """Rows and labels, and which rows each site has: half of them by chance, half sorted by digit, so that sites are unlike.
    The last 360 rows of the shuffled data are for testing."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    X, y = found.data[order] / 16, found.target[order]
    train, parts = np.arange(len(y) - 360), len(SITES)
    mixed, sorted_rows = train[: len(train) // 2], train[len(train) // 2:]
    sorted_rows = sorted_rows[np.argsort(y[sorted_rows], kind="stable")]
    rows = [np.concatenate(two) for two in zip(np.array_split(mixed, parts), np.array_split(sorted_rows, parts))]
    return X, y, rows


def site(number):
    """The cost of a site. All sites make the same module, so that the digest is the same."""
    X, y, rows = digits()
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10)).double()
    return fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X[rows[number]], y[rows[number]], alpha=1e-3,
                             name="digits-mlp", curvature=(0.0, 10.0))


def runs_of(sums):
    """Names of the runs, each with its settings."""
    if sums == "private":
        return {"private": PRIVATE}
    return {name: {"algorithm": name, "eval-every": 5, **COMMON, **more} for name, more in ALGORITHMS.items()}


def be_site(name, folder, sums):
    """The process of a site: takes part in one run after the other."""
    torch.set_num_threads(1)
    cost = site(SITES.index(name))
    policy = {"federations": ["digits"], "models": [cost.digest],
              **({"epsilon": EPSILON + 0.5} if sums == "private" else {"epsilon": "off", "models-off": [cost.digest]})}
    more = {"ledger_account": "digits"} if sums == "private" else {}
    for run in runs_of(sums):
        home = folder / run
        while not (home / "ready").exists():
            time.sleep(0.05)
        if not (home / "done").exists():
            fedplt.Agent(cost=cost, folder=home / name, out=home / name / "out", once=True, proxy="off", policy=policy,
                         coordinator="https://" + (home / "ready").read_text(), **more).run()


class Sites:
    """The processes of the sites."""

    def __init__(self, folder, sums):
        self.command = lambda name: [sys.executable, __file__, "site", name, str(folder), sums]
        self.process = {name: subprocess.Popen(self.command(name)) for name in SITES}

    def kill(self, name):
        self.process[name].kill()
        self.process[name].wait()
        self.process[name] = subprocess.Popen(self.command(name))

    def end(self):
        for process in self.process.values():
            process.kill()
            process.wait()


def prepare(home):
    """Authority and certificates of a federation."""
    address = f"127.0.0.1:{federation.free_port()}"
    federation.found(home / "coordinator", "digits", address)
    for name in SITES:
        (home / name).mkdir()
        (home / name / "agent.pem").write_text(federation.sign(home / "coordinator", federation.request(home / name, name)))
    return address


def lead(home, train, cost, rounds, sums, sites):
    """One run; kills a site after a third of the rounds. Returns the leader and the bytes of both directions."""
    address = prepare(home)
    promise = {"privacy": {"epsilon": EPSILON}} if sums == "private" else {}
    leader = fedplt.Coordinator(
        federation="digits", folder=home / "coordinator", listen=address, roster=SITES, once=True, out=home / "out",
        quorum=len(SITES), aggregate="plain" if sums == "private" else sums,
        model={key: getattr(cost, key) for key in ("name", "version", "dimension", "digest")},
        train={"loss": "custom", "rounds": rounds, **train}, **promise).start()
    (home / "ready.part").write_text(address)
    (home / "ready.part").rename(home / "ready")
    killed, status = False, {}
    while leader.join(0.05) is None:
        done = max((event["round"] for event in list(leader.events) if event["word"] == "closed"), default=0)
        refused = [event["sentence"] for event in list(leader.events) if event["word"] == "refused"]
        if refused:
            leader.stop()
            raise SystemExit("refused: " + refused[0])
        if not killed and done >= rounds // 3:
            sites.kill("chur")
            killed = True
        page = next((re.search(r"http://\S+", event["sentence"]) for event in list(leader.events)
                     if event["word"] == "started"), None)
        try:
            status = json.load(urllib.request.urlopen(page.group() + "status.json", timeout=5)) if page else status
        except (OSError, ValueError):
            pass  # the coordinator has just ended
    (home / "done").touch()
    return leader, status


def accuracy(cost, weights):
    """On the held-out rows."""
    X, y, _ = digits()
    output = cost.load(weights)(torch.as_tensor(X[-360:]))
    return float((output.argmax(1).numpy() == y[-360:]).mean())


def plot(curves, path):
    try:
        import matplotlib
        matplotlib.use("agg")
        import matplotlib.pyplot as plt
    except ImportError as absent:
        print("no picture:", absent)
        return
    figure, axes = plt.subplots(figsize=(6, 4))
    for algorithm, points in curves.items():
        axes.plot(*zip(*points), marker="o", label=algorithm)
    axes.set(xlabel="round", ylabel="accuracy on the sites' rows")
    axes.legend()
    figure.savefig(path, dpi=120)


def main(folder=".", rounds="40", sums="secure"):
    folder, rounds = pathlib.Path(folder).resolve(), int(rounds)
    torch.set_num_threads(1)
    runs = runs_of(sums)
    for run in runs:
        (folder / run).mkdir(parents=True)
    cost, sites, curves = site(0), Sites(folder, sums), {}
    print("algorithm  accuracy  rounds  void  MB up  MB down")
    try:
        for algorithm, train in runs.items():
            leader, status = lead(folder / algorithm, train, cost, rounds, sums, sites)
            weights = json.loads(pathlib.Path(leader.outcome["model"]).read_text())["weights"]
            void = sum(event["word"] == "void" for event in leader.events)
            print(f"{algorithm:10} {accuracy(cost, weights):8.3f} {leader.outcome['rounds']:7} {void:5} "
                  f"{status.get('bytes_up', 0) / 1e6:6.1f} {status.get('bytes_down', 0) / 1e6:8.1f}", flush=True)
            found = [(event["round"], re.search(r"accuracy ([\d.]+)", event["sentence"])) for event in leader.events
                     if event["word"] == "measured"]
            curves[algorithm] = [(number, float(match.group(1))) for number, match in found if match]
    finally:
        sites.end()
    if sums == "private":  # nothing was measured
        print("the certificate", "holds" if fedplt.privacy.verify(folder / "private" / "out" / "model.json") else "is wrong")
    else:
        plot(curves, folder / "digits.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["site"]:
        be_site(sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4])
    else:
        main(*sys.argv[1:])
