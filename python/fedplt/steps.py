"""A federation driven by hand, over any transport: messages are bytes.

    plan = Plan("fed-plt", agents=3, dimension=4, rho=1.0)
    hub, node = Hub(plan), Node(plan, costs, 0, epochs=5)
    hub.enrol(node.enrol())                                      # once an agent
    question = hub.ask(number, active=3)                         # a round
    hub.receive(node.train(question))                            # each agent
    finish = hub.absorb()                                        # once all have answered
    node.accept(finish)

Hub and node are encoded whole, so that a restarted or stateless process goes on: `bytes(node)`,
`node.restore(...)`."""
from __future__ import annotations

import struct
from typing import Any

import numpy as np

from fedplt._core import BadValue, Vector, Watcher, call, error_of, text
from fedplt._data import Dataset
from fedplt._fedplt import ffi, lib
from fedplt.algorithm import Algorithm, find
from fedplt.costs import Costs
from fedplt.privacy import Promise


def _encode(function: Any, *arguments: Any) -> bytes:
    size = function(*arguments, ffi.NULL, 0)
    room = ffi.new("char[]", size)
    function(*arguments, room, size)
    return bytes(ffi.buffer(room, size))


def _check(status: int) -> None:
    if status:
        raise error_of(status, ffi.new("fplt_error *"))


def _words(count: int) -> Any:
    return ffi.new("uint64_t[]", max(count, 1))


def _bytes_of(words: Any, count: int) -> bytes:
    return np.frombuffer(ffi.buffer(words, 8 * count), dtype=np.uint64).astype("<u8").tobytes()


def _words_of(message: bytes, count: int, what: str) -> Any:
    if len(message) != 8 * count:
        raise BadValue(f"{what} has {len(message)} bytes, but must have {8 * count}")
    found = _words(count)
    ffi.buffer(found, 8 * count)[:] = np.frombuffer(message, dtype="<u8").astype(np.uint64).tobytes()
    return found


def _solver(name: str) -> Any:
    found = lib.fplt_solver_find(name.encode())
    if not found:
        raise BadValue(f"there is no solver {name!r}")
    return found


def _given(method: Any, parameters: dict[str, float]) -> Any:
    """The parameters of an algorithm: those given by name, the others at their defaults."""
    made = ffi.new("double[]", lib.FPLT_MAX_PARAMETERS)
    lib.fplt_algorithm_defaults(method, made)
    for name, value in parameters.items():
        index = lib.fplt_algorithm_parameter(method, name.replace("_", "-").encode())
        if index < 0:
            raise BadValue(f"{text(method.name)} has no parameter {name!r}")
        made[index] = value
    return made


class Plan:
    """What all sides agree on before the first round; parameters by the algorithm's own names. Made by one
    side, it travels as bytes. algorithm: a name, or an instance of fedplt.Algorithm, which every side makes by itself.

    lmin, lmax: the least and the greatest curvature over all agents; automatic parameters and the automatic
    step follow from them. solver, epochs: those of the agents. step: gamma where all agents share one; 0:
    automatic, which needs lmax. cohort: expected number of active agents a round; all by default."""

    def __init__(self, algorithm: str | Algorithm, agents: int, dimension: int, *, seed: int = 0, run: int = 0,
                 solver: str = "gradient", step: float = 0.0, lmin: float = 0.0, lmax: float | None = None,
                 epochs: int = 5, cohort: int | None = None, **parameters: float) -> None:
        method = find(algorithm)
        self._own = algorithm if isinstance(algorithm, Algorithm) else None
        training = ffi.new("fplt_training *")
        training.solver, training.step, training.epochs = _solver(solver), step, epochs
        if lmax is None and step == 0 and lib.fplt_algorithm_shares_step(method, training.solver):
            raise BadValue(f"{text(method.name)} needs one step size for all agents: give step, or lmin and lmax of all costs")
        facts = ffi.new("fplt_facts *")
        facts.curvature.lowest, facts.curvature.highest = lmin, 1.0 if lmax is None else lmax
        facts.agents, facts.cohort, facts.dimension = agents, cohort or agents, dimension
        plan = self._plan = ffi.new("fplt_plan *")
        plan.seed, plan.run = seed, run
        self._watched(call, lib.fplt_plan_resolve, method, _given(method, parameters), training, facts, plan)

    def _watched(self, function: Any, *arguments: Any, **more: Any) -> Any:
        """A call of the library; what a method in Python raised meanwhile is raised here."""
        try:
            return function(*arguments, **more)
        finally:
            if self._own is not None:
                self._own._watcher.raise_failure()

    @classmethod
    def of(cls, promise: Promise, *, seed: int = 0, run: int = 0) -> Plan:
        """The plan of a private run (fedplt.privacy.plan)."""
        made = cls.__new__(cls)
        made._own = None
        plan = made._plan = ffi.new("fplt_plan *")
        plan.seed, plan.run = seed, run
        call(lib.fplt_promise_resolve, promise._plan, plan)
        return made

    @classmethod
    def decode(cls, message: bytes, algorithm: Algorithm | None = None) -> Plan:
        """A plan from its bytes. algorithm: the method in Python that it may be of; its parameters are those of the
        plan."""
        made = cls.__new__(cls)
        made._own = algorithm
        made._plan = ffi.new("fplt_plan *")
        call(lib.fplt_plan_decode_custom, message, len(message), ffi.NULL if algorithm is None else algorithm._table,
             made._plan)
        return made

    def __bytes__(self) -> bytes:
        return _encode(lib.fplt_plan_encode, self._plan)

    @property
    def algorithm(self) -> str:
        return text(self._plan.algorithm.name)

    @property
    def agents(self) -> int:
        return int(self._plan.agents)

    @property
    def dimension(self) -> int:
        return int(self._plan.dimension)

    @property
    def exchanges(self) -> int:
        """Questions a round."""
        plan = self._plan
        return int(lib.fplt_algorithm_shape(plan.algorithm, plan.parameter, plan.dimension).exchanges)

    def _point(self, start: Any) -> Vector:
        point = np.ascontiguousarray(start, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise BadValue(f"start has shape {point.shape}, but must have ({self.dimension},)")
        return point

    def _down(self, exchange: int) -> int:
        return int(lib.fplt_plan_down(self._plan, exchange))

    def _up(self, exchange: int) -> int:
        return int(lib.fplt_plan_words(self._plan, exchange))

    def _read(self, message: bytes) -> tuple[Any, int, Any]:
        """A question: the round, the number of the exchange, and what is broadcast."""
        size, exchange = struct.unpack_from("<II", message) if len(message) >= 8 else (len(message), 0)
        if len(message) < 8 + size:
            raise BadValue(f"the question has {len(message)} bytes, but must have {8 + size} and more")
        if exchange > self.exchanges:
            raise BadValue(f"the question is of exchange {exchange}, but a round has {self.exchanges}")
        made = ffi.new("fplt_round *")
        call(lib.fplt_round_decode, self._plan, message[8:8 + size], size, made)
        count = self._down(exchange)
        if len(message) != 8 + size + 8 * count:
            raise BadValue(f"the broadcast has {len(message) - 8 - size} bytes, but must have {8 * count}")
        values = np.frombuffer(message[8 + size:], dtype="<f8")
        down = ffi.new("double[]", max(count, 1))
        ffi.buffer(down, 8 * count)[:] = values.astype(np.float64).tobytes()
        return made, exchange, down

    def _question(self, made: Any, exchange: int, down: Any) -> bytes:
        words = _encode(lib.fplt_round_encode, self._plan, made)
        count = self._down(exchange)
        values = np.frombuffer(ffi.buffer(down, 8 * count)).astype("<f8").tobytes()
        return struct.pack("<II", len(words), exchange) + words + values


class Hub:
    """The coordinator: asks, adds up what comes back in any order, and goes on."""

    def __init__(self, plan: Plan, start: Any = None) -> None:
        self.plan = plan
        self._start = None if start is None else plan._point(start)
        point = ffi.NULL if self._start is None else ffi.from_buffer("double[]", self._start)
        made = ffi.new("fplt_hub **")
        plan._watched(call, lib.fplt_hub_create, plan._plan, ffi.NULL, point, made)
        self._hub = ffi.gc(made[0], lib.fplt_hub_destroy)
        self._round: Any = None
        self._exchange = 0

    def enrol(self, message: bytes) -> None:
        """What `Node.enrol` sent, once an agent, before the first round."""
        count = int(lib.fplt_plan_enrol_words(self.plan._plan))
        _check(lib.fplt_hub_enrol(self._hub, _words_of(message, count, "the enrolment")))

    def ask(self, number: int, active: int | None = None) -> bytes:
        """Begins a round of so many active agents: the question for each of them."""
        self._round = ffi.new("fplt_round *")
        self.plan._watched(lib.fplt_hub_plan, self._hub, number, active or self.plan.agents, self._round)
        self._exchange = 0
        return self._broadcast()

    def _broadcast(self) -> bytes:
        down = ffi.new("double[]", max(self.plan._down(self._exchange), 1))
        _check(self.plan._watched(lib.fplt_hub_broadcast, self._hub, self._round, self._exchange, down))
        return self.plan._question(self._round, self._exchange, down)

    def receive(self, message: bytes) -> None:
        """An agent's answer."""
        if self._round is None:
            raise BadValue("an answer is received, but nothing was asked")
        count = self.plan._up(self._exchange)
        _check(lib.fplt_hub_receive(self._hub, self._exchange, _words_of(message, count, "the answer")))

    def absorb(self) -> bytes:
        """All have answered: the next question of the round (`asks` is true), or what ends it, for
        `Node.accept`."""
        if self._round is None:
            raise BadValue("answers are absorbed, but nothing was asked")
        _check(self.plan._watched(lib.fplt_hub_absorb, self._hub, self._round, self._exchange))
        self._exchange += 1
        if self.asks:
            return self._broadcast()
        message = self._broadcast() if self.plan._down(self._exchange) else b""
        self._round = None
        return message

    @property
    def asks(self) -> bool:
        """Whether the round under way has a question left."""
        return self._round is not None and self._exchange < self.plan.exchanges

    def model(self) -> Vector:
        x = np.empty(self.plan.dimension)
        _check(self.plan._watched(lib.fplt_hub_model, self._hub, ffi.from_buffer("double[]", x)))
        return x

    def __bytes__(self) -> bytes:
        return _encode(lib.fplt_hub_encode, self._hub)

    def restore(self, state: bytes) -> None:
        """Goes on from `bytes(hub)`, between rounds."""
        call(lib.fplt_hub_decode, self._hub, state, len(state))


class Node:
    """An agent: trains on its own cost, and sends 128-bit integers of the exact sum. cost: a
    fedplt.Dataset (with `loss` and `alpha`) or Costs; `which` of its agents this one is. With a promise
    (fedplt.privacy.plan) cost, steps and noise are those of the plan, rows are shortened to their bound, and no
    more rounds are computed than were paid for."""

    def __init__(self, plan: Plan, cost: Any, identity: int, *, which: int = 0, start: Any = None,
                 loss: str | None = None, alpha: float = 0.01, intercept: bool = False,
                 solver: str = "gradient", epochs: int = 5, step: float = 0.0, batch: int = 32,
                 cohort: int | None = None, promise: Promise | None = None) -> None:
        self.plan, self._kept = plan, [cost]
        self._promise = promise
        self._watcher = Watcher()
        settings = ffi.new("fplt_node_settings *")
        settings.objective = self._objective(cost, loss, alpha, intercept)
        if not 0 <= which < lib.fplt_objective_agents(settings.objective):
            raise BadValue(f"which is {which}, but the cost has {lib.fplt_objective_agents(settings.objective)} "
                           "agent(s); numbers begin at 0")
        settings.cost, settings.member_index = which, identity
        settings.training = lib.fplt_training_defaults()
        settings.training.solver = _solver(solver)
        settings.training.epochs, settings.training.batch = epochs, batch
        settings.training.step = step
        settings.cohort = cohort or plan.agents
        if promise is None:
            call(lib.fplt_objective_curvature, settings.objective, which, 0,
                 ffi.addressof(settings, "curvature"), watcher=self._watcher)
        else:
            self._keep_to(promise, settings)
        if start is not None:
            point = plan._point(start)
            self._kept.append(point)
            settings.start = settings.second = ffi.from_buffer("double[]", point)
        made = ffi.new("fplt_node **")
        plan._watched(call, lib.fplt_node_create, plan._plan, settings, made, watcher=self._watcher)
        self._node = ffi.gc(made[0], lib.fplt_node_destroy)

    def _keep_to(self, promise: Promise, settings: Any) -> None:
        view, training = promise.view, settings.training
        if not 0 <= settings.member_index < promise.agents:
            raise BadValue(f"identity is {settings.member_index}, but the promise is for {promise.agents} agents")
        training.solver, training.epochs, training.step = view.solver, promise.epochs, promise.step
        training.noise_tau = view.tau[settings.member_index]
        settings.curvature, settings.cap = view.curvature, promise.paid_rounds
        if view.secure:
            noise = ffi.new("fplt_noise **")
            call(lib.fplt_noise_create, noise)
            owned = ffi.gc(noise[0], lib.fplt_noise_destroy)
            source = ffi.new("fplt_noise_source *", lib.fplt_promise_noise(owned))
            self._kept += [owned, source]
            settings.noise = source

    def _objective(self, cost: Any, loss: str | None, alpha: float, intercept: bool) -> Any:
        if isinstance(cost, Costs):
            cost.watcher = self._watcher
            return cost.pointer
        if not isinstance(cost, Dataset):
            raise TypeError("cost must be a fedplt.Dataset or fedplt.Costs")
        chosen = ffi.new("fplt_objective_settings *", lib.fplt_objective_defaults())
        words = loss or {"binary": "logistic", "classes": "softmax", "regression": "least-squares",
                         "survival": "cox"}[cost.task]
        name = ffi.new("char[]", words.encode())
        chosen.loss, chosen.weight, chosen.intercept = name, alpha, intercept
        lent = ffi.gc(cost.lend(), lib.fplt_dataset_destroy)
        if self._promise is not None:
            self._promised(self._promise.view, chosen, lent)
        made = ffi.new("fplt_objective **")
        call(lib.fplt_objective_create, chosen, lent, made)
        objective = ffi.gc(made[0], lib.fplt_objective_destroy)
        self._kept += [objective]
        return objective

    def _promised(self, view: Any, chosen: Any, lent: Any) -> None:
        """The cost that the promise is about, on rows of bounded norm."""
        loss = view.loss
        chosen.loss, chosen.intercept, chosen.clip = loss.name, loss.intercept, loss.clip
        chosen.huber_delta, chosen.predictor_bound = loss.huber_delta, loss.predictor_bound
        chosen.regulariser, chosen.weight = view.regulariser, view.regulariser_weight
        chosen.weigh_rows, chosen.all_agents, chosen.all_weight = view.weigh_rows, view.agents, view.all_records
        transform = ffi.new("fplt_transform *")
        transform.features, transform.radius = lib.fplt_dataset_features(lent), loss.row_norm
        call(lib.fplt_transform_apply, transform, lent)

    def enrol(self) -> bytes:
        count = int(lib.fplt_plan_enrol_words(self.plan._plan))
        words = _words(count)
        _check(lib.fplt_node_enrol(self._node, words))
        return _bytes_of(words, count)

    def train(self, question: bytes) -> bytes:
        """The answer to a question; asked again, the same without computing."""
        made, exchange, down = self.plan._read(question)
        count = self.plan._up(exchange)
        words = _words(count)
        if isinstance(self._kept[0], Costs):  # which several nodes may share
            self._kept[0].watcher = self._watcher
        self.plan._watched(call, lib.fplt_node_train, self._node, made, exchange, down, words, watcher=self._watcher)
        return _bytes_of(words, count)

    def accept(self, finish: bytes = b"") -> None:
        """Its update counts: the new state takes effect."""
        if finish:
            made, exchange, down = self.plan._read(finish)
            if exchange != self.plan.exchanges:
                raise BadValue(f"the message is of exchange {exchange} of {self.plan.exchanges}, but ends no round")
            self.plan._watched(lib.fplt_node_finish, self._node, made, down)
        lib.fplt_node_accept(self._node)

    def __bytes__(self) -> bytes:
        return _encode(lib.fplt_node_encode, self._node)

    def restore(self, state: bytes) -> None:
        """Goes on from `bytes(node)`."""
        call(lib.fplt_node_decode, self._node, state, len(state))


__all__ = ["Plan", "Hub", "Node"]
