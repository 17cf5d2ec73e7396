"""The little of scikit-learn that the estimators use, where it is absent."""
from __future__ import annotations

import inspect
from typing import Any

import numpy as np


class NotFittedError(ValueError, AttributeError):
    """fit was not called yet."""


class BaseEstimator:
    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> Any:
        for name, value in parameters.items():
            if name not in self._names():
                raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ClassifierMixin:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows classified rightly."""
        return float(np.average(self.predict(X) == np.asarray(y),  # type: ignore[attr-defined]
                                weights=sample_weight))


class RegressorMixin:
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2."""
        y = np.asarray(y, dtype=np.float64)
        mean = np.average(y, weights=sample_weight)
        rest = np.average((y - self.predict(X)) ** 2, weights=sample_weight)  # type: ignore[attr-defined]
        return float(1 - rest / np.average((y - mean) ** 2, weights=sample_weight))


def check_array(X: Any, accept_sparse: Any = None, dtype: Any = np.float64, order: str = "C",
                input_name: str = "X") -> Any:
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(dtype, copy=False)
    rows = np.asarray(X, dtype=dtype, order=order)  # type: ignore[call-overload]
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"X has shape {rows.shape}, but at least one row and one column are needed")
    if not np.all(np.isfinite(rows)):
        raise ValueError("Input X contains NaN or infinity.")
    return rows


def check_is_fitted(estimator: Any) -> None:
    if not hasattr(estimator, "model_"):
        raise NotFittedError(f"This {type(estimator).__name__} instance is not fitted yet")
