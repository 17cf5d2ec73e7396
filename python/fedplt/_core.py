"""What every part of the package uses: the library, its errors, settings, and runs that can be watched."""
from __future__ import annotations

import _thread
import logging
import os
import sys
import threading
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from fedplt._fedplt import ffi, lib

# Helpers in C that the library calls.
GIVEN = ffi.addressof(lib, "fpltpy_given")
OBSERVE = ffi.addressof(lib, "fpltpy_observe")
WATCH = ffi.addressof(lib, "fpltpy_watch")
STOP = ffi.addressof(lib, "fpltpy_stop")

logger = logging.getLogger("fedplt")

Vector = np.ndarray[Any, np.dtype[np.float64]]


# ---- errors ----

class Error(Exception):
    """What the library refused or could not do; the message is its sentence."""


class BadValue(Error, ValueError):
    """A setting or argument is outside its legal range."""


class BadData(Error, ValueError):
    """A file or data set is malformed."""


class Unsupported(Error, ValueError):
    """This combination is not offered."""


class Unreachable(Error, ValueError):
    """No admissible value gives what was asked for."""


class IOFailure(Error, OSError):
    """Reading or writing failed."""


class NoMemory(Error, MemoryError):
    """Out of memory."""


class Diverged(Error, ArithmeticError):
    """A number left the range of the exact sum or is not finite."""


class Failed(Error, RuntimeError):
    """A computation or callback reported failure."""


_ERRORS: dict[int, type[Error]] = {
    lib.FPLT_NO_MEMORY: NoMemory, lib.FPLT_BAD_VALUE: BadValue, lib.FPLT_BAD_DATA: BadData,
    lib.FPLT_UNSUPPORTED: Unsupported, lib.FPLT_IO: IOFailure, lib.FPLT_DIVERGED: Diverged,
    lib.FPLT_UNREACHABLE: Unreachable, lib.FPLT_FAILED: Failed,
}


def text(pointer: Any) -> str:
    """A text of the library."""
    return str(ffi.string(pointer).decode("utf-8", "replace")) if pointer else ""


def error_of(status: int, error: Any) -> Error:
    return _ERRORS[status](text(error.text) or text(lib.fplt_status_text(status)))


def call(function: Callable[..., int], *arguments: Any, watcher: Watcher | None = None) -> None:
    """Calls a function of the library whose last argument is the place for its sentence."""
    error = ffi.new("fplt_error *")
    status = function(*arguments, error)
    if watcher is not None:
        watcher.raise_failure()
    if status:
        raise error_of(status, error)


def encoded(word: str) -> bytes:
    """A text for the library, whose texts end at the first NUL."""
    if "\0" in word:
        raise BadValue(f"{word!r} has a NUL in it, which ends a text")
    return word.encode("utf-8", "surrogateescape")


def take_text(pointer: Any) -> str:
    """A text that the library made, released."""
    try:
        return text(pointer)
    finally:
        lib.fplt_free(pointer)


def version() -> str:
    """The version of the library inside, "0.2.0"."""
    return text(lib.fplt_version())


# ---- messages ----

_LEVELS = {lib.FPLT_LOG_DEBUG: logging.DEBUG, lib.FPLT_LOG_INFO: logging.INFO,
           lib.FPLT_LOG_WARNING: logging.WARNING, lib.FPLT_LOG_ERROR: logging.ERROR}


def interrupted(exception: Any, value: Any, traceback: Any) -> None:
    """An exception in a callback that belongs to nobody: Ctrl-C goes back to the main thread."""
    if exception is not None and issubclass(exception, KeyboardInterrupt):
        _thread.interrupt_main()


@ffi.def_extern(onerror=interrupted)  # type: ignore[misc]
def fpltpy_log(level: int, sentence: Any, context: Any) -> None:
    logger.log(_LEVELS.get(level, logging.INFO), "%s", text(sentence))


lib.fplt_log_set(lib.fpltpy_log, ffi.NULL)


def warn(sentence: str, kind: type[Warning] = UserWarning) -> None:
    """A warning at the person's own line, however deep in the package it is found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "fedplt":
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, kind, stacklevel=level)


# ---- runs that can be watched ----

def raise_whole(failure: BaseException) -> None:
    """Raises it, and leaves no circle of frames behind: what the collector ends at any later moment (a thread, say)
    may swallow an interrupt."""
    try:
        raise failure
    finally:
        del failure


class Watcher:
    """Stands between a run of the library and Python: notices signals, calls a person's function, and
    keeps the first exception until the run has ended."""

    def __init__(self, callback: Callable[[Any], Any] | None = None) -> None:
        self.callback = callback
        self.failure: BaseException | None = None
        self.handle = ffi.new_handle(self)
        self.struct = ffi.new("fpltpy_watcher *",
                              {"handle": self.handle, "every": callback is not None, "period": 0.02})

    def keep(self, failure: BaseException) -> None:
        """The first one counts; whatever is called afterwards fails."""
        if self.failure is None:
            self.failure = failure
        self.struct.stop = 1

    def raise_failure(self) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise_whole(failure)


def owner_of(traceback: Any) -> Any:
    """The object whose handle the innermost callback was called with, or None."""
    if traceback is None:
        return None
    handle = traceback.tb_frame.f_locals.get("handle")
    return ffi.from_handle(handle) if handle else None


def failed(exception: Any, value: Any, traceback: Any) -> None:
    """For `onerror`: Ctrl-C can strike before a callback's first line."""
    owner = owner_of(traceback)
    if owner is None:
        interrupted(exception, value, traceback)
    else:
        owner.keep(value.with_traceback(traceback))


@ffi.def_extern(error=1, onerror=failed)  # type: ignore[misc]
def fpltpy_tick(handle: Any, progress: Any) -> int:
    watcher = ffi.from_handle(handle)
    if watcher.callback is None:
        return 0
    return 1 if watcher.callback(measurement(progress)) else 0


@ffi.def_extern(error=1, onerror=failed)  # type: ignore[misc]
def fpltpy_step(handle: Any, done: int, total: int) -> int:
    watcher = ffi.from_handle(handle)
    if watcher.callback is None:
        return 0
    return 1 if watcher.callback((int(done), int(total))) else 0


class Beside:
    """A function in a thread of its own, waited for by an event: Thread.join takes a thread for dead once it was
    interrupted (Python 3.11), and what the thread works on would be released too early. A Thread's end runs Python
    code that swallows interrupts, so there is none."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self.done = threading.Event()
        self._function = function
        self._turn, self._begun, self._cancelled = threading.Lock(), False, False

    def _work(self) -> None:
        with self._turn:
            self._begun = not self._cancelled
        try:
            if self._begun:
                self._function()
        except BaseException as failure:  # the waiting thread raises it
            self.failure = failure
        finally:
            self.done.set()

    def start(self) -> None:
        """Raises what interrupts it; then either the thread never begins, or `done` will be set."""
        try:
            _thread.start_new_thread(self._work, ())
        except BaseException:
            with self._turn:
                self._cancelled = not self._begun
            if self._cancelled:
                self.done.set()
            raise


def beside(function: Callable[[], None], watcher: Watcher) -> None:
    """Runs a long experiment in a thread of its own, so that this one notices Ctrl-C at once. Returns when
    the thread has ended, whatever happens."""
    if threading.current_thread() is not threading.main_thread():
        function()
        return
    worker = Beside(function)
    try:
        worker.start()
    except BaseException as failure:
        watcher.keep(failure)
    while True:
        try:
            while not worker.done.wait(0.1):
                pass
            break
        except BaseException as failure:  # Ctrl-C: the library is asked to stop, and waited for
            watcher.keep(failure)
    watcher.raise_failure()
    if worker.failure is not None:
        ended, worker.failure = worker.failure, None
        raise_whole(ended)


# ---- settings ----

def as_text(value: Any) -> str:
    """A value as one would write it in a file: yes and no, numbers with all their digits, commas. For lists, mappings
    and what the library asks for before there are tables; single numbers are set as numbers (Settings._set)."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, Mapping):
        return ",".join(f"{_escaped(key)}={_escaped(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) == 1:
        return ",".join(_escaped(item) for item in value)
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)


def _escaped(value: Any) -> str:
    words = as_text(value)
    for special in "\\,=":
        words = words.replace(special, "\\" + special)
    return words


def setting_name(keyword: str) -> str:
    """Of a keyword; one that Python keeps for itself ends in an underscore: continue_."""
    return keyword.removesuffix("_").replace("_", "-")


def given(settings: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """Keywords to (value, origin) by the settings' own names; None is not given."""
    return {setting_name(keyword): (value, keyword)
            for keyword, value in settings.items() if value is not None}


Declare = Callable[[Any, Any], None]


class Settings:
    """Tables of settings with the values that were given."""

    def __init__(self, values: Mapping[str, tuple[Any, str]], declare: Declare) -> None:
        self.kept: list[Any] = []  # texts that the library borrows
        made = ffi.new("fplt_settings **")
        call(lib.fplt_settings_create, made)
        self.pointer = ffi.gc(made[0], lib.fplt_settings_destroy)
        pairs = [self._keep(word) for name, (value, _) in values.items() for word in (name, as_text(value))]
        self.ahead = ffi.new("char *[]", [*pairs, ffi.NULL])
        declare(self, values)
        for name, (value, origin) in values.items():
            self._set(name, value, origin)

    def _set(self, name: str, value: Any, origin: str) -> None:
        """Numbers as numbers, everything else as text."""
        setter, taken = lib.fplt_settings_set, value
        if isinstance(value, (bool, np.bool_)):
            setter, taken = lib.fplt_settings_set_switch, int(value)
        elif isinstance(value, (float, np.floating)):
            setter, taken = lib.fplt_settings_set_real, float(value)
        elif isinstance(value, (int, np.integer)) and -2**63 <= value < 2**63:
            setter, taken = lib.fplt_settings_set_integer, int(value)
        else:
            taken = encoded(as_text(value))
        call(setter, self.pointer, encoded(name), taken, encoded(origin))

    def _keep(self, word: str) -> Any:
        self.kept.append(ffi.new("char[]", encoded(word)))
        return self.kept[-1]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every setting: name, group, kind, default, what is legal, help, the words of a choice, and what it
        needs to have an effect."""
        kinds = {lib.FPLT_REAL: "number", lib.FPLT_INTEGER: "integer", lib.FPLT_SWITCH: "switch",
                 lib.FPLT_CHOICE: "choice", lib.FPLT_TEXT: "text"}
        index, group, room = 0, ffi.new("char **"), ffi.new("char[1024]")
        while row := lib.fplt_settings_row(self.pointer, index, group):
            lib.fplt_setting_legal(row, room, len(room))
            legal = text(room)
            choices = text(row.choices).split("|") if row.choices else []
            lib.fplt_setting_help(row, room, len(room))
            yield {"name": text(row.name), "group": text(group[0]), "kind": kinds[row.kind],
                   "default": text(row.standard) if row.standard else None, "legal": legal,
                   "help": text(room), "needs": text(row.needs),
                   "choices": choices + ["auto"] * bool(choices and row.flags & lib.FPLT_AUTO)}
            index += 1


def trainer_settings(values: Mapping[str, tuple[Any, str]], own_data: bool) -> Settings:
    def declare(settings: Any, _: Any) -> None:
        call(lib.fplt_trainer_declare, settings.pointer, own_data, GIVEN, settings.ahead)

    return Settings(values, declare)


def settings(algorithm: str | None = None) -> Any:
    """All settings of a training (with an algorithm's own): name, group, kind, default, what is legal,
    and help, from the library's own tables. A DataFrame where pandas is there, else a list."""
    from fedplt._frames import frame

    values = given({"algorithm": algorithm})
    rows = list(trainer_settings(values, False).rows())
    for row in rows:
        del row["choices"], row["needs"]  # `legal` has the first
    return frame(rows)


# ---- what was measured ----

HISTORY = np.dtype([("round", "u8"), ("active", "u4"), ("criterion", "f8"), ("objective", "f8"),
                    ("accuracy", "f8"), ("gradients", "f8"), ("vectors_up", "u8"),
                    ("vectors_down", "u8"), ("time", "f8"), ("paper_time", "f8")])


def _row(progress: Any) -> tuple[Any, ...]:
    measure, counters = progress.measure, progress.counters
    judged = measure.classifies and measure.records
    return (progress.round, progress.active, measure.criterion, measure.objective,
            measure.hits / measure.records if judged else np.nan, counters.gradients,
            counters.vectors_up, counters.vectors_down, counters.time, counters.paper_time)


def measurement(progress: Any) -> dict[str, Any]:
    """One round as a dict, for a person's callback; NaN where it was not measured."""
    row: dict[str, Any] = dict(zip(HISTORY.names or (), _row(progress)))
    if not progress.measured:
        row.update(criterion=np.nan, objective=np.nan, accuracy=np.nan)
    return row


def history(pointer: Any) -> np.ndarray[Any, Any]:
    count = lib.fplt_history_count(pointer)
    return np.array([_row(lib.fplt_history_get(pointer, i)) for i in range(count)], dtype=HISTORY)


# ---- a training ----

class Trainer:
    """fplt_trainer: settings and data, or own costs, to a model. Engines before plans before jobs are
    released by `close`, not by the collector; there is no __del__, where an interrupt would be lost."""

    def __init__(self, values: Mapping[str, tuple[Any, str]], *, dataset: Any = None, costs: Any = None,
                 solver: Any = None, start: Any = None,
                 callback: Callable[[Any], Any] | None = None) -> None:
        self.pointer = ffi.NULL
        self.watcher = Watcher(callback)
        self.settings = trainer_settings(values, dataset is not None)
        self.dataset, self.costs, self.solver = dataset, costs, solver
        source = ffi.new("fplt_job_source *")
        if start is not None:
            self.start = np.ascontiguousarray(start, dtype=np.float64)
            if self.start.ndim != 1 or not self.start.size:
                raise BadValue(f"start has shape {self.start.shape}, but must have one number a coordinate")
            source.start, source.start_count = ffi.from_buffer("double[]", self.start), self.start.size
        if costs is not None:
            costs.watcher = self.watcher
            source.objective = costs.pointer
        if solver is not None:
            solver.watcher = self.watcher
            source.solver = solver.pointer
            source.solver_context = solver.handle
        if dataset is not None:
            source.dataset = dataset.lend()
        made = ffi.new("fplt_trainer **")
        call(lib.fplt_trainer_create, self.settings.pointer, source, made, watcher=self.watcher)
        self.pointer = ffi.gc(made[0], lib.fplt_trainer_destroy)
        self.result = ffi.new("fplt_result *")

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        if self.pointer:
            ffi.release(self.pointer)
            self.pointer = ffi.NULL

    def run(self) -> None:
        """To the end, or until somebody stops it; called again it goes on."""
        self.watcher.struct.stop = 0
        call(lib.fplt_trainer_run, self.pointer, OBSERVE, self.watcher.struct, self.result,
             watcher=self.watcher)

    @property
    def view(self) -> Any:
        return lib.fplt_trainer_job(self.pointer)

    @property
    def outcome(self) -> str:
        return text(lib.fplt_outcome_name(self.result.outcome))

    @property
    def sentence(self) -> str:
        return text(self.result.sentence)

    def weights(self) -> Vector:
        x = np.empty(lib.fplt_objective_dimension(self.view.objective))
        call(lib.fplt_trainer_weights, self.pointer, ffi.from_buffer("double[]", x),
             watcher=self.watcher)
        return x

    def history(self) -> np.ndarray[Any, Any]:
        return history(lib.fplt_trainer_history(self.pointer))

    def certificate(self) -> str | None:
        error = ffi.new("fplt_error *")
        found = lib.fplt_trainer_certificate(self.pointer, error)
        if not found and error.status:
            raise error_of(error.status, error)
        return text(found) if found else None

    def model(self) -> Any:
        from fedplt._model import Model

        made = ffi.new("fplt_model **")
        call(lib.fplt_trainer_model, self.pointer, made)
        return Model(made[0])

    def choices(self) -> dict[str, tuple[Any, str]]:
        """Each value that was chosen or given, and why."""
        record = ffi.new("fplt_record *")
        call(lib.fplt_trainer_record, self.pointer, record, watcher=self.watcher)
        rows = [record.parameter[i] for i in range(record.parameters)] + [record.epochs, record.step]
        found: dict[str, tuple[Any, str]] = {}
        automatic = self.view.automatic
        algorithm = text(self.view.run.algorithm.name)
        why = text(automatic.about_algorithm) if automatic else ""
        found["algorithm"] = (algorithm, why)
        for row in rows:
            found[text(row.name)] = (text(row.word) if row.word else row.value, text(row.why))
        return found

    def warn(self) -> None:
        """What a person should know of how it ended."""
        if self.result.outcome == lib.FPLT_ROUNDS_DONE and self.result.target > 0:
            warn(self.sentence, convergence_warning())


def convergence_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        return RuntimeWarning
    return ConvergenceWarning  # type: ignore[no-any-return]


def strings(words: Sequence[str] | None) -> tuple[Any, list[Any]]:
    """An array of texts for the library, and what keeps it alive."""
    if words is None:
        return ffi.NULL, []
    kept = [ffi.new("char[]", encoded(word)) for word in words]
    array = ffi.new("char *[]", kept)
    return array, [*kept, array]
