"""Custom costs over the network: agents that are processes of their own, against one process, to the bit."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import fedplt
from fedplt import federation

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = {"loss": "custom", "algorithm": "fed-plt", "rounds": 30, "epochs": 3, "tolerance": 0}
NAMES = ["north", "south", "west"]

# A program of a site: its cost, and the agent. argv: folder, coordinator, more settings as JSON.
SITE = '''
import json, sys, time
import numpy as np
import fedplt

class Cost:
    """Mean of 1 - tanh(margin), and a ridge: not convex. Slower with `pause`, which changes no number."""
    name, version, dimension = "tanh-margin", "1.0", 4
    digest = "ab" * 32

    def __init__(self, seed, pause=0.0):
        random = np.random.default_rng(seed)
        self.X = random.normal(size=(30, 4))
        self.y = np.where(self.X @ [1.0, -1.0, 0.5, 0.0] > 0, 1.0, -1.0)
        self.records, self.curvature, self.pause = 30, (-1.0, 8.0), pause

    def value_and_gradient(self, x):
        time.sleep(self.pause)
        t = np.tanh(self.y * (self.X @ x))
        return np.mean(1 - t) + 0.05 * x @ x, 0.1 * x - self.X.T @ (self.y * (1 - t * t)) / 30

    def hits(self, x):
        return int(np.sum(self.y * (self.X @ x) > 0))

if __name__ == "__main__":
    words = json.loads(sys.argv[1])
    cost = Cost(words.pop("seed"), words.pop("pause", 0.0))
    for name, value in words.pop("cost", {}).items():
        setattr(cost, name, value)
    if words.pop("without", False):
        cost = None
    agent = fedplt.Agent(cost=cost, once=True, proxy="off", on_event=lambda event: print(event["word"], event["sentence"],
                                                                                        flush=True), **words)
    agent.run()
'''


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


class Place:
    """A federation of three sites with a coordinator in this process and an agent in a process each."""

    def __init__(self, folder):
        self.folder, self.home = folder, folder / "home"
        self.address = f"127.0.0.1:{federation.free_port()}"
        federation.found(self.home, "trial", self.address)
        (folder / "site.py").write_text(SITE)
        for name in NAMES:
            (folder / name).mkdir()
            (folder / name / "agent.pem").write_text(federation.sign(self.home, federation.request(folder / name, name)))
        self.running = []

    def agent(self, name, policy=None, **more):
        words = {"coordinator": "https://" + self.address, "folder": str(self.folder / name), "seed": NAMES.index(name),
                 "out": str(self.folder / name / "out"),
                 "policy": {"federations": ["trial"], "epsilon": "off", "models": ["ab" * 32], **(policy or {})}, **more}
        log = open(self.folder / f"{name}.log", "ab")
        self.running.append(subprocess.Popen([sys.executable, str(self.folder / "site.py"), json.dumps(words)], stdout=log,
                                             stderr=log))
        return self.running[-1]

    def lead(self, model=None, **more):
        model = {"name": "tanh-margin", "version": "1.0", "dimension": 4, "digest": "ab" * 32, **(model or {})}
        return fedplt.Coordinator(**{"federation": "trial", "listen": self.address, "folder": self.home, "roster": NAMES,
                                     "out": self.folder / "out", "once": True, "train": TRAIN, "model": model,
                                     **more}).start()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def wait(self, leader, seconds=120):
        """The outcome; agents that are not needed any more are ended."""
        try:
            outcome = leader.join(seconds)
            assert outcome is not None and outcome["finished"], [self.log(name) for name in NAMES] + leader.events[-5:]
            for process in self.running:
                process.wait(60)
            return outcome
        finally:
            self.end(leader)

    def end(self, leader):
        leader.stop()
        leader.join(60)
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()

    def refused(self, says, seconds=60, **of_agent):
        """One site refuses: its sentence reaches the coordinator."""
        leader = self.lead(**of_agent.pop("lead", {}))
        try:
            for name in NAMES:
                self.agent(name, **(of_agent if name == "south" else {}))
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                if any(says in event["sentence"] and event["who"] == "south" for event in list(leader.events)):
                    return
                time.sleep(0.05)
            raise AssertionError((says, [event["sentence"] for event in leader.events], self.log("south")))
        finally:
            self.end(leader)


def costs_here():
    own = {}
    exec(SITE.replace('"__main__"', "None"), own)
    return [own["Cost"](seed) for seed in range(len(NAMES))]


def here(**more):
    """The same cost in one process."""
    settings = {name: value for name, value in {**TRAIN, **more}.items() if name != "loss" and value is not None}
    return fedplt.minimise(costs_here(), 4, **settings)


def weights(path):
    model = json.loads(pathlib.Path(path).read_text())
    assert model["loss"] == "custom" and model["model"] == {"name": "tanh-margin", "version": "1.0", "dimension": 4,
                                                            "digest": "ab" * 32}
    return model["weights"]


def test_three_processes_give_the_bits_of_one(place):
    leader = place.lead()
    for name in NAMES:
        place.agent(name)
    outcome = place.wait(leader)
    wanted = here().x.tolist()
    assert outcome["rounds"] == TRAIN["rounds"] and weights(outcome["model"]) == wanted and all(wanted)
    for name in NAMES:
        assert weights(place.folder / name / "out" / "model.json") == wanted
        assert "protection: secure aggregation" in place.log(name)
    record, costs = json.loads(pathlib.Path(outcome["model"]).read_text())["training"], costs_here()
    x = np.array(wanted)
    assert record["objective"] == pytest.approx(sum(cost.value_and_gradient(x)[0] for cost in costs), rel=1e-12)
    assert record["accuracy"] == sum(cost.hits(x) for cost in costs) / 90
    assert any(f", accuracy {record['accuracy']:.4f}" in event["sentence"] for event in leader.events)
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "schema" / "model-custom.schema.json").read_text())
    resolver = jsonschema.RefResolver((ROOT / "schema" / "model-custom.schema.json").as_uri(), schema)
    jsonschema.Draft7Validator(schema, resolver=resolver).validate(json.loads(pathlib.Path(outcome["model"]).read_text()))
    with pytest.raises(fedplt.Error, match="the model of the custom cost tanh-margin 1.0"):
        fedplt.Model.load(outcome["model"])


@pytest.mark.parametrize("aggregate, encoding", [("plain", "exact"), ("plain", "fixed16"), ("secure", "exact")])
def test_an_agent_that_is_killed_goes_on_with_the_same_bits(place, aggregate, encoding):
    """Two kills -9 of one agent while rounds run; the second process begins where the first was."""
    policy = {"models-off": ["ab" * 32]} if aggregate == "plain" else None
    leader = place.lead(aggregate=aggregate, train={**TRAIN, "encoding": encoding})
    for name in NAMES:
        place.agent(name, policy, pause=0.02)
    killed = 0
    ends = time.monotonic() + 120
    try:
        while killed < 2 and time.monotonic() < ends:
            rounds = max([event["round"] for event in list(leader.events) if event["word"] == "closed"], default=0)
            if rounds > 5 * (killed + 1):
                victim = place.running[1] if not killed else place.running[-1]
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                place.agent("south", policy, pause=0.02)
                killed += 1
            time.sleep(0.01)
    except BaseException:
        place.end(leader)
        raise
    outcome = place.wait(leader)
    assert killed == 2
    # with secure aggregation a round in which an agent is restarted is void: the others count
    rounds = TRAIN["rounds"] - sum(" is void with " in event["sentence"] for event in leader.events)
    assert rounds == TRAIN["rounds"] or aggregate == "secure"
    assert outcome["rounds"] == TRAIN["rounds"] and weights(outcome["model"]) == here(rounds=rounds,
                                                                                                  encoding=encoding).x.tolist()
    if encoding == "fixed16":  # the grid is seen in the model, which is a mean over three agents
        assert 0 < np.max(np.abs(here().x - weights(outcome["model"]))) < 2**-10


def test_an_encoding_is_refused_with_masked_words(place):
    with pytest.raises(fedplt.Error, match="masked words of 16 bytes, so that encoding: fixed32 saves nothing"):
        place.lead(aggregate="secure", train={**TRAIN, "encoding": "fixed32"}).join(60)


@pytest.mark.parametrize("train", [
    {"algorithm": "fed-plt", "participation": "fixed", "active": 2, "seed": 5},
    {"algorithm": "scaffold", "participation": "round-robin", "active": 2},
    {"algorithm": "fed-newton", "epochs": None}, {"algorithm": "fedlin"},
    {"algorithm": "fedavg", "gamma": 0.05, "gamma-decay": 0.8},
], ids=["fed-plt, two of three", "scaffold, in turn", "fed-newton", "fedlin, two exchanges", "fedavg, a step that decays"])
def test_algorithms_and_partial_participation_give_the_bits_of_one_process(place, train):
    """In threads of this process, with plain sums."""
    train = {name: value for name, value in {**TRAIN, "rounds": 8, **train}.items() if value is not None}
    leader = place.lead(train=train, aggregate="plain")
    agents = [fedplt.Agent(cost=cost, coordinator="https://" + place.address, folder=place.folder / name, proxy="off",
                           out=place.folder / name / "out", once=True,
                           policy={"federations": ["trial"], "epsilon": "off", "models": ["ab" * 32],
                                   "models-off": ["ab" * 32]}).start()
              for cost, name in zip(costs_here(), NAMES)]
    try:
        outcome = leader.join(60)
        assert outcome is not None and outcome["finished"], leader.events
    finally:
        for one in (leader, *agents):
            one.stop()
            one.join(20)
    assert weights(outcome["model"]) == here(**{"epochs": None, **{name.replace("-", "_"): value for name, value in train.items()}}).x.tolist()


@pytest.mark.parametrize("of_agent, says", [
    ({"without": True}, "this agent has no cost of its own"),
    ({"cost": {"digest": "cd" * 32}}, "with digest abababababababab..., but this agent has tanh-margin 1.0 with digest cdcd"),
    ({"cost": {"dimension": 5}}, "has 4 parameters, but this agent's has 5"),
    ({"policy": {"models": ["cd" * 32]}}, "policy.models: does not have " + "ab" * 32),
    ({"lead": {"aggregate": "plain"}}, "it needs `aggregate: secure`"),
], ids=["no cost", "digest", "dimension", "policy", "plain"])
def test_a_site_refuses_with_a_sentence(place, of_agent, says):
    place.refused(says, **of_agent)


def test_consent_shows_the_model_and_its_protection(place):
    """A person is asked where there is no policy; in threads of this process, with FedAvg and plain sums."""
    own, shown = {}, []
    exec(SITE.replace('"__main__"', "None"), own)
    train = {"loss": "custom", "algorithm": "fedavg", "rounds": 5, "epochs": 2, "tolerance": 0}
    leader = place.lead(train=train, aggregate="plain")
    agents = [fedplt.Agent(cost=own["Cost"](seed), coordinator="https://" + place.address, folder=place.folder / name,
                           out=place.folder / name / "out", once=True, proxy="off", policy={"models-off": ["ab" * 32]},
                           agree=lambda proposal, digest: shown.append(proposal) or True).start()
              for seed, name in enumerate(NAMES)]
    try:
        outcome = leader.join(60)
        assert outcome is not None and outcome["finished"], leader.events
    finally:
        for one in (leader, *agents):
            one.stop()
            one.join(20)
    assert "model       tanh-margin 1.0, 4 parameters, digest " + "ab" * 32 in shown[0]
    assert "protection  none: disclosure rules are off for this digest, and exact updates leave" in shown[0]
    assert weights(outcome["model"]) == fedplt.minimise([own["Cost"](seed) for seed in range(3)], 4, algorithm="fedavg",
                                                        rounds=5, epochs=2, tolerance=0).x.tolist()


def test_what_a_cost_raises_comes_out(place):
    own = {}
    exec(SITE.replace('"__main__"', "None"), own)

    class Broken(own["Cost"]):
        def value_and_gradient(self, x):
            raise LookupError("the rows are gone")

    leader = place.lead()
    agent = fedplt.Agent(cost=Broken(0), coordinator="https://" + place.address, folder=place.folder / "north", proxy="off",
                         policy={"federations": ["trial"], "epsilon": "off", "models": ["ab" * 32]}).start()
    for name in NAMES[1:]:
        place.agent(name)
    try:
        with pytest.raises(LookupError, match="the rows are gone"):
            agent.join(60)
            assert agent.failure is None, "still running"
    finally:
        agent.stop()
        place.end(leader)


def test_digests_and_costs_that_lack_a_name(tmp_path):
    assert federation.digest("a", "b") != federation.digest("ab") and len(federation.digest()) == 64
    assert federation.digest(Place) == federation.digest(Place) != federation.digest(Place, "more")
    with pytest.raises(fedplt.BadValue, match="the cost has no name and no version and no digest and no dimension"):
        fedplt.Agent(cost=object(), folder=tmp_path, coordinator="https://127.0.0.1:1")
