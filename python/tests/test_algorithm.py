"""Algorithms in Python against the same ones in C, to the bit: by compare, and by hub and nodes in processes that die."""
import numpy as np
import pytest

import fedplt
from fedplt.steps import Hub, Node, Plan
from test_steps import AGENTS, N, drive, node, shard


class FedAvg(fedplt.Algorithm):
    name = "my-fedavg"

    def local(self, agent, round, x):
        return agent.minimise(x)

    def absorb(self, hub, round, sum):
        hub.vectors[0] = sum / round.active


class FedPLT(fedplt.Algorithm):
    name, parameters = "my-fed-plt", {"rho": None}
    kept, mirrored, vectors, exchanges, local_model = 2, 1, 0, ((1, 0),), 1
    composite, common_step = True, False

    def choose(self, facts):
        return {"rho": 1 / np.sqrt(facts.lmin * facts.lmax)}

    def inverse_rho(self, facts, parameter):
        return 1 / parameter["rho"]

    def begin(self, start, second):
        return [second, start]

    def model(self, hub):
        return hub.prox(hub.parameter["rho"] / hub.agents, hub.totals[0] / hub.agents)

    def local(self, agent, round, y):
        z, x = agent.kept
        agent.staged[1] = agent.minimise(x, centre=2 * y - z, inverse_rho=1 / agent.parameter["rho"])
        agent.staged[0] = z + 2 * (agent.staged[1] - y)


class Scaffold(fedplt.Algorithm):
    name = "my-scaffold"
    kept, mirrored, exchanges, minimiser = 1, 1, ((2, 1),), "it divides by the step"

    def broadcast(self, hub, round):
        return [hub.vectors[0], hub.totals[0] / hub.agents]

    def local(self, agent, round, down):
        x, c = down
        w = agent.minimise(x, linear=c - agent.kept[0])
        agent.staged[0] = agent.kept[0] - c + (x - w) / (agent.epochs * agent.step)
        return w - x

    def absorb(self, hub, round, sum):
        hub.vectors[0] += 1 / round.active * sum


class Led(fedplt.Algorithm):
    name, parameters = "my-led", {"beta": None}
    kept, held, finish_down = 1, 1, 1
    partial, minimiser = "the corrections must add up to zero", "it divides by the step"

    def choose(self, facts):
        return {"beta": 1 / facts.epochs}

    def step(self, facts, parameter):
        return 0.4 / facts.lmax

    def local(self, agent, round, x):
        agent.held[0] = agent.minimise(x, linear=agent.parameter["beta"] / agent.step * agent.kept[0])
        return agent.held[0]

    def absorb(self, hub, round, sum):
        hub.vectors[0] = sum / round.active

    def finish(self, agent, round, x):
        agent.staged[0] = agent.kept[0] + (agent.held[0] - x)


class FedLin(fedplt.Algorithm):
    name = "my-fedlin"
    held, vectors, exchanges = 2, 2, ((1, 1), (1, 1))
    partial, minimiser = "it needs the gradients of all", "its local cost is to be followed"

    def broadcast(self, hub, round):
        return hub.vectors[round.exchange]

    def local(self, agent, round, down):
        if round.exchange == 0:
            agent.held[:] = down, agent.gradient(down)
            return agent.held[1]
        return agent.minimise(agent.held[0], linear=down - agent.held[1])

    def absorb(self, hub, round, sum):
        hub.vectors[1 - round.exchange] = sum / round.active


METHODS = {"fedavg": FedAvg, "fed-plt": FedPLT, "scaffold": Scaffold, "led": Led, "fedlin": FedLin}


def same_curves(found, one, other):
    curves = [found.curves[found.curves["algorithm"] == name].drop(columns="algorithm").to_numpy() for name in (one, other)]
    assert len(curves[0]) > 5 and curves[0].tolist() == curves[1].tolist()
    rows = found.table.set_index("algorithm").loc[[one, other]]
    assert rows["rounds"].nunique(dropna=False) == rows["gradients"].nunique(dropna=False) == 1
    assert rows["vectors"].nunique(dropna=False) == rows["step"].nunique(dropna=False) == 1


@pytest.mark.parametrize("name", METHODS)
def test_compare_gives_the_bits_of_the_library(name, binary):
    pytest.importorskip("pandas")
    X, y, sites = binary
    method = METHODS[name]()
    found = fedplt.compare([name, method], runs=1, X=X, y=y, sites=sites, eps=0.1, intercept=False,
                           epochs=3, rounds=40, tolerance=1e-12)
    same_curves(found, name, method.name)


def test_partial_participation_and_h(binary):
    pytest.importorskip("pandas")
    X, y, sites = binary
    method = FedPLT()
    found = fedplt.compare(["fed-plt", method], runs=2, X=X, y=y, sites=sites, eps=0.1, intercept=False, epochs=3,
                           rounds=40, h="l1", h_weight=0.05, participation="fixed", active=2, tolerance=1e-14)
    same_curves(found, "fed-plt", "my-fed-plt")
    refused = fedplt.compare([Led(), "fed-plt"], runs=1, X=X, y=y, sites=sites, rounds=5, participation="fixed", active=2)
    assert "my-led needs every agent in every round: the corrections must add up to zero" in refused.table["refusal"][0]



@pytest.mark.parametrize("name", METHODS)
def test_hub_and_nodes_that_are_encoded_give_the_bits_of_the_library(name):
    """Every node lives for one message, as in a process that is killed after it."""
    def run(algorithm, own):
        plan = Plan(algorithm, AGENTS, N, seed=5, lmin=0.1, lmax=4.0, step=0.05, epochs=3)
        words, states = bytes(plan), {}

        def ask(agent, question, finish):
            one = node(Plan.decode(words, own), agent)
            if agent in states:
                one.restore(states[agent])
            if finish is not None:
                one.accept(finish)
            answer = b"" if finish is not None else one.enrol() if question is None else one.train(question)
            if question is not None:
                assert one.train(question) == answer  # asked again, the same without computing
            states[agent] = bytes(one)
            return answer

        return drive(plan, 6, ask)

    method = METHODS[name]()
    assert run(method, METHODS[name]()).tolist() == run(name, None).tolist()


def test_mirrored_vectors_are_on_the_grid_of_the_sum():
    class Tiny(fedplt.Algorithm):
        name, kept, mirrored, vectors, exchanges = "tiny", 1, 1, 0, ((1, 0),)

        def begin(self, start, second):
            return start + 1e-18 / 3

        def local(self, agent, round, x):
            assert (agent.kept * 2.0**64 == np.round(agent.kept * 2.0**64)).all()
            agent.staged[0] = agent.kept[0] + 1e-17 / 3

        def model(self, hub):
            return hub.totals[0]

    tiny = Tiny()
    plan = Plan(tiny, 2, N, step=0.1)
    hub, nodes = Hub(plan), [Node(plan, shard(agent), agent) for agent in range(2)]
    for one in nodes:
        hub.enrol(one.enrol())
    for number in range(3):
        question = hub.ask(number)
        for one in nodes:
            hub.receive(one.train(question))
        hub.absorb()
        for one in nodes:
            one.accept()
    assert hub.model() == pytest.approx(2 * (1e-18 / 3 + 3e-17 / 3), abs=8 * 2.0**-65)


def test_numbers_scalars_and_common_randomness():
    class Coin(fedplt.Algorithm):
        """Every agent sends its index and a coin that all toss alike; the hub counts."""
        name, numbers, scalars, exchanges, partial = "coin", 3, 1, ((1, 0, 2),), "it counts all"

        def plan(self, hub, round):
            return [10.0 * round.number]

        def local(self, agent, round, x):
            return None, [agent.index, round.uniform(3)[2] + round.scalars[0]]

        def absorb(self, hub, round, sum):
            vectors, numbers = sum
            assert vectors.shape == (0, N)
            hub.numbers[:2] += numbers
            hub.numbers[2] = round.uniform(3)[2]

        def model(self, hub):
            return [*hub.numbers, hub.agents]

    coin = Coin()
    plan = Plan(coin, AGENTS, N, seed=9, step=0.1)
    hub, nodes = Hub(plan), [Node(plan, shard(agent), agent) for agent in range(AGENTS)]
    for number in range(2):
        question = hub.ask(number)
        for one in nodes:
            hub.receive(one.train(question))
        hub.absorb()
        for one in nodes:
            one.accept()
    indices, coins, last, agents = hub.model()
    assert indices == 2 * 3 and agents == 3
    assert coins == pytest.approx(3 * 10 + 3 * last + 3 * first_coin(plan), abs=1e-12) and last != first_coin(plan)


def first_coin(plan):
    from fedplt._fedplt import ffi, lib
    stream = ffi.new("fplt_stream *", lib.fplt_stream_make(9, 0, lib.FPLT_FOR_SHARED, 0, 0, 0))
    return [lib.fplt_stream_uniform(stream) for _ in range(3)][2]


@pytest.mark.parametrize("of_class, says", [
    ({"name": "Bad Name"}, "name is 'Bad Name', but must be 1 to 31"), ({"name": "fed-plt"}, "take another"),
    ({"exchanges": ()}, "exchanges is \\(\\), but must be one or two"), ({"mirrored": 1}, "mirrored is 1, but"),
])
def test_what_a_class_says_is_checked(of_class, says):
    with pytest.raises(fedplt.BadValue, match=says):
        type("Bad", (FedAvg,), of_class)()


def test_parameters_instances_and_slots():
    with pytest.raises(fedplt.BadValue, match="my-fed-plt has no parameter 'mu'; it has rho"):
        FedPLT(mu=1)
    with pytest.raises(fedplt.BadValue, match="must be an instance of it: FedPLT()"):
        Plan(FedPLT, 3, 4)
    with pytest.raises(fedplt.BadValue, match="there is no algorithm 'nothing'"):
        Plan("nothing", 3, 4)
    with pytest.raises(AttributeError, match="keeps its state in hub.vectors"):
        FedPLT().memory = 3
    with pytest.raises(fedplt.BadData, match="no algorithm is called my-fed-plt"):
        Plan.decode(bytes(Plan(FedPLT(rho=1), 3, 4)))
    many = []
    with pytest.raises(fedplt.BadValue, match="32 algorithms in Python exist already"):
        while len(many) < 100:
            many.append(FedAvg())
    del many
    FedAvg()


class Broken(FedAvg):
    name, where = "broken", "local"

    def local(self, agent, round, x):
        if self.where == "shape":
            return x[:2]
        return self.fail("local") or (agent.kept.__setitem__(0, 1) if self.where == "kept" else super().local(agent, round, x))

    def absorb(self, hub, round, sum):
        self.fail("absorb")
        super().absorb(hub, round, sum)

    def broadcast(self, hub, round):
        if self.where == "read-only":
            hub.vectors[0] = 0
        return self.fail("broadcast") or super().broadcast(hub, round)

    def fail(self, where):
        if self.where == where:
            raise LookupError(where + " is lost")


@pytest.mark.parametrize("where, kind, says", [
    ("local", LookupError, "local is lost"), ("absorb", LookupError, "absorb is lost"),
    ("broadcast", LookupError, "broadcast is lost"), ("read-only", ValueError, "read-only"),
    ("shape", fedplt.BadValue, r"broken: local gave shape \(2,\), but must give 1 vector\(s\) of 4"),
])
def test_what_a_method_raises_comes_out(where, kind, says, binary):
    pytest.importorskip("pandas")
    method = type("Broken", (Broken,), {"where": where})()
    X, y, sites = binary
    with pytest.raises(kind, match=says):
        fedplt.compare([method], runs=1, X=X, y=y, sites=sites, rounds=5, intercept=False)
    plan = Plan(method, 1, N, step=0.1)
    with pytest.raises(kind, match=says):
        hub, one = Hub(plan), Node(plan, shard(0), 0)
        hub.receive(one.train(hub.ask(0)))
        hub.absorb()


def test_divergence_is_the_librarys(binary):
    pytest.importorskip("pandas")
    X, y, sites = binary
    found = fedplt.compare([FedAvg(), "fedavg"], runs=1, X=X, y=y, sites=sites, loss="least-squares", gamma=1e4, rounds=50)
    assert found.table["diverged"].tolist() == [1, 1]
