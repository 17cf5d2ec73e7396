"""Experiments: training, comparison, tuning, theory, and the paper's tables, as frames and pictures."""
from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from fedplt import _core
from fedplt._core import (BadValue, Diverged, GIVEN, STOP, Settings, Trainer, Vector, WATCH, Watcher, beside, call, given,
                          text)
from fedplt._data import Dataset, number_of
from fedplt._fedplt import ffi, lib
from fedplt._frames import axes, frame, latex, pandas_or_refuse
from fedplt.algorithm import Algorithm, find, names, own as own_methods
from fedplt.costs import Costs, as_solver
from fedplt.privacy import Privacy


def _dataset(X: Any, y: Any, sites: Any, loss: Any, settings: dict[str, Any]) -> Dataset | None:
    """Rows in memory; what a number of sites means is a setting."""
    if X is None or isinstance(X, Dataset):
        for what, values in (("y", y), ("sites", sites)):
            if values is not None:
                raise BadValue(f"{what} is given, but " + ("X is not" if X is None else
                                                           "X is a Dataset, which has its own"))
        return X
    if y is None:
        raise BadValue("X is given, but y is not")
    if number_of(sites) is not None:
        settings.setdefault("agents", number_of(sites))
        settings.setdefault("partition", "shuffled")
        sites = None
    labels, given_task = np.asarray(y), settings.pop("task", None)
    counted = loss in ("least-squares", "huber", "poisson", "gamma")
    task = ("survival" if loss == "cox" else "regression" if counted or
            (loss is None and labels.dtype.kind == "f" and len(np.unique(labels)) > 2) else "binary")
    return Dataset(X, labels, sites, task=task if given_task in (None, "auto") else given_task)


def _costs(costs: Any) -> Costs | None:
    return costs if costs is None or isinstance(costs, Costs) else Costs(costs)


# ---- training ----

class Run:
    """A training that has ended: x, model (None with own costs), history, choices, outcome, message."""

    def __init__(self, trainer: Trainer) -> None:
        self.x = trainer.weights()
        self.model = trainer.model() if trainer.costs is None else None
        self.outcome, self.message = trainer.outcome, trainer.sentence
        self.rounds = int(trainer.result.counters.rounds)
        self.history = trainer.history()
        self.choices = trainer.choices()
        self.certificate = trainer.certificate()

    def frame(self) -> Any:
        """The history as a DataFrame."""
        return frame(self.history)

    def plot(self, x: str = "round", y: str = "criterion", ax: Any = None) -> Any:
        """The criterion over the rounds, or any two columns of the history."""
        ax = axes(ax)
        ax.plot(self.history[x], self.history[y])
        ax.set(xlabel=x, ylabel=y, yscale="log" if y == "criterion" else "linear")
        return ax

    def __repr__(self) -> str:
        return f"<fedplt.Run {self.message}>"


def train(X: Any = None, y: Any = None, sites: Any = None, *, costs: Any = None, solver: Any = None,
          start: Any = None, privacy: Privacy | None = None,
          callback: Callable[[Any], Any] | None = None, **settings: Any) -> Run:
    """What `fedplt train` does, on rows in memory, own costs, files (data=...) or generated data. Keywords
    are its settings with _ for -. Without `loss` or `task`, labels that are decimal numbers make a regression, and
    all others are classes."""
    own = as_solver(solver)
    if own is None:
        settings["solver"] = solver
    dataset = _dataset(X, y, sites, settings.get("loss"), settings)
    values = {"threads": 1 if costs is not None or own is not None else None, **settings}
    found = {**given(values), **(privacy.settings() if privacy is not None else {})}
    with Trainer(found, dataset=dataset, costs=_costs(costs), solver=own, start=start,
                 callback=callback) as trainer:
        trainer.run()
        if trainer.result.outcome == lib.FPLT_RUN_DIVERGED:
            raise Diverged(trainer.sentence)
        run = Run(trainer)
        trainer.warn()
    return run


def simulate(*, solver: Any = None, start: Any = None, privacy: Privacy | None = None,
             callback: Callable[[Any], Any] | None = None, **settings: Any) -> Run:
    """Trains on data that are generated: `agents`, `features`, `rows`, `generator` ..."""
    return train(solver=solver, start=start, privacy=privacy, callback=callback, **settings)


# ---- comparison ----

_AXES = {"round": "rounds", "gradients": "local gradients, all agents", "vectors": "vectors sent",
         "paper_time": "time as the paper counts it"}


class Comparison:
    """What each algorithm needs to the common criterion: `.table` with quartiles over the runs, `.curves` with
    the median after every round (long frames), `.target`."""

    def __init__(self, pointer: Any) -> None:
        pandas_or_refuse("compare")
        rows, curves = [], []
        for index in range(lib.fplt_comparison_count(pointer)):
            one = lib.fplt_comparison_get(pointer, index)
            rows.append(_compared(one))
            curve, name = one.curve, text(one.algorithm.name)
            columns = {column: ffi.unpack(getattr(curve, column), curve.count) if curve.count else []
                       for column in ("round", "gradients", "vectors", "paper_time", "criterion")}
            curves.append(frame({"algorithm": [name] * curve.count, **columns}))
        self.table = frame(rows)
        self.curves = pandas_or_refuse("compare").concat(curves, ignore_index=True)
        self.target = float(lib.fplt_comparison_target(pointer))

    def plot(self, x: str = "vectors", ax: Any = None) -> Any:
        """The criterion against rounds ("round"), "gradients", "vectors" or "paper_time"."""
        if x not in _AXES:
            raise BadValue(f"x is {x!r}, but must be one of {', '.join(_AXES)}")
        ax = axes(ax)
        for name, curve in self.curves.groupby("algorithm", sort=False):
            ax.plot(curve[x], curve["criterion"], label=name)
        ax.axhline(self.target, color="grey", linewidth=0.8, linestyle="--")
        ax.set(xlabel=_AXES[x], ylabel="criterion", yscale="log")
        ax.legend()
        return ax

    def to_latex(self, columns: Sequence[str] = ("algorithm", "rounds", "gradients", "vectors",
                                                 "paper_time", "failures"), **options: Any) -> str:
        """The table for a paper; options are those of pandas' Styler.to_latex (caption, label ...)."""
        return latex(self.table[list(columns)], **options)

    def __repr__(self) -> str:
        return f"<fedplt.Comparison of {len(self.table)} algorithms to {self.target:g}>"


def _compared(one: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"algorithm": text(one.algorithm.name), "title": text(one.algorithm.title)}
    refused = bool(one.refusal)
    for name in ("rounds", "gradients", "vectors", "time", "paper_time"):
        spread = getattr(one, name)
        row[name] = math.nan if refused else spread.median
        row[name + "_low"] = math.nan if refused else spread.low
        row[name + "_high"] = math.nan if refused else spread.high
    row.update(runs=one.runs, failures=one.runs if refused else one.failures, diverged=one.diverged,
               points=one.points, step=one.step, refusal=text(one.refusal) if refused else None)
    setting, index = one.algorithm.settings, 0
    parameters = {}
    while setting and setting[index].name:
        parameters[text(setting[index].name)] = one.parameter[index]
        index += 1
    row["parameters"] = parameters
    return row


def _algorithms(wanted: str | Algorithm | Iterable[str | Algorithm] | None) -> list[str | Algorithm]:
    return [wanted] if isinstance(wanted, (str, Algorithm)) else list(wanted or ())


def algorithms() -> list[str]:
    """The algorithms there are."""
    return names()


def _compare_settings(values: Mapping[str, tuple[Any, str]], own_data: bool) -> Settings:
    def declare(settings: Any, _: Any) -> None:
        call(lib.fplt_compare_declare, settings.pointer)
        call(lib.fplt_trainer_prefer, settings.pointer, own_data, GIVEN, settings.ahead)

    return Settings(values, declare)


def compare(algorithms: str | Algorithm | Sequence[str | Algorithm] | None = None, *, runs: int = 20, tune: bool = False,
            points: int | None = None, X: Any = None, y: Any = None, sites: Any = None, costs: Any = None,
            solver: Any = None, threads: int | None = None,
            callback: Callable[[tuple[int, int]], Any] | None = None, **settings: Any) -> Comparison:
    """Runs algorithms (None: all; names, or instances of fedplt.Algorithm) on the same problem to a common criterion,
    `runs` times each. tune:
    searches each one's parameters and step first, with the same effort. Data in memory, own costs, files
    (data=...) or, by default, the paper's problem drawn anew for each run. Your own data have the defaults of
    the estimators; paper=True takes the paper's. callback gets (done, total)."""
    own = as_solver(solver)
    if own is None and solver is not None:
        settings["solver"] = solver
    dataset, costs = _dataset(X, y, sites, settings.get("loss"), settings), _costs(costs)
    chosen, watcher = _algorithms(algorithms), Watcher(callback)
    in_python = own_methods(chosen)
    tables = _compare_settings(given(settings), dataset is not None)
    wanted = ffi.new("fplt_compare_settings *", lib.fplt_compare_defaults(tables.pointer))
    array = ffi.new("fplt_algorithm *[]", [find(one) for one in chosen]) if chosen else ffi.NULL
    wanted.algorithms = ffi.cast("fplt_algorithm * *", array)
    wanted.count, wanted.runs, wanted.tune = len(chosen), runs, tune
    wanted.points = points if points is not None else wanted.points
    calls_python = costs is not None or own is not None or bool(in_python)
    wanted.threads = threads if threads is not None else 1 if calls_python else 0
    wanted.watch, wanted.stop, wanted.context = WATCH, STOP, watcher.struct
    for part in (costs, own):
        if part is not None:
            part.watcher = watcher
    for method in in_python:
        method._watcher = watcher
    wanted.objective = costs.pointer if costs is not None else ffi.NULL
    if own is not None:
        wanted.solver, wanted.solver_context = own.pointer, own.handle
    lent = dataset.lend() if dataset is not None else ffi.NULL
    wanted.dataset = lent
    made = ffi.new("fplt_comparison **")
    try:
        beside(lambda: call(lib.fplt_comparison_create, wanted, made, watcher=watcher), watcher)
        return Comparison(made[0])
    finally:
        lib.fplt_comparison_destroy(made[0])
        lib.fplt_dataset_destroy(lent)


# ---- tuning ----

class Tuning:
    """Candidates of rho, step and epochs, the best first (`.table`), with what they are expected to cost;
    `.choice` are settings to train with, `.reasoning` says why."""

    def __init__(self, tuning: Any) -> None:
        rows = []
        for index in range(tuning.count):
            one = tuning.candidate[index]
            rows.append({"origin": text(one.origin), "rho": one.rho,
                         "gamma": one.step if one.step > 0 else math.nan, "epochs": one.epochs,
                         "rate": one.rate, "rounds": one.rounds, "criterion": one.criterion,
                         "reached": bool(one.reached), "diverged": bool(one.left),
                         "expected_rounds": one.expected_rounds, "expected_time": one.expected_time})
        best = tuning.candidate[0]
        self.table = frame(rows)
        self.choice: dict[str, Any] = {"rho": best.rho, "epochs": int(best.epochs)}
        if best.step > 0:
            self.choice["gamma"] = best.step
        self.reasoning = text(tuning.reasoning)
        self.rounds_spent, self.target = int(tuning.rounds_spent), float(tuning.target)

    def plot(self, ax: Any = None) -> Any:
        """Expected time of the candidates against rho, one line a number of epochs."""
        ax = axes(ax)
        for epochs, part in self.table.sort_values("rho").groupby("epochs"):
            ax.plot(part["rho"], part["expected_time"], marker="o", label=f"{epochs} epochs")
        ax.set(xlabel="rho", ylabel="expected time", xscale="log", yscale="log")
        ax.legend()
        return ax

    def to_latex(self, **options: Any) -> str:
        return latex(self.table[["origin", "rho", "gamma", "epochs", "expected_rounds", "expected_time"]],
                     **options)

    def __repr__(self) -> str:
        return f"<fedplt.Tuning {self.choice}>"


def _job_settings(values: Mapping[str, tuple[Any, str]], algorithm: str) -> Settings:
    return Settings(values, lambda settings, _: call(lib.fplt_job_declare, settings.pointer,
                                                     lib.FPLT_JOB_ALL, algorithm.encode()))


def tune(X: Any = None, y: Any = None, sites: Any = None, *, by: str = "theory", rounds: int = 0,
         costs: Any = None, algorithm: str = "fed-plt", lmin: float | None = None,
         lmax: float | None = None, public: bool = False,
         callback: Callable[[tuple[int, int]], Any] | None = None, **settings: Any) -> Tuning:
    """Looks for rho, gamma and epochs of Fed-PLT: by "theory" (a model, no round), by "experiment" (candidates
    run, the better half goes on) or by "both". lmin and lmax instead of data are bounds of the curvature; with
    public=True nothing else is used, as a privacy claim needs it. rounds: what an experiment may spend."""
    methods = {"theory": lib.FPLT_TUNE_THEORY, "experiment": lib.FPLT_TUNE_EXPERIMENT,
               "both": lib.FPLT_TUNE_BOTH}
    if by not in methods:
        raise BadValue(f"by is {by!r}, but must be one of {', '.join(methods)}")
    dataset, costs = _dataset(X, y, sites, settings.get("loss"), settings), _costs(costs)
    bounds = lmin is not None and lmax is not None
    has_data = dataset is not None or costs is not None or "data" in settings or not bounds
    values = {"algorithm": algorithm, "threads": 1 if costs is not None else None, **settings}
    tables = _job_settings(given(values), algorithm)
    watcher, wanted = Watcher(callback), ffi.new("fplt_tune_settings *", lib.fplt_tune_defaults())
    made, parameters = ffi.new("fplt_job **"), ffi.new("double[]", lib.FPLT_MAX_PARAMETERS)
    try:
        if has_data:
            source = ffi.new("fplt_job_source *")
            source.dataset = dataset.lend() if dataset is not None else ffi.NULL
            if costs is not None:
                costs.watcher, source.objective = watcher, costs.pointer
            call(lib.fplt_job_create_from, tables.pointer, 0, source, made, watcher=watcher)
            wanted.run = lib.fplt_job_get_view(made[0]).run
        run = wanted.run
        call(lib.fplt_job_training, tables.pointer, ffi.addressof(run, "training"))
        run.algorithm = lib.fplt_algorithm_find(algorithm.encode())
        lib.fplt_algorithm_read(run.algorithm, tables.pointer, parameters)
        run.parameter = parameters
        if not lib.fplt_settings_given(tables.pointer, b"epochs"):
            run.training.epochs = 0
        if bounds:
            run.curvature.lowest, run.curvature.highest = lmin, lmax
        run.tolerance = lib.fplt_settings_real(tables.pointer, b"tolerance")
        run.relative = lib.fplt_settings_switch(tables.pointer, b"relative")
        run.gradient_time = lib.fplt_settings_real(tables.pointer, b"t-gradient")
        run.communication_time = lib.fplt_settings_real(tables.pointer, b"t-communication")
        wanted.method, wanted.rounds, wanted.public_only = methods[by], rounds, public
        wanted.watch, wanted.context = WATCH, watcher.struct
        objective = lib.fplt_job_get_view(made[0]).objective if has_data else ffi.NULL
        found = ffi.new("fplt_tuning *")
        call(lib.fplt_tune, objective, settings.get("agents") or 1, wanted, found, watcher=watcher)
        try:
            return Tuning(found)
        finally:
            lib.fplt_tuning_clear(found)
    finally:
        lib.fplt_job_destroy(made[0])


# ---- theory ----

class Theory:
    """What is proved of Fed-PLT with given parameters (`.table`: one finding a line, with advice),
    whether convergence is (`.guaranteed`), and the bound round by round."""

    def __init__(self, problem: Any, parameters: Any) -> None:
        verdict = ffi.new("fplt_theory_verdict *")
        call(lib.fplt_theory_judge, problem, parameters, verdict)
        self._verdict = verdict
        self._asked: tuple[Any, Any] = ((), {})
        self.guaranteed = bool(verdict.guaranteed)
        findings = [verdict.finding[i] for i in range(verdict.count)]
        self.table = frame([{"name": text(one.name), "meaning": text(one.meaning),
                             "printed": bool(one.printed), "holds": bool(one.holds), "value": one.value,
                             "limit": one.limit, "advice": text(one.advice)} for one in findings])
        self.lmin, self.lmax = problem.strong_convexity, problem.smoothness
        self.rho, self.gamma, self.epochs = parameters.rho, parameters.step, int(parameters.epochs)
        self.rate = float(verdict.weighted.rate)
        self.model_rate = float(lib.fplt_theory_quadratic_rate(problem, parameters).rate)

    def __reduce__(self) -> Any:
        return _theory_again, self._asked

    def bound(self, rounds: int, first_error: float = 1.0) -> Vector:
        """The proved bound of the error after 0 .. rounds rounds; infinite where nothing is proved."""
        weighted = ffi.addressof(self._verdict, "weighted")
        return np.array([lib.fplt_theory_bound_at(weighted, first_error, k) for k in range(rounds + 1)])

    def plot(self, rounds: int = 50, ax: Any = None) -> Any:
        """The proved bound beside the rate on quadratics, from an error of 1."""
        ax = axes(ax)
        number = np.arange(rounds + 1)
        if self.guaranteed:
            ax.plot(number, self.bound(rounds), label="proved bound")
        ax.plot(number, self.model_rate ** number, label="model of quadratics (no guarantee)")
        ax.set(xlabel="round", ylabel="error", yscale="log")
        ax.legend()
        return ax

    def to_latex(self, **options: Any) -> str:
        return latex(self.table[["name", "meaning", "value", "limit", "holds"]], **options)

    def __repr__(self) -> str:
        words = "guaranteed" if self.guaranteed else "not guaranteed"
        return f"<fedplt.Theory: convergence {words}, rate {self.rate:.4g}>"


def _theory_again(bounds: Any, more: Any) -> Theory:
    return theory(*bounds, **more)


def theory(lmin: float, lmax: float, *, rho: float | None = None, gamma: float | None = None,
           epochs: int = 5, accelerated: bool = False, participation: float = 1.0, tau: float = 0.0,
           agents: int = 100, dimension: int = 5) -> Theory:
    """What is proved where the costs curve between lmin and lmax; rho and gamma None: the balanced ones."""
    problem = ffi.new("fplt_theory_problem *", [lmin, lmax, agents, dimension])
    parameters = ffi.new("fplt_theory_parameters *", lib.fplt_theory_defaults(problem))
    parameters.epochs, parameters.accelerated, parameters.noise_tau = epochs, accelerated, tau
    parameters.participation_least = parameters.participation_most = participation
    if rho is not None:
        parameters.rho = rho
        parameters.step = lib.fplt_theory_best_step(problem, rho)
    if gamma is not None:
        parameters.step = gamma
    call(lib.fplt_theory_check, problem, parameters)
    found = Theory(problem, parameters)
    found._asked = (lmin, lmax), dict(rho=rho, gamma=gamma, epochs=epochs, accelerated=accelerated,
                                      participation=participation, tau=tau, agents=agents, dimension=dimension)
    return found


# ---- the paper's tables ----

class Paper:
    """The paper's tables computed anew: `.table`, one figure a line beside the paper's own, and what follows
    from them in `.remarks`."""

    def __init__(self, pointer: Any) -> None:
        rows, self.remarks = [], []
        index = 0
        while table := lib.fplt_paper_get_view(pointer, index):
            for number in range(table.count):
                cell = table.cells[number]
                rows.append({"table": text(table.name), "title": text(table.title), "row": text(cell.row),
                             "column": text(cell.column), "paper": cell.paper, "ours": cell.ours,
                             "low": cell.low, "median": cell.median, "high": cell.high,
                             "rounds": cell.rounds, "runs": cell.runs, "failures": cell.failures,
                             "parameters": text(cell.parameters),
                             "refusal": text(cell.refusal) if cell.refusal else None})
            self.remarks += [text(table.remark[i]) for i in range(table.remarks)]
            index += 1
        self.table = frame(rows)

    def plot(self, ax: Any = None) -> Any:
        """Our figures against the paper's, on logarithmic axes."""
        ax = axes(ax)
        known = self.table[np.isfinite(self.table["paper"]) & np.isfinite(self.table["ours"])]
        for name, part in known.groupby("table", sort=False):
            ax.plot(part["paper"], part["ours"], "o", label=f"Table {name}")
        ax.axline((1, 1), (10, 10), color="grey", linewidth=0.8)
        ax.set(xlabel="the paper's figure", ylabel="computed anew", xscale="log", yscale="log")
        ax.legend()
        return ax

    def to_latex(self, **options: Any) -> str:
        return latex(self.table[["table", "row", "column", "paper", "ours", "median"]], **options)


def paper(tables: str | Sequence[str] | None = None, *, seed: int = 0, seeds: int = 20, runs: int = 100,
          points: int | None = None, threads: int = 0,
          callback: Callable[[tuple[int, int]], Any] | None = None) -> Paper:
    """Computes tables of the paper (None: all; by their numbers, "II") on so many data sets and runs."""
    known: list[str] = []
    while name := lib.fplt_paper_list(len(known), ffi.NULL, ffi.NULL):
        known.append(text(name))
    wanted = ffi.new("fplt_paper_settings *", lib.fplt_paper_defaults())
    wanted.seed, wanted.seeds, wanted.runs, wanted.threads = seed, seeds, runs, threads
    wanted.points = points if points is not None else wanted.points
    if tables is not None:
        tables = [tables] if isinstance(tables, str) else tables
        unknown = [name for name in tables if name not in known]
        if unknown:
            raise BadValue(f"there is no table {unknown[0]!r}; there are {', '.join(known)}")
        wanted.tables = sum(1 << known.index(name) for name in set(tables))
    watcher = Watcher(callback)
    wanted.watch, wanted.stop, wanted.context = WATCH, STOP, watcher.struct
    made = ffi.new("fplt_paper **")
    try:
        beside(lambda: call(lib.fplt_paper_create, wanted, made, watcher=watcher), watcher)
        return Paper(made[0])
    finally:
        lib.fplt_paper_destroy(made[0])


def _document(function: Any, tables: Settings) -> None:
    """Adds the settings to a docstring, from the library's own tables."""
    lines = [f"    {row['name'].replace('-', '_')} : {row['legal']}"
             + (f"; default {row['default']}" if row["default"] is not None else "")
             + f"\n        {row['help']}" for row in tables.rows()]
    function.__doc__ = f"{function.__doc__}\n\n    Settings\n    --------\n" + "\n".join(lines)


_document(train, _core.trainer_settings({}, False))
_document(compare, _compare_settings({}, False))

__all__ = ["Run", "train", "simulate", "Comparison", "compare", "algorithms", "Tuning", "tune", "Theory",
           "theory", "Paper", "paper"]
