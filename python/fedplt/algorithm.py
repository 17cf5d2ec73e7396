"""Your own federated algorithm, in Python: broadcast, local and absorb over NumPy arrays.

    class Prox(fedplt.Algorithm):
        name, parameters = "my-fedprox", {"mu": 1.0}

        def local(self, agent, round, x):
            return agent.minimise(x, centre=x, inverse_rho=agent.parameter["mu"])

        def absorb(self, hub, round, sum):
            hub.vectors[0] = sum / round.active

    fedplt.compare(["fedprox", Prox(mu=0.5)], costs=costs)
    fedplt.Plan(Prox(mu=0.5), agents=3, dimension=4, lmin=1, lmax=10)
"""
from __future__ import annotations

import gc
import math
import re
import threading
import weakref
from typing import Any, ClassVar, Iterable, Mapping, Sequence

import numpy as np

from fedplt._core import BadValue, Error, Vector, Watcher, encoded, error_of, interrupted, text
from fedplt._fedplt import ffi, lib
from fedplt.costs import fresh, store


def _array(pointer: Any, rows: int, columns: int, writable: bool) -> Vector:
    """Vectors of the library, copied; a read-only copy where they are not the method's to change."""
    count = rows * columns
    found = fresh(pointer, count).reshape(rows, columns) if count else np.zeros((rows, columns))
    found.flags.writeable = writable
    return found


def _one_or_all(vectors: Vector) -> Vector:
    """A single vector as such, several as rows."""
    return np.asarray(vectors[0]) if len(vectors) == 1 else vectors


class Facts:
    """What parameters and steps are derived from: bounds lmin and lmax of the curvature, agents, cohort (agents that a
    round is expected to have), epochs, dimension."""

    def __init__(self, facts: Any) -> None:
        self.lmin, self.lmax = float(facts.curvature.lowest), float(facts.curvature.highest)
        self.agents, self.cohort = int(facts.agents), int(facts.cohort or facts.agents)
        self.epochs, self.dimension = int(facts.epochs), int(facts.dimension)


class Round:
    """What everyone knows of a round: number (from 0), exchange (from 0), agents of the roster, active ones, scalars as
    `plan` gave them; at an agent also its position in the cohort."""

    def __init__(self, made: Any, exchange: int, scalars: int) -> None:
        self.number, self.exchange = int(made.number), exchange
        self.agents, self.active, self.position = int(made.agents), int(made.active), int(made.position)
        self.scalars = np.array([made.scalar[i] for i in range(scalars)])
        self._shared = ffi.new("fplt_stream *", made.shared)

    def uniform(self, count: int) -> Vector:
        """Numbers between 0 and 1 that all sides of the round draw alike; every call begins anew."""
        stream = ffi.new("fplt_stream *", self._shared[0])
        return np.array([lib.fplt_stream_uniform(stream) for _ in range(count)])


class HubState:
    """The coordinator: `vectors` and `numbers` are its state, which `begin_coordinator` and `absorb` change in place;
    `totals` are the running sums of the agents' mirrored vectors, over all agents."""

    def __init__(self, method: Algorithm, made: Any, writable: bool) -> None:
        self._made = made
        self.dimension, self.agents = int(made.dimension), int(made.agents)
        self.parameter = method._values(made.parameter)
        self.vectors = _array(made.vector, method.vectors, self.dimension, writable)
        self.numbers = _array(made.number, 1, method.numbers, writable)[0]
        self.totals = _array(made.total, method.mirrored, self.dimension, False)

    def prox(self, weight: float, x: Any) -> Vector:
        """prox of weight h at x; x itself where there is no h."""
        point, found = np.ascontiguousarray(x, dtype=np.float64), np.empty(self.dimension)
        status = lib.fplt_prox_apply(self._made.prox, weight, ffi.from_buffer("double[]", point),
                                     ffi.from_buffer("double[]", found))
        if status:
            raise error_of(status, ffi.new("fplt_error *"))
        return found

    def _write(self) -> None:
        for pointer, values in ((self._made.vector, self.vectors), (self._made.number, self.numbers)):
            if values.size:
                store(pointer, values, values.size, "the coordinator's state")


class _Stopped(Error):
    """Local training ended with a status that the library has a sentence for."""

    def __init__(self, status: int) -> None:
        super().__init__(text(lib.fplt_status_text(status)))
        self.status = status


class AgentState:
    """An agent: `kept` is its state as last accepted, `staged` what it becomes if this round counts (a copy of `kept` to
    change in place; None before the agent's last step of the round), `held` what it remembers inside a round."""

    def __init__(self, method: Algorithm, made: Any, made_round: Any, last: bool, error: Any) -> None:
        self._method, self._made, self._round, self._error = method, made, made_round, error
        self.index, self.dimension = int(made.member_index), int(made.dimension)
        self.parameter = method._values(made.parameter)
        self.kept = _array(made.kept, method.kept, self.dimension, False)
        self.staged: Any = _array(made.kept, method.kept, self.dimension, True) if last else None
        self.held = _array(made.held, method.held, self.dimension, True)
        self.step, self.epochs = float(made.local.step), int(made_round.epochs or made.local.training.epochs)

    def _point(self, x: Any, what: str) -> Vector:
        found = np.array(x, dtype=np.float64)
        if found.shape != (self.dimension,):
            raise BadValue(f"{what} has shape {found.shape}, but must have ({self.dimension},)")
        return found

    def minimise(self, start: Any, linear: Any = None, centre: Any = None, inverse_rho: float = 0.0) -> Vector:
        """Trains by the run's solver for the round's epochs: lowers f(w) + <linear, w> + inverse_rho/2 |w - centre|^2
        from `start`, and returns w."""
        w = self._point(start, "start")
        more = [None if x is None else self._point(x, what) for x, what in ((linear, "linear"), (centre, "centre"))]
        pointers = [ffi.NULL if x is None else ffi.from_buffer("double[]", x) for x in more]
        status = lib.fplt_agent_minimise(self._made, self._round, *pointers, inverse_rho,
                                         ffi.from_buffer("double[]", w), self._error)
        if status:
            raise _Stopped(status)
        return w

    def gradient(self, x: Any) -> Vector:
        """The gradient of the agent's cost at x."""
        point, found = self._point(x, "x"), np.empty(self.dimension)
        problem = self._made.local.problem
        problem.linear = problem.centre = ffi.NULL
        problem.inverse_rho = 0
        status = lib.fplt_local_gradient(self._made.local, ffi.from_buffer("double[]", point),
                                         ffi.from_buffer("double[]", found))
        if status:
            raise _Stopped(status)
        return found

    def _write(self) -> None:
        if self.held.size:
            store(self._made.held, self.held, self.held.size, "held")
        if self.staged is not None:
            self._method._stage(self._made, self.staged)


class _Slots:
    """The library's functions of an algorithm have no context, so each algorithm in Python takes one of a fixed number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[int, weakref.ref[Algorithm]] = {}

    def _free(self) -> int | None:
        return next((k for k in range(lib.FPLTPY_SLOTS) if k not in self._taken), None)

    def take(self, method: Algorithm) -> int:
        with self._lock:
            free = self._free()
            if free is None:
                gc.collect()  # of instances that nothing but their own frames refers to
                free = self._free()
            if free is None:
                raise BadValue(f"{lib.FPLTPY_SLOTS} algorithms in Python exist already: drop one, or use one again")
            self._taken[free] = weakref.ref(method)
        weakref.finalize(method, self._release, free)
        return free

    def _release(self, slot: int) -> None:
        self._taken.pop(slot, None)

    def find(self, slot: int) -> Algorithm:
        found = self._taken[slot]()
        assert found is not None, "a plan or a comparison keeps its algorithm alive"
        return found


_slots = _Slots()


class Algorithm:
    """A federated algorithm. One round is: `broadcast` at the coordinator, `local` at each active agent, `absorb` at the
    coordinator with the exact sum of what they sent. Between calls nothing is kept but the state of hub and agents: an
    instance cannot be changed once it is made.

    Class attributes say how many vectors there are of everything: `kept` by an agent between rounds, the first `mirrored`
    of which the coordinator has the running sum (`hub.totals`); `held` inside a round; the coordinator's `vectors` and
    `numbers`; `scalars` of a round; `exchanges`, one (down, up) or (down, up, single numbers up) each, mirrored vectors
    not counted; `finish_down` vectors after the last sum. `local_model`: which kept vector is the agent's own model.

    `partial`, `minimiser` (solvers other than plain gradient steps) and `random` (minibatches, noise) are True, or the
    reason why not. `composite`: it heeds h by `hub.prox`. `common_step`: all agents take the same step. A privacy claim
    is not offered: it needs a proof for the method."""

    name: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, float | None]] = {}
    search: ClassVar[Mapping[str, tuple[float, float]]] = {}
    kept: ClassVar[int] = 0
    mirrored: ClassVar[int] = 0
    held: ClassVar[int] = 0
    vectors: ClassVar[int] = 1
    numbers: ClassVar[int] = 0
    scalars: ClassVar[int] = 0
    exchanges: ClassVar[Sequence[tuple[int, ...]]] = ((1, 1),)
    finish_down: ClassVar[int] = 0
    local_model: ClassVar[int | None] = None
    partial: ClassVar[bool | str] = True
    minimiser: ClassVar[bool | str] = True
    random: ClassVar[bool | str] = True
    composite: ClassVar[bool] = False
    common_step: ClassVar[bool] = True

    def __init__(self, **parameters: float) -> None:
        unknown = [name for name in parameters if name not in self.parameters]
        if unknown:
            raise BadValue(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(self.parameters) or 'none'}")
        self._check()
        self._given = {**self.parameters, **parameters}
        self._watcher = Watcher()
        self._texts: list[Any] = []
        self._slot = _slots.take(self)
        self._table = self._make()
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_made", False) and name != "_watcher":
            raise AttributeError(f"{name} cannot be set: an algorithm keeps its state in hub.vectors, hub.numbers, "
                                 "agent.staged and agent.held")
        super().__setattr__(name, value)

    # ---- what a method defines ----

    def choose(self, facts: Facts) -> Mapping[str, float]:
        """Values of the parameters that are None."""
        return {}

    def step(self, facts: Facts, parameter: Mapping[str, float]) -> float:
        """The size of plain local gradient steps where none is given."""
        if self.common_step:
            return 1 / (facts.lmax * max(facts.epochs, 1))
        return 2 / (max(facts.lmin, 0.0) + facts.lmax + 2 * self.inverse_rho(facts, parameter))

    def inverse_rho(self, facts: Facts, parameter: Mapping[str, float]) -> float:
        """The proximal weight of the local problem."""
        return 0.0

    def begin(self, start: Vector, second: Vector) -> Any:
        """The vectors that an agent keeps at first; zeros by default. `second`: Fed-PLT's z."""
        return np.zeros((self.kept, len(start)))

    def begin_coordinator(self, hub: HubState, start: Vector) -> None:
        """The coordinator's state at first; by default its first vector is `start`."""
        if self.vectors:
            hub.vectors[0] = start

    def plan(self, hub: HubState, round: Round) -> Sequence[float]:
        """The scalars of a round."""
        return [0.0] * self.scalars

    def broadcast(self, hub: HubState, round: Round) -> Any:
        """The vectors of an exchange, or of the finish where round.exchange is the number of exchanges; by default the
        model."""
        return self.model(hub)

    def local(self, agent: AgentState, round: Round, down: Vector) -> Any:
        """Trains, changes agent.staged, and returns the vectors to send (None where there are none), or a pair of vectors
        and single numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no method `local`")

    def absorb(self, hub: HubState, round: Round, sum: Any) -> None:
        """Takes the sum of what the active agents sent, in the form of what `local` returns."""
        raise NotImplementedError(f"{type(self).__name__} has no method `absorb`")

    def finish(self, agent: AgentState, round: Round, down: Vector) -> None:
        """With finish_down: the agent's last step of the round, after the sum."""
        raise NotImplementedError(f"{type(self).__name__} has no method `finish`")

    def model(self, hub: HubState) -> Any:
        """The model; by default the coordinator's first vector."""
        return hub.vectors[0]

    # ---- the library's table ----

    def _check(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,30}", self.name):
            raise BadValue(f"name is {self.name!r}, but must be 1 to 31 of a-z, 0-9 and -")
        if lib.fplt_algorithm_find(self.name.encode()):
            raise BadValue(f"name is {self.name!r}, but the library has an algorithm of this name: take another")
        if not 1 <= len(self.exchanges) <= 2 or any(len(one) not in (2, 3) for one in self.exchanges):
            raise BadValue(f"exchanges is {self.exchanges!r}, but must be one or two of (down, up) or (down, up, numbers)")
        if self.mirrored > self.kept:
            raise BadValue(f"mirrored is {self.mirrored}, but an agent keeps {self.kept} vector(s)")
        if len(self.parameters) > lib.FPLT_MAX_PARAMETERS:
            raise BadValue(f"there are {len(self.parameters)} parameters, but at most {lib.FPLT_MAX_PARAMETERS} are taken")

    def _text(self, words: str) -> Any:
        self._texts.append(ffi.new("char[]", encoded(words)))
        return self._texts[-1]

    def _make(self) -> Any:
        table = ffi.new("fplt_algorithm *")
        lib.fpltpy_algorithm_fill(self._slot, table)
        table.size = ffi.sizeof("fplt_algorithm")
        table.name = self._text(self.name)
        table.title = self._text(type(self).__name__)
        table.reference = self._text("a class in Python")
        table.paper.epochs, table.paper.problems = self._text(">= 1"), self._text("as its author says")
        table.step_rule = self._text("as the class says")
        table.common_step = self.common_step
        self._shape(table.shape)
        self._allow(table)
        self._texts.append(self._settings())
        table.settings = self._texts[-1]
        if not self.finish_down:
            table.finish = ffi.NULL
        return table

    def _shape(self, shape: Any) -> None:
        for name in ("kept", "mirrored", "held", "vectors", "numbers", "scalars", "finish_down"):
            setattr(shape, name, getattr(self, name))
        shape.exchanges = len(self.exchanges)
        for index, one in enumerate(self.exchanges):
            shape.exchange[index].down, shape.exchange[index].up = one[:2]
            shape.exchange[index].up_scalars = one[2] if len(one) == 3 else 0
        shape.local_model = -1 if self.local_model is None else self.local_model

    def _allow(self, table: Any) -> None:
        for allowed, flag, reason in ((self.partial, lib.FPLT_ALLOWS_PARTIAL, "no_partial"),
                                      (self.minimiser, lib.FPLT_ALLOWS_MINIMISER, "no_minimiser")):
            if allowed is True:
                table.allows |= flag
            else:
                setattr(table, reason, self._text(str(allowed)))
        if self.random is not True:
            table.allows |= lib.FPLT_NEEDS_CERTAINTY
            table.no_random = self._text(str(self.random))
        if self.composite:
            table.allows |= lib.FPLT_ALLOWS_COMPOSITE
        table.no_privacy = self._text("a claim needs a proof for the method, and an algorithm in Python carries none")

    def _settings(self) -> Any:
        rows = ffi.new("fplt_setting[]", len(self._given) + 1)
        for row, (name, value) in zip(rows, self._given.items()):
            row.name, row.kind = self._text(name.replace("_", "-")), lib.FPLT_REAL
            row.flags = lib.FPLT_AUTO if value is None else 0
            row.standard = self._text("auto" if value is None else repr(float(value)))
            row.low, row.high = -math.inf, math.inf
            row.help = self._text(f"of {self.name}")
            row.search_low, row.search_high = self.search.get(name, (0.0, 0.0))
        return rows

    def _values(self, parameter: Any) -> dict[str, float]:
        return {name: float(parameter[index]) for index, name in enumerate(self._given)}

    def _rows(self, values: Any, count: int, dimension: int, what: str) -> Vector:
        found = np.asarray(values if count else np.zeros((0, dimension)), dtype=np.float64)
        found = found.reshape(1, -1) if found.ndim == 1 and count == 1 else found
        if values is None and count or found.shape != (count, dimension):
            shape = None if values is None else np.shape(values)
            raise BadValue(f"{self.name}: {what} gave shape {shape}, but must give {count} vector(s) of {dimension}")
        return found

    def _stage(self, made: Any, staged: Any) -> None:
        """Mirrored vectors are rounded to the grid of the exact sum, so that the running sum equals them to the bit."""
        found = self._rows(staged, self.kept, int(made.dimension), "staged")
        if found.size:
            store(made.staged, found, found.size, "staged")
        if self.mirrored:
            lib.fplt_grid_round(made.staged, self.mirrored * int(made.dimension))

    def _last(self, exchange: int) -> bool:
        return not self.finish_down and exchange == len(self.exchanges) - 1

    def _up(self, exchange: int) -> tuple[int, int]:
        one = self.exchanges[exchange]
        return one[1], one[2] if len(one) == 3 else 0


def _method_failed(exception: Any, value: Any, traceback: Any) -> None:
    slot = traceback.tb_frame.f_locals.get("slot") if traceback is not None else None
    if slot is None:
        interrupted(exception, value, traceback)
    else:
        _slots.find(slot)._watcher.keep(value.with_traceback(traceback))


def _guarded(function: Any) -> Any:
    """A function of the table: after the first exception nothing is called any more, and what has a status fails."""
    answer = {"int": lib.FPLT_FAILED, "float": math.nan, "None": None}[function.__annotations__["return"]]

    def callback(slot: int, *arguments: Any) -> Any:
        method = _slots.find(slot)
        if method._watcher.failure is not None:
            return answer
        return function(method, *arguments)

    options = {} if answer is None else {"error": answer}
    return ffi.def_extern(name=function.__name__, onerror=_method_failed, **options)(callback)


@_guarded
def fpltpy_algorithm_choose(method: Algorithm, facts: Any, parameter: Any) -> None:
    if not any(math.isnan(parameter[index]) for index in range(len(method._given))):
        return
    chosen = method.choose(Facts(facts))
    for index, name in enumerate(method._given):
        if math.isnan(parameter[index]) and name in chosen:
            parameter[index] = chosen[name]


@_guarded
def fpltpy_algorithm_step(method: Algorithm, facts: Any, parameter: Any) -> float:
    return float(method.step(Facts(facts), method._values(parameter)))


@_guarded
def fpltpy_algorithm_inverse_rho(method: Algorithm, facts: Any, parameter: Any) -> float:
    return float(method.inverse_rho(Facts(facts), method._values(parameter)))


@_guarded
def fpltpy_algorithm_begin(method: Algorithm, agent: Any, start: Any, second: Any) -> None:
    count = int(agent.dimension)
    method._stage(agent, method.begin(fresh(start, count), fresh(second, count)))


@_guarded
def fpltpy_algorithm_begin_coordinator(method: Algorithm, coordinator: Any, start: Any) -> None:
    hub = HubState(method, coordinator, True)
    method.begin_coordinator(hub, fresh(start, hub.dimension))
    hub._write()


@_guarded
def fpltpy_algorithm_plan(method: Algorithm, coordinator: Any, made: Any) -> None:
    if method.scalars:
        found = np.asarray(method.plan(HubState(method, coordinator, False), Round(made, 0, 0)), dtype=np.float64)
        if found.shape != (method.scalars,):
            raise BadValue(f"{method.name}: plan gave shape {found.shape}, but must give {method.scalars} number(s)")
        for index, value in enumerate(found):
            made.scalar[index] = value


@_guarded
def fpltpy_algorithm_broadcast(method: Algorithm, coordinator: Any, made: Any, exchange: int, down: Any) -> int:
    hub = HubState(method, coordinator, False)
    count = method.finish_down if exchange == len(method.exchanges) else method.exchanges[exchange][0]
    found = method._rows(method.broadcast(hub, Round(made, exchange, method.scalars)), count, hub.dimension, "broadcast")
    if found.size:
        store(down, found, found.size, "broadcast")
    return 0


@_guarded
def fpltpy_algorithm_local(method: Algorithm, agent: Any, made: Any, exchange: int, down: Any, up: Any,
                           error: Any) -> int:
    state = AgentState(method, agent, made, method._last(exchange), error)
    vectors, numbers = method._up(exchange)
    received = _one_or_all(_array(down, method.exchanges[exchange][0], state.dimension, True))
    try:
        sent = method.local(state, Round(made, exchange, method.scalars), received)
    except _Stopped as stopped:
        return stopped.status
    sent, single = sent if numbers else (sent, [])
    rows = method._rows(sent, vectors, state.dimension, "local")
    single = np.asarray(single, dtype=np.float64).reshape(-1)
    if single.shape != (numbers,):
        raise BadValue(f"{method.name}: local gave {single.size} single numbers, but must give {numbers}")
    both = np.concatenate([rows.reshape(-1), single])
    if both.size:
        store(up, both, both.size, "local")
    state._write()
    return 0


@_guarded
def fpltpy_algorithm_absorb(method: Algorithm, coordinator: Any, made: Any, exchange: int, total: Any) -> None:
    hub = HubState(method, coordinator, True)
    vectors, numbers = method._up(exchange)
    if not vectors + numbers:
        return
    found = fresh(total, vectors * hub.dimension + numbers)
    rows = _one_or_all(found[:vectors * hub.dimension].reshape(vectors, hub.dimension))
    method.absorb(hub, Round(made, exchange, method.scalars), (rows, found[vectors * hub.dimension:]) if numbers else rows)
    hub._write()


@_guarded
def fpltpy_algorithm_finish(method: Algorithm, agent: Any, made: Any, down: Any) -> None:
    state = AgentState(method, agent, made, True, ffi.new("fplt_error *"))
    received = _one_or_all(_array(down, method.finish_down, state.dimension, True))
    method.finish(state, Round(made, len(method.exchanges), method.scalars), received)
    state._write()


@_guarded
def fpltpy_algorithm_model(method: Algorithm, coordinator: Any, x: Any) -> int:
    hub = HubState(method, coordinator, False)
    store(x, method._rows(method.model(hub), 1, hub.dimension, "model"), hub.dimension, "model")
    return 0


def names() -> list[str]:
    """The algorithms of the library."""
    found: list[str] = []
    while one := lib.fplt_algorithm_list(len(found)):
        found.append(text(one.name))
    return found


def find(algorithm: Any) -> Any:
    """The library's table of an algorithm, by its name or of an instance."""
    if isinstance(algorithm, Algorithm):
        return algorithm._table
    if isinstance(algorithm, type) and issubclass(algorithm, Algorithm):
        raise BadValue(f"the algorithm is the class {algorithm.__name__}, but must be an instance of it: "
                       f"{algorithm.__name__}()")
    found = lib.fplt_algorithm_find(encoded(str(algorithm)))
    if not found:
        raise BadValue(f"there is no algorithm {algorithm!r}; there are {', '.join(names())}")
    return found


def own(algorithms: Iterable[Any]) -> list[Algorithm]:
    """Those of them that are in Python."""
    return [one for one in algorithms if isinstance(one, Algorithm)]


__all__ = ["Algorithm", "AgentState", "HubState", "Round", "Facts"]
