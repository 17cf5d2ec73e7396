"""Trained models."""
from __future__ import annotations

import json
import os
from typing import Any, Sequence

import numpy as np

from fedplt._core import BadValue, Vector, call, encoded, strings, take_text, text, warn
from fedplt._fedplt import ffi, lib
from fedplt._data import Rows, TASKS, buffer
from fedplt._frames import frame, table_rows


class Model:
    """A trained model: what it predicts, its coefficients, and the record of its training. Pickled and
    written with all digits."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = ffi.gc(pointer, lib.fplt_model_destroy)

    # files

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Reads a file that `save` or `fedplt train` wrote."""
        made = ffi.new("fplt_model **")
        call(lib.fplt_model_read, os.fsencode(path), made)
        return cls(made[0])

    @classmethod
    def from_json(cls, words: str) -> Model:
        made = ffi.new("fplt_model **")
        encoded = words.encode()
        call(lib.fplt_model_parse, encoded, len(encoded), b"model", made)
        return cls(made[0])

    @classmethod
    def from_weights(cls, weights: Any, *, task: str, loss: str, features: int, intercept: bool = False,
                     classes: Sequence[str] = (), names: Sequence[str] | None = None, radius: float = 0.0,
                     huber_delta: float = 1.0, training: dict[str, Any] | None = None) -> Model:
        """A model of weights that were trained by hand: output after output, then the intercepts. radius: the norm
        that rows were shortened to; 0: none."""
        x = np.ascontiguousarray(weights, dtype=np.float64)
        info, transform = ffi.new("fplt_model_info *"), ffi.new("fplt_transform *")
        transform.features, transform.radius = features, radius
        info.task, info.intercept, info.features, info.classes = TASKS[task], intercept, features, len(classes)
        (info.class_names, one), (info.feature_names, two) = strings(classes or None), strings(names)
        words = [ffi.new("char[]", encoded(word)) for word in
                 (loss, "fedplt " + text(lib.fplt_version()), json.dumps(training or {}))]
        info.loss, info.program, info.training = words
        info.huber_delta, info.transform = huber_delta, transform
        info.weights, info.dimension = buffer("double[]", x), x.size
        made = ffi.new("fplt_model **")
        call(lib.fplt_model_create, info, made)
        del one, two
        return cls(made[0])

    def to_json(self) -> str:
        """The text of the model file."""
        words = ffi.new("char **")
        call(lib.fplt_model_text, self._pointer, words)
        return take_text(words[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes model.json; it appears whole or not at all."""
        call(lib.fplt_model_write, self._pointer, os.fsencode(path))

    def export(self, path: str | os.PathLike[str], form: str | None = None) -> None:
        """Writes what other programs read: "onnx" (a graph) or "csv" (coefficients); by default what
        the path ends with."""
        place = os.fspath(path)
        kind = form or os.path.splitext(place)[1].lstrip(".")
        call(lib.fplt_model_export, self._pointer, encoded(kind), os.fsencode(path))

    def __reduce__(self) -> Any:
        return Model.from_json, (self.to_json(),)

    # what it consists of

    @property
    def _info(self) -> Any:
        return lib.fplt_model_get_view(self._pointer)

    @property
    def task(self) -> str:
        return text(lib.fplt_task_name(self._info.task))

    @property
    def loss(self) -> str:
        return text(self._info.loss)

    @property
    def weights(self) -> Vector:
        """As the library has them: output after output, then the intercepts, of transformed columns."""
        info = self._info
        return np.array(ffi.unpack(info.weights, info.dimension))

    @property
    def outputs(self) -> int:
        return int(lib.fplt_model_outputs(self._pointer))

    @property
    def training(self) -> dict[str, Any]:
        """How it was trained and what came of it."""
        words = self._info.training
        record: dict[str, Any] = json.loads(text(words)) if words else {}
        return record

    @property
    def transform(self) -> dict[str, Any]:
        """What was done to the columns and rows: mean, scale (None: nothing), radius (0: nothing)."""
        transform, count = self._info.transform, self._info.features
        def vector(pointer: Any) -> Any:
            return np.array(ffi.unpack(pointer, count)) if pointer else None
        return {"mean": vector(transform.mean), "scale": vector(transform.scale),
                "radius": float(transform.radius)}

    def linear(self) -> tuple[Vector, Vector]:
        """Coefficients (outputs x features) and intercepts in the units of the columns as they came."""
        info, outputs = self._info, self.outputs
        weights = self.weights
        coefficients = weights[:outputs * info.features].reshape(outputs, info.features)
        intercepts = weights[outputs * info.features:] if info.intercept else np.zeros(outputs)
        transform = self.transform
        if transform["scale"] is not None:
            coefficients = coefficients / transform["scale"]
        if transform["mean"] is not None:
            intercepts = intercepts - coefficients @ transform["mean"]
        return coefficients, intercepts

    # what it says

    def _predict(self, X: Any, kind: str) -> Vector:
        rows = Rows(X)
        count, features = rows.shape
        info = self._info
        wanted = info.transform.inputs or info.features  # a formula is over other columns than the model's
        if features != wanted:
            raise BadValue(f"X has {features} features, but the model has {wanted}")
        label = np.zeros(count)
        given = ffi.new("fplt_rows *")
        rows.fill(given)
        given.label = buffer("double[]", label)
        sizes = np.array([count], dtype=np.uintp)
        made = ffi.new("fplt_dataset **")
        call(lib.fplt_dataset_borrow, given, TASKS["regression"], buffer("size_t[]", sizes), 1,
             ffi.NULL, ffi.NULL, made)
        try:
            call(lib.fplt_transform_apply, info.transform, made[0])
            all_rows = ffi.new("fplt_rows *", lib.fplt_dataset_all(made[0]))
            width = {"scores": self.outputs, "probabilities": info.classes, "predicted": 1}[kind]
            out = np.empty((count, width))
            place = [buffer("double[]", out) if name == kind else ffi.NULL
                     for name in ("scores", "probabilities", "predicted")]
            call(lib.fplt_model_predict, self._pointer, all_rows, *place)
        finally:
            lib.fplt_dataset_destroy(made[0])
        return out[:, 0] if width == 1 else out

    def scores(self, X: Any) -> Vector:
        """The linear predictors."""
        return self._predict(X, "scores")

    def probabilities(self, X: Any) -> Vector:
        """One column a class."""
        return self._predict(X, "probabilities")

    def predict(self, X: Any) -> Vector:
        """Numbers of classes, or expected values (a count with poisson, a mean with gamma, a relative hazard with cox)."""
        return self._predict(X, "predicted")

    @property
    def has_probabilities(self) -> bool:
        return bool(lib.fplt_model_has_probabilities(self._pointer))

    def coefficients(self) -> Any:
        """Coefficients by name, as the model has them and in the units of the columns."""
        table = ffi.new("fplt_table **")
        call(lib.fplt_model_coefficients, self._pointer, table)
        return frame(table_rows(table[0]))

    def summary(self, level: float = 0.95, robust: bool = False, own_units: bool = True) -> Any:
        """Coefficients with standard errors, tests and intervals; warns where they do not mean what they
        seem."""
        chosen = ffi.new("fplt_summary_settings *", lib.fplt_summary_defaults())
        chosen.level, chosen.robust, chosen.own_units = level, robust, own_units
        table, notes = ffi.new("fplt_table **"), ffi.new("char **")
        call(lib.fplt_model_summary, self._pointer, chosen, table, notes)
        rows = table_rows(table[0])
        for note in take_text(notes[0]).splitlines():
            warn(note)
        return frame(rows)

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The privacy certificate in its training record, or None."""
        found = self.training.get("privacy")
        return found if isinstance(found, dict) else None

    def __repr__(self) -> str:
        return f"<fedplt.Model {self.task}, loss {self.loss}, {self._info.features} features>"
