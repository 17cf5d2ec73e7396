"""Hub and nodes in processes: encoded, killed, restored, the same bits as one process."""
import multiprocessing

import numpy as np
import pytest

import fedplt
from fedplt.steps import Hub, Node, Plan

AGENTS, N = 3, 4


def shard(agent):
    random = np.random.default_rng(agent)
    X = random.normal(size=(25, N)) + agent
    return fedplt.Dataset(X, np.where(X[:, 0] - agent + random.logistic(size=25) > 0, 1, 0), task="binary")


def node(plan, agent):
    return Node(plan, shard(agent), agent, alpha=0.1, epochs=3)


def plan_of(algorithm):
    return Plan(algorithm, AGENTS, N, seed=5, lmin=0.1, lmax=4.0, step=0.05, epochs=3)


def answer(plan, agent, state, question, finish, connection):
    """A process that lives for one message."""
    one = node(Plan.decode(plan), agent)
    if state:
        one.restore(state)
    if question is None and finish is None:
        connection.send((one.enrol(), bytes(one)))
    elif finish is not None:
        one.accept(finish)
        connection.send((b"", bytes(one)))
    else:
        connection.send((one.train(question), bytes(one)))
    connection.close()


def elsewhere(*arguments):
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=answer, args=(*arguments, there))
    process.start()
    found = here.recv()
    process.join()
    return found


def drive(plan, rounds, ask):
    """The coordinator; it too is encoded, forgotten and restored between rounds."""
    hub = Hub(plan)
    for agent in range(AGENTS):
        hub.enrol(ask(agent, None, None))
    state = bytes(hub)
    for number in range(rounds):
        hub = Hub(plan)
        hub.restore(state)
        question = hub.ask(number)
        while hub.asks:
            for agent in reversed(range(AGENTS)):
                hub.receive(ask(agent, question, None))
            question = hub.absorb()
        for agent in range(AGENTS):
            ask(agent, None, question)
        state = bytes(hub)
    return hub.model()


@pytest.mark.parametrize("algorithm", ["fed-plt", "fedlin", "scaffold"])
def test_processes_that_die_have_the_same_bits(algorithm):
    plan = plan_of(algorithm)
    nodes = [node(plan, agent) for agent in range(AGENTS)]

    def in_memory(agent, question, finish):
        one = nodes[agent]
        if finish is not None:
            return one.accept(finish) or b""
        return one.enrol() if question is None else one.train(question)

    states = [b""] * AGENTS

    def in_processes(agent, question, finish):
        message, states[agent] = elsewhere(bytes(plan), agent, states[agent], question, finish)
        return message

    rounds = 4
    x = drive(plan, rounds, in_memory)
    assert np.linalg.norm(x) > 0.01
    assert x.tobytes() == drive(plan, rounds, in_processes).tobytes()


def test_a_federation_by_hand_is_the_engine():
    rows = [shard(agent) for agent in range(AGENTS)]
    X = np.vstack([one.rows.dense for one in rows])
    y = np.concatenate([one.label for one in rows])
    run = fedplt.train(X, y, np.repeat(range(AGENTS), 25), algorithm="fed-plt", rho=0.8, gamma=0.1, epochs=3,
                       eps=0.1, loss="logistic", paper=True, rounds=6, tolerance=0)
    plan = Plan("fed-plt", AGENTS, N, lmin=0.1, lmax=4.0, rho=0.8)
    nodes = [Node(plan, shard(agent), agent, alpha=0.1, epochs=3, step=0.1) for agent in range(AGENTS)]

    def ask(agent, question, finish):
        one = nodes[agent]
        if finish is not None:
            return one.accept(finish)
        return one.enrol() if question is None else one.train(question)

    assert drive(plan, 6, ask).tobytes() == run.x.tobytes()


def private_drive(promise, seed=0):
    """Hub and nodes of a promise, by hand."""
    plan = Plan.of(promise, seed=seed)
    nodes = [Node(plan, shard(agent), agent, promise=promise) for agent in range(AGENTS)]

    def ask(agent, question, finish):
        one = nodes[agent]
        if finish is not None:
            return one.accept(finish)
        return one.enrol() if question is None else one.train(question)

    return drive(plan, promise.rounds, ask), nodes


def test_a_promise_by_hand_is_the_engine():
    """With simulated noise a plan made from public numbers gives the bits of a private training."""
    rows = [shard(agent) for agent in range(AGENTS)]
    X = np.vstack([one.rows.dense for one in rows])
    y = np.concatenate([one.label for one in rows])
    privacy = fedplt.Privacy(3, rows=1.5, noise="simulated")
    run = fedplt.train(X, y, np.repeat(range(AGENTS), 25), privacy=privacy, eps=0.1, loss="logistic", seed=5)
    promise = fedplt.privacy.plan(privacy, [25] * AGENTS, N, 2, eps=0.1, loss="logistic", seed=5)
    assert promise.rounds == run.rounds
    x, _ = private_drive(promise, seed=5)
    assert x.tobytes() == run.x.tobytes()


def test_a_promise_by_hand_is_certified():
    promise = fedplt.privacy.plan(fedplt.Privacy(3, rows=1.5), [25] * AGENTS, N, 2, eps=0.1, spare=1,
                                  names=["a", "b", "c"])
    assert 2.9 < promise.epsilon <= 3 and promise.paid_rounds == promise.rounds + 1
    x, nodes = private_drive(promise)
    other, _ = private_drive(promise)
    assert x.tobytes() != other.tobytes()  # the noise is the system's
    model = promise.model(x, classes=["no", "yes"])
    assert fedplt.privacy.verify(model) and model.certificate["agents"][1]["name"] == "b"
    assert fedplt.privacy.verify(model).epsilon <= 3
    assert np.allclose(model.weights, x, rtol=0, atol=0)
    moved = promise.model(np.nextafter(x, 9))
    assert not fedplt.privacy.verify(model.certificate, moved)
    with pytest.raises(fedplt.BadValue, match="pays for"):
        promise.model(x, [promise.paid_rounds + 1] * AGENTS)
    hub = Hub(nodes[0].plan)
    for number in range(promise.rounds, promise.paid_rounds):  # the spare one, and no more
        nodes[0].train(hub.ask(number))
    with pytest.raises(fedplt.BadValue):
        nodes[0].train(hub.ask(promise.paid_rounds))
    with pytest.raises(fedplt.Unsupported, match="privacy.rows"):
        fedplt.privacy.plan(fedplt.Privacy(3, rows=None), [25] * AGENTS, N, 2)


def test_wrong_messages_are_refused():
    plan = plan_of("fed-plt")
    hub, one = Hub(plan), node(plan, 0)
    with pytest.raises(fedplt.BadValue, match="bytes"):
        hub.enrol(b"short")
    with pytest.raises(fedplt.BadValue, match="nothing was asked"):
        hub.receive(b"")
    with pytest.raises(fedplt.Error):
        one.restore(bytes(hub))
    with pytest.raises(fedplt.Error):
        Plan.decode(b"\x09rubbish")
    with pytest.raises(fedplt.BadValue, match="no parameter"):
        Plan("fed-plt", 2, 3, roh=1)
    with pytest.raises(fedplt.BadValue, match="no solver 'sdg'"):
        Plan("fed-plt", 2, 3, solver="sdg")
    with pytest.raises(fedplt.BadValue, match="the largest curvature must be a positive number"):
        Plan("fed-plt", 2, 3, lmax=0.0)
    with pytest.raises(fedplt.BadValue, match="fedavg needs one step size for all agents: give step, or lmin and lmax"):
        Plan("fedavg", 2, 3)
    assert Plan.decode(bytes(plan)).algorithm == "fed-plt"


def test_the_common_step_is_automatic():
    """The last number but one of an encoded plan; 2/(lmax Ne (Ne + 3)) for FedLin with momentum, 0 where each has its own."""
    def step(*words, **settings):
        return np.frombuffer(bytes(Plan(*words, AGENTS, N, lmin=0.1, lmax=4.0, epochs=3, **settings))[-16:-8])[0]
    assert step("fedlin", solver="accelerated") == pytest.approx(2 / (4 * 3 * 6), rel=1e-14)
    assert step("fedlin") != step("fedlin", solver="accelerated")
    assert step("fedavg", step=0.25) == 0.25
    assert step("fed-plt") == step("fed-plt", step=0.25) == step("fedprox", solver="newton") == 0


@pytest.mark.parametrize("algorithm", ["fed-plt", "fedlin"])
def test_questions_cut_or_changed_are_refused(algorithm):
    """Whatever arrives instead of a question: a sentence, and the node answers the true one as before."""
    plan = plan_of(algorithm)
    hub, one, other = Hub(plan), node(plan, 0), node(plan, 0)
    for agent in range(AGENTS):
        hub.enrol(node(plan, agent).enrol())
    question = hub.ask(0)
    for length in range(len(question)):
        with pytest.raises(fedplt.Error):
            one.train(question[:length])
    with pytest.raises(fedplt.BadValue, match="bytes"):
        one.train(question + bytes(8))
    for place, value in ((0, 255), (3, 255), (4, 7), (7, 200)):  # length and number of the exchange
        with pytest.raises(fedplt.Error):
            one.train(question[:place] + bytes([value]) + question[place + 1:])
    with pytest.raises(fedplt.BadValue, match="ends no round"):
        one.accept(question)
    assert one.train(question) == other.train(question)


def test_points_and_numbers_are_checked():
    plan = plan_of("fed-plt")
    for start in (np.zeros(N - 1), np.zeros((N, 1)), 0.0):
        with pytest.raises(fedplt.BadValue, match="start has shape"):
            Hub(plan, start)
        with pytest.raises(fedplt.BadValue, match="start has shape"):
            Node(plan, shard(0), 0, start=start)
    for which in (-1, 1):
        with pytest.raises(fedplt.BadValue, match="which is"):
            Node(plan, shard(0), 0, which=which)
    with pytest.raises(fedplt.BadValue, match="dimension"):
        Node(Plan("fed-plt", 2, N + 1), shard(0), 0)
    with pytest.raises(fedplt.BadValue, match="nothing was asked"):
        Hub(plan).absorb()


class Broken:
    curvature = (1.0, 1.0)

    def __init__(self, word):
        self.word = word

    def value_and_gradient(self, x):
        raise LookupError(self.word)


def test_nodes_that_share_costs_raise_their_own():
    plan = Plan("fed-plt", 2, 3, rho=1.0)
    costs = fedplt.Costs([Broken("first"), Broken("second")], 3)
    nodes = [Node(plan, costs, number, which=number) for number in range(2)]
    question = Hub(plan).ask(0)
    for one, says in zip(nodes, ("first", "second")):
        with pytest.raises(LookupError, match=says):
            one.train(question)
