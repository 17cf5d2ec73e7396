"""Custom costs and local solvers, in Python.

A cost is any object with the methods `value` and `gradient`:

    class Quadratic:
        def __init__(self, A, b): self.A, self.b = A, b
        def value(self, x): return x @ self.A @ x / 2 - self.b @ x
        def gradient(self, x): return self.A @ x - self.b

    fedplt.minimise([Quadratic(A1, b1), Quadratic(A2, b2)], 3, algorithm="fed-plt").x
"""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Callable, Sequence

import numpy as np

from fedplt._core import BadValue, Trainer, Vector, Watcher, call, failed, given, text
from fedplt._fedplt import ffi, lib
from fedplt.privacy import Privacy


def fresh(pointer: Any, count: int) -> Vector:
    """A vector of the library, copied: it may be kept and changed."""
    return np.frombuffer(ffi.buffer(pointer, 8 * count)).copy()


def store(pointer: Any, values: Any, count: int, what: str) -> None:
    """Hands a vector to the library."""
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    if array.shape != (count,):
        raise BadValue(f"{what} gave {array.size} numbers, but must give {count}")
    np.frombuffer(ffi.buffer(pointer, 8 * count))[:] = array


class _Cost:
    """One site's cost with what it has by one name each; what it has not is None."""

    def __init__(self, cost: Any, number: int) -> None:
        def has(*names: str) -> Any:
            return next((getattr(cost, name) for name in names if hasattr(cost, name)), None)

        self.value: Callable[[Vector], float] | None = has("value", "function")
        self.gradient: Callable[[Vector], Vector] | None = has("gradient")
        self.both: Callable[[Vector], tuple[float, Vector]] | None = has("value_and_gradient")
        self.hessian_times = has("hessian_times")
        self.batch_gradient = has("batch_gradient")
        self.hits = has("hits")
        self.record_gradients = has("record_gradients")
        records = has("records")
        self.records = int(records() if callable(records) else records) if records is not None else 1
        bounds = has("curvature")
        bounds = bounds() if callable(bounds) else bounds
        if bounds is None and hasattr(cost, "m_smooth"):
            bounds = (getattr(cost, "m_cvx", 0) or 0, cost.m_smooth)
        self.curvature = None if bounds is None else (float(bounds[0]), float(bounds[1]))
        if self.both is None and (self.value is None or self.gradient is None):
            raise BadValue(f"cost {number} has no value and gradient, nor value_and_gradient")
        for name in ("batch_gradient", "record_gradients"):
            if getattr(self, name) is not None and records is None:
                raise BadValue(f"cost {number} has {name}, but not records: how many there are")

    def value_and_gradient(self, x: Vector) -> tuple[Any, Any]:
        if self.both is not None:
            return self.both(x)
        assert self.value is not None and self.gradient is not None
        return self.value(x), self.gradient(x)


class Costs:
    """The sites' own costs, one object each with `value(x)` and `gradient(x)`, or `value_and_gradient(x)`.

    Optional: `batch_gradient(x, rows)` with `records`, `hessian_times(x, v)`, `curvature` (bounds of the
    second derivative: lowest, highest), `hits(x)` (records classified rightly). Where no curvature is
    given it is estimated at `start`, or at the origin. x is a new float64 array in every call.

    For privacy: `record_gradients(x, rows)`, the gradients of single records, one row of an array each, whose mean over all
    records is the gradient. Row k must depend on x and on record rows[k] alone. The library shortens each to the norm `clip`
    and adds noise to their sum."""

    def __init__(self, costs: Sequence[Any], dimension: int | None = None, start: Any = None) -> None:
        if not len(costs):
            raise BadValue("there are no costs, at least one is needed")
        if start is not None and dimension is None:
            dimension = len(start)
        if dimension is None:
            dimension = getattr(costs[0], "dimension", None)
        if dimension is None:
            raise BadValue("dimension is not known: give it, or a start")
        self.dimension, self.agents = int(dimension), len(costs)
        self.costs = [_Cost(cost, number) for number, cost in enumerate(costs)]
        self.watcher: Watcher | None = None
        self.failure: BaseException | None = None
        self._handle = ffi.new_handle(self)
        self._records = ffi.new("size_t[]", [cost.records for cost in self.costs])
        self._struct = ffi.new("fpltpy_costs *", {"handle": self._handle, "records": self._records})
        self._bounds: Any = None
        if all(cost.curvature is not None for cost in self.costs):
            self._bounds = [cost.curvature for cost in self.costs]
        self.pointer = self._make()
        if self._bounds is None and start is not None:
            self._bounds = self.probe(start)
            self.pointer = self._make()

    def _all(self, name: str) -> bool:
        return all(getattr(cost, name) is not None for cost in self.costs)

    def _make(self) -> Any:
        table = ffi.new("fplt_objective_callbacks *")
        table.size = ffi.sizeof("fplt_objective_callbacks")
        table.dimension, table.agents, table.context = self.dimension, self.agents, self._struct
        table.value_gradient = lib.fpltpy_value_gradient
        if self._all("value") and self._all("gradient"):
            table.value, table.gradient = lib.fpltpy_value, lib.fpltpy_gradient
        if self._all("hessian_times"):
            table.hessian_times = lib.fpltpy_hessian_times
        if self._all("batch_gradient"):
            table.batch_gradient = lib.fpltpy_batch_gradient
        table.records = ffi.addressof(lib, "fpltpy_records")
        if self._all("hits"):
            table.hits = lib.fpltpy_hits
        if self._all("record_gradients"):
            table.record_gradients = lib.fpltpy_record_gradients
        if self._bounds is not None:
            self._curvatures = ffi.new("fplt_curvature[]", self._bounds)
            self._struct.curvatures = self._curvatures
            table.curvature = ffi.addressof(lib, "fpltpy_curvature")
        made = ffi.new("fplt_objective **")
        call(lib.fplt_objective_create_callback, table, made)
        return ffi.gc(made[0], lib.fplt_objective_destroy)

    def probe(self, x: Any) -> list[tuple[float, float]]:
        """Estimates how each cost curves at x: least and greatest second derivative."""
        point = np.ascontiguousarray(x, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise BadValue(f"x has shape {point.shape}, but must have ({self.dimension},)")
        found = ffi.new("fplt_curvature *")
        bounds = []
        self.watcher = watcher = Watcher()
        for agent in range(self.agents):
            call(lib.fplt_objective_probe, self.pointer, agent, ffi.from_buffer("double[]", point), found,
                 watcher=watcher)
            bounds.append((found.lowest, found.highest))
        return bounds

    def keep(self, failure: BaseException) -> None:
        if self.watcher is not None:
            self.watcher.keep(failure)

    def failing(self) -> bool:
        """After the first exception everything fails."""
        return self.watcher is not None and self.watcher.failure is not None


def _of(handle: Any) -> Any:
    return ffi.from_handle(ffi.cast("fpltpy_costs *", handle).handle)


def _cost_failed(exception: Any, value: Any, traceback: Any) -> None:
    context = traceback.tb_frame.f_locals.get("context") if traceback is not None else None
    if context:
        _of(context).keep(value.with_traceback(traceback))
    else:
        failed(exception, value, None)


def _guarded(function: Callable[..., None]) -> Any:
    """A cost's callback; its arguments are the context, the agent and the rest."""
    def callback(context: Any, agent: int, *rest: Any) -> int:
        costs = _of(context)
        if costs.failing():
            return 1
        function(costs, costs.costs[agent], *rest)
        return 0

    return ffi.def_extern(name=function.__name__, error=1, onerror=_cost_failed)(callback)


@_guarded
def fpltpy_value(costs: Costs, cost: Any, x: Any, value: Any) -> None:
    value[0] = float(cost.value(fresh(x, costs.dimension)))


@_guarded
def fpltpy_gradient(costs: Costs, cost: Any, x: Any, gradient: Any) -> None:
    store(gradient, cost.gradient(fresh(x, costs.dimension)), costs.dimension, "gradient")


@_guarded
def fpltpy_value_gradient(costs: Costs, cost: Any, x: Any, value: Any, gradient: Any) -> None:
    found, slope = cost.value_and_gradient(fresh(x, costs.dimension))
    value[0] = float(found)
    store(gradient, slope, costs.dimension, "value_and_gradient")


@_guarded
def fpltpy_hessian_times(costs: Costs, cost: Any, x: Any, v: Any, product: Any) -> None:
    found = cost.hessian_times(fresh(x, costs.dimension), fresh(v, costs.dimension))
    store(product, found, costs.dimension, "hessian_times")


@_guarded
def fpltpy_batch_gradient(costs: Costs, cost: Any, x: Any, rows: Any, count: int, gradient: Any) -> None:
    chosen = np.frombuffer(ffi.buffer(rows, 4 * count), dtype=np.uint32).astype(np.intp)
    found = cost.batch_gradient(fresh(x, costs.dimension), chosen)
    store(gradient, found, costs.dimension, "batch_gradient")


@_guarded
def fpltpy_record_gradients(costs: Costs, cost: Any, x: Any, rows: Any, count: int, gradients: Any) -> None:
    chosen = np.frombuffer(ffi.buffer(rows, 4 * count), dtype=np.uint32).astype(np.intp)
    found = cost.record_gradients(fresh(x, costs.dimension), chosen)
    store(gradients, found, count * costs.dimension, "record_gradients")


@_guarded
def fpltpy_hits(costs: Costs, cost: Any, x: Any, hits: Any) -> None:
    hits[0] = int(cost.hits(fresh(x, costs.dimension)))


class Subproblem:
    """What an agent is asked for: to lower d(w) = f(w) + <linear, w> + inverse_rho/2 |w - centre|^2 from
    `start`, for some epochs."""

    def __init__(self, local: Any, w: Any) -> None:
        problem = local.problem
        count = lib.fplt_objective_dimension(problem.objective)
        self._local, self._count = local, count
        self.agent, self.round, self.run = int(problem.agent), int(local.round), int(local.run)
        self.epochs, self.inverse_rho = int(local.training.epochs), float(problem.inverse_rho)
        self.step = float(local.step)
        self.start = fresh(w, count)
        self.centre = fresh(problem.centre, count) if problem.centre else np.zeros(count)
        self.linear = fresh(problem.linear, count) if problem.linear else np.zeros(count)

    def value_and_gradient(self, w: Any) -> tuple[float, Vector]:
        """Of d at w; the gradient is counted."""
        point = np.ascontiguousarray(w, dtype=np.float64)
        value, gradient = ffi.new("double *"), np.empty(self._count)
        status = lib.fplt_local_value_gradient(self._local, ffi.from_buffer("double[]", point), value,
                                               ffi.from_buffer("double[]", gradient))
        if status:
            raise ArithmeticError("value and gradient were not found: " + text(lib.fplt_status_text(status)))
        return value[0], gradient

    def gradient(self, w: Any) -> Vector:
        return self.value_and_gradient(w)[1]


class Solver:
    """Local training by a function of yours: f(problem) -> w. plain_steps: it takes gradient steps
    w - step * gradient of length `problem.step` and nothing else, so that algorithms which ask for that
    (FedAvg and its kin) may use it."""

    def __init__(self, function: Callable[[Subproblem], Any], plain_steps: bool = False) -> None:
        self.function = function
        self.pointer = lib.fpltpy_solver(plain_steps)
        self.handle = ffi.new_handle(self)
        self.watcher: Watcher | None = None

    def keep(self, failure: BaseException) -> None:
        if self.watcher is not None:
            self.watcher.keep(failure)


@ffi.def_extern(error=1, onerror=failed)  # type: ignore[misc]
def fpltpy_solve(handle: Any, local: Any, w: Any) -> int:
    solver = ffi.from_handle(handle)
    if solver.watcher is not None and solver.watcher.failure is not None:
        return 1
    problem = Subproblem(local, w)
    store(w, solver.function(problem), problem._count, "the solver")
    return 0


def as_solver(solver: Any) -> Solver | None:
    """A function becomes a solver; a name stays a setting."""
    if solver is None or isinstance(solver, str):
        return None
    return solver if isinstance(solver, Solver) else Solver(solver)


class Result:
    """What came of a minimisation: x, outcome, message, history, choices; with privacy the certificate, a dict."""

    def __init__(self, trainer: Trainer) -> None:
        self.x = trainer.weights()
        certificate = trainer.certificate()
        self.certificate: dict[str, Any] | None = None if certificate is None else json.loads(certificate)
        self.outcome, self.message = trainer.outcome, trainer.sentence
        self.rounds = int(trainer.result.counters.rounds)
        self.history = trainer.history()
        self.choices = trainer.choices()

    def __repr__(self) -> str:
        return f"<fedplt.Result {self.message}>"


def minimise(costs: Any, dimension: int | None = None, *, start: Any = None, solver: Any = None,
             privacy: Privacy | None = None, callback: Callable[[Any], Any] | None = None, **settings: Any) -> Result:
    """Minimises the sum of the sites' own costs. costs: a list, or Costs. solver: a name, or a function
    that trains locally. privacy: fedplt.Privacy, for costs with `record_gradients`; it needs `clip`, `gamma` and `rounds`.
    Other keywords are settings (algorithm, rho, epochs, rounds, h ...)."""
    if not isinstance(costs, Costs):
        costs = Costs(costs, dimension, start)
    own = as_solver(solver)
    values = {"threads": 1, **settings}
    if privacy is not None:
        if privacy.rows == 1.0:  # the default; own costs have no rows whose norm could be bounded
            privacy = dataclasses.replace(privacy, rows=None)
        values.update({name: value for name, (value, _) in privacy.settings().items()})
    if own is None and solver is not None:
        values["solver"] = solver
    with Trainer(given(values), costs=costs, solver=own, start=start, callback=callback) as trainer:
        trainer.run()
        if trainer.result.outcome == lib.FPLT_RUN_DIVERGED:
            from fedplt._core import Diverged

            raise Diverged(trainer.sentence)
        result = Result(trainer)
        trainer.warn()
    return result


__all__ = ["Costs", "Solver", "Subproblem", "Result", "minimise"]
