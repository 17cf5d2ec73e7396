"""Estimators in the manner of scikit-learn. `fit(X, y, sites=...)` trains over the sites' rows; without
`sites` there is one."""
from __future__ import annotations

from typing import Any, Mapping, TypeVar

import numpy as np

from fedplt import _core
from fedplt._core import BadData, BadValue, Trainer
from fedplt._data import Dataset, Neutral, is_sparse, missing, number_of
from fedplt._fedplt import lib
from fedplt._model import Model
from fedplt.privacy import Privacy

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_array, check_is_fitted
except ImportError:
    from fedplt._plain import (BaseEstimator, ClassifierMixin, NotFittedError,  # type: ignore[assignment]
                               RegressorMixin, check_array, check_is_fitted)

Self = TypeVar("Self", bound="_Federated")

_PARAMETERS = """
    Parameters
    ----------
    alpha : weight of the ridge (eps); 0 leaves it out. C of scikit-learn is 1/(alpha rows).
    fit_intercept : one more coefficient, not penalised.
    weights : "rows" counts every row alike, however they are divided; "agents" every site.
    penalty, penalty_weight : the common cost h, such as "l1".
    loss, algorithm, solver, epochs, rho, step, batch : "auto" leaves the choice to the library.
    participation, active : who takes part in a round, and how many.
    tol : the gradient's norm falls to this share of what it is at zero.
    max_iter : rounds at most. With privacy the plan chooses, unless settings={"rounds": ...}.
    n_jobs : threads; None is one a core. The result does not depend on it.
    random_state : seed.
    privacy : fedplt.Privacy, or None.
    callback : called after every round with a dict; true stops the training.
    settings : any other setting of `fedplt train` by its name: {"standardise": "yes"}.

    Attributes
    ----------
    coef_, intercept_ : in the units of the columns.
    n_iter_, outcome_, message_ : rounds, how it ended, and that in a sentence.
    history_ : what was measured after every round, a structured array.
    choices_ : each automatic value and why it was chosen.
    sites_ : names of the sites; None where there is one.
    model_ : fedplt.Model, with save, export and summary.
    privacy_certificate_ : dict, or None.
    neutralised_ : with privacy, a dict: cells that were no finite number and became 0, rows whose label was none of
        those declared and became the neutral row. It follows from the records: keep it at the site.
"""


class _Federated(BaseEstimator):  # type: ignore[misc]
    """What all estimators share."""

    _task = "regression"
    _loss = "auto"
    _takes_intercept = True
    _lowest = -np.inf  # of a label
    model_: Model
    classes_: np.ndarray[Any, Any]

    def __init__(self, alpha: float = 0.01, *, fit_intercept: bool = True, weights: str = "rows",
                 penalty: str = "none", penalty_weight: float = 0.0, loss: str = "auto",
                 algorithm: str = "auto", solver: str = "auto", epochs: Any = "auto",
                 rho: Any = "auto", step: Any = "auto", batch: Any = "auto",
                 participation: str = "all", active: int | None = None, tol: float = 1e-8,
                 max_iter: int = 1000, n_jobs: int | None = 1, random_state: int | None = 0,
                 privacy: Privacy | None = None, callback: Any = None,
                 settings: Mapping[str, Any] | None = None) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.weights = weights
        self.penalty = penalty
        self.penalty_weight = penalty_weight
        self.loss = loss
        self.algorithm = algorithm
        self.solver = solver
        self.epochs = epochs
        self.rho = rho
        self.step = step
        self.batch = batch
        self.participation = participation
        self.active = active
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.privacy = privacy
        self.callback = callback
        self.settings = settings

    # parameters to settings

    def _problem(self) -> dict[str, tuple[Any, str]]:
        loss = self._loss if self.loss == "auto" else self.loss
        return {
            "eps": (self.alpha or None, "alpha"),
            "regulariser": ("none" if self.alpha == 0 else None, "alpha"),
            "intercept": (bool(self.fit_intercept and self._takes_intercept), "fit_intercept"),
            "weights": (self.weights, "weights"),
            "h": (None if self.penalty in (None, "none") else self.penalty, "penalty"),
            "h-weight": (self._penalty_weight(), "penalty_weight"),
            "loss": (loss, "loss"),
            **self._scaling(),
        }

    def _scaling(self) -> dict[str, tuple[Any, str]]:
        """Columns are scaled inside, and the penalty is that of the columns as they came: the solution is the same, and
        found to all digits whatever their units. A penalty that ties coefficients together allows no scaling."""
        if self.privacy is not None or "standardise" in (_core.setting_name(name) for name in self.settings or {}):
            return {}
        if self.penalty in ("ball", "group-lasso", "simplex"):
            return {"standardise": ("no", "penalty")}
        centred = self.fit_intercept and self._takes_intercept  # the intercept takes up what is subtracted
        penalised = self.alpha != 0 or self.penalty not in (None, "none")
        return {"standardise": ("auto" if centred else "scale", "standardise"),
                "penalty-units": ("columns" if penalised else None, "penalty")}

    def _penalty_weight(self) -> Any:
        """None where there is nothing to weigh; the library refuses weights that have no effect."""
        if self.penalty_weight != 0:
            return self.penalty_weight
        if self.penalty in (None, "none") or not _has_weight(self.penalty):
            return None
        _core.warn(f"penalty is {self.penalty!r}, but has no effect: penalty_weight is 0")
        return 0.0

    def _method(self) -> dict[str, tuple[Any, str]]:
        return {
            "algorithm": (self.algorithm, "algorithm"),
            "solver": (self.solver, "solver"),
            "epochs": (self.epochs, "epochs"),
            "rho": (self.rho, "rho"),
            "gamma": (self.step, "step"),
            "batch": (self.batch, "batch"),
            "participation": (None if self.participation == "all" else self.participation,
                              "participation"),
            "active": (self.active, "active"),
        }

    def _run(self) -> dict[str, tuple[Any, str]]:
        seed: Any = self.random_state
        draw = getattr(seed, "randint", None) or getattr(seed, "integers", None)
        if draw is not None:  # a RandomState or Generator
            seed = int(draw(np.iinfo(np.int32).max))
        every = self.n_jobs is None or (isinstance(self.n_jobs, (int, np.integer)) and self.n_jobs < 0)
        if not _is_number(self.tol) or not self.tol >= 0:
            raise BadValue(f"tol is {self.tol!r}, but must be a number of at least 0")
        found: dict[str, tuple[Any, str]] = {
            "threads": (0 if every else self.n_jobs, "n_jobs"),
            "seed": (0 if seed is None else seed, "random_state"),
        }
        if self.privacy is None:
            found.update({"tolerance": (float(self.tol) ** 2, "tol"), "criterion-at": ("model", "tol"),
                          "rounds": (self.max_iter, "max_iter")})
            if found["tolerance"][0] > 0:  # of 0, a share is the same
                found["relative"] = (True, "tol")
        return found

    def _values(self, sites: Any) -> dict[str, tuple[Any, str]]:
        found = {**self._problem(), **self._method(), **self._run()}
        if number_of(sites) is not None:
            found["agents"] = (number_of(sites), "sites")
            found["partition"] = ("shuffled", "sites")
        for name, value in (self.settings or {}).items():
            found[_core.setting_name(name)] = (value, name)
        values = {name: (value, origin) for name, (value, origin) in found.items()
                  if value is not None and not (value == "auto" and name in self._method())}
        if self.privacy is not None:
            values.update(self.privacy.settings())
        if values.get("loss", ("", ""))[0] == "auto":
            del values["loss"]
        return values

    # data

    def _check(self, X: Any, reset: bool, names: Any = None) -> Any:
        """The rows as an array or CSR matrix of float64, without a copy where they are that already."""
        names = _names_of(X) if names is None else names
        if not reset:
            check_is_fitted(self)
            self._check_names(names)
        try:
            rows = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", input_name="X")
        except ValueError:
            _blame(X)
            raise
        if reset:
            self.n_features_in_ = rows.shape[1]
            if names is not None:
                self.feature_names_in_ = names
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif rows.shape[1] != self.n_features_in_:
            raise BadValue(f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                           f"{self.n_features_in_} features as input.")
        return rows

    def _check_names(self, names: Any) -> None:
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise BadValue("The feature names should match those that were passed during fit: "
                           f"{list(known)}, not {list(names)}")

    def _labels(self, y: Any, count: int) -> np.ndarray[Any, Any]:
        if y is None:
            raise BadValue("This estimator requires y to be passed, but the target y is None.")
        labels = _column(y)
        if len(labels) != count:
            raise BadValue("Found input variables with inconsistent numbers of samples: "
                           f"{[count, len(labels)]}")
        absent = missing(labels)
        if len(absent) and labels.dtype.kind == "O":
            raise BadData(f"row {absent[0]} has no label: y is {labels[absent[0]]!r} there")
        if labels.dtype.kind in "OUS":
            labels = labels.astype(np.float64)
        if labels.dtype.kind in "fc" and not np.all(np.isfinite(labels)):
            raise BadData("Input y contains NaN or infinity.")
        return labels

    def _neutral(self, X: Any, y: Any) -> tuple[Any, np.ndarray[Any, Any]]:
        """Rows and labels with privacy; neutralised_ says how many were changed, at the site only."""
        found = Neutral(X)
        names = _names_of(X)
        if y is None:
            raise BadValue("This estimator requires y to be passed, but the target y is None.")
        labels = _column(y)
        if len(labels) != found.X.shape[0]:
            raise BadValue("Found input variables with inconsistent numbers of samples: "
                           f"{[found.X.shape[0], len(labels)]}")
        if self._task in ("binary", "classes"):
            assert self.privacy is not None and self.privacy.classes is not None
            labels = found.classify(labels, self.privacy.classes)
        else:
            labels = found.measure(labels, self._lowest)
        self.neutralised_ = {"cells": found.cells, "rows": found.rows}
        return self._check(found.X, True, names), labels

    def _dataset(self, X: Any, y: Any, sites: Any, sample_weight: Any) -> Dataset:
        classes = self.privacy.classes if self.privacy is not None else None
        if self.privacy is not None and classes is None and self._task in ("binary", "classes"):
            raise BadValue("with privacy the classes are declared, never read from the rows: "
                           "Privacy(..., classes=[...])")
        if self.privacy is not None and self._task != "survival":
            rows, labels = self._neutral(X, y)
        else:
            rows = self._check(X, True)
            labels = self._labels(y, rows.shape[0])
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            if weight.shape != (rows.shape[0],):
                raise BadValue("sample_weight.shape == {}, expected {}!".format(weight.shape,
                                                                                (rows.shape[0],)))
            if not np.all(np.isfinite(weight)):
                raise BadData("sample_weight contains NaN or infinity")
            counts = weight > 0  # a row that does not count is left out
            if not np.any(counts):
                raise BadValue("sample_weight leaves no row: none is above 0")
            if not np.all(counts):
                if np.any(weight < 0):
                    raise BadValue("sample_weight has negative values")
                rows, labels, weight = rows[counts], labels[counts], weight[counts]
                if isinstance(sites, (list, tuple, np.ndarray)) or hasattr(sites, "shape"):
                    sites = np.asarray(sites)[counts]
            sample_weight = weight
        names = getattr(self, "feature_names_in_", None)
        return Dataset(rows, labels, None if number_of(sites) is not None else sites, task=self._task,
                       sample_weight=sample_weight, classes=classes,
                       features=None if names is None else list(names))

    # training

    def fit(self: Self, X: Any, y: Any, sites: Any = None, sample_weight: Any = None) -> Self:
        """Trains. sites: one label a row, a number of sites to deal the rows out to, or None."""
        if not _is_number(self.alpha) or not self.alpha >= 0:
            raise BadValue(f"alpha is {self.alpha!r}, but must be a number of at least 0")
        if self.privacy is not None and not isinstance(self.privacy, Privacy):
            raise BadValue(f"privacy is {self.privacy!r}, but must be fedplt.Privacy(...) or None")
        if self.settings is not None and not isinstance(self.settings, Mapping):
            raise BadValue(f"settings is {self.settings!r}, but must be a dict or None")
        dataset = self._dataset(X, y, sites, sample_weight)
        with Trainer(self._values(sites), dataset=dataset, callback=self.callback) as trainer:
            trainer.run()
            if trainer.result.outcome == lib.FPLT_RUN_DIVERGED:
                raise _core.Diverged(trainer.sentence)
            self._keep(trainer, dataset)
            trainer.warn()
        return self

    def _keep(self, trainer: Trainer, dataset: Dataset) -> None:
        self.model_ = trainer.model()
        if dataset.classes is not None:
            self.classes_ = dataset.classes
        self.sites_ = dataset.sites
        self.n_iter_ = int(trainer.result.counters.rounds)
        self.outcome_, self.message_ = trainer.outcome, trainer.sentence
        self.history_ = trainer.history()
        self.choices_ = trainer.choices()
        self.privacy_certificate_ = self.model_.certificate
        self.coef_, self.intercept_ = self._shape(*self.model_.linear())

    def _shape(self, coefficients: Any, intercepts: Any) -> tuple[Any, Any]:
        return coefficients[0], float(intercepts[0])

    def summary(self, level: float = 0.95, robust: bool = False) -> Any:
        """Coefficients with standard errors from the sites' sums, without a penalty also z (least squares: t), p and
        intervals: a DataFrame. Warns where a penalty shrinks them."""
        check_is_fitted(self)
        return self.model_.summary(level, robust)

    def _more_tags(self) -> dict[str, Any]:
        return {"requires_y": True}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _has_weight(penalty: str) -> bool:
    """Whether h is one that is weighed, by the library's own table."""
    row = next(row for row in _core.trainer_settings({}, True).rows() if row["name"] == "h-weight")
    return penalty in row["needs"].partition("=")[2].split("|")


def _names_of(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None or not len(columns) or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def _blame(X: Any) -> None:
    """Raises a sentence with the column of a frame that has no numbers; nothing where that is not the matter."""
    columns = getattr(X, "columns", ())
    for place, name in enumerate(columns):
        values = np.asarray(X.iloc[:, place])
        absent = missing(values)
        if len(absent):
            raise BadData(f"Input X contains NaN: column {name!r}, row {absent[0]} has no value") from None
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            raise BadData(f"X: column {name!r} has {values[0]!r}, which could not be converted to a number; "
                          "pandas.get_dummies makes columns of categories") from None


def _column(y: Any) -> np.ndarray[Any, Any]:
    if is_sparse(y):
        raise TypeError("y is a sparse matrix, but dense labels are needed")
    labels = np.asarray(y)
    if labels.dtype.kind == "c":
        raise BadData("Complex data not supported")
    if labels.ndim == 2 and labels.shape[1] == 1:
        _core.warn("A column-vector y was passed when a 1d array was expected. Please change the "
                   "shape of y to (n_samples,)", _conversion_warning())
        labels = labels.ravel()
    if labels.ndim != 1:
        raise BadValue(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    return labels


def _conversion_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    return DataConversionWarning  # type: ignore[no-any-return]


class FedPLTClassifier(ClassifierMixin, _Federated):  # type: ignore[misc]
    __doc__ = "Logistic regression over sites; softmax with three classes or more." + _PARAMETERS

    _task = "binary"

    def _labels(self, y: Any, count: int) -> np.ndarray[Any, Any]:
        if y is None:
            return super()._labels(y, count)
        labels = _column(y)
        if len(labels) != count:
            raise BadValue("Found input variables with inconsistent numbers of samples: "
                           f"{[count, len(labels)]}")
        if labels.dtype.kind == "f":
            if not np.all(np.isfinite(labels)):
                raise BadData("Input y contains NaN or infinity.")
            if np.any(labels != np.floor(labels)):
                raise BadData("Unknown label type: continuous labels are no classes")
        return labels

    def _shape(self, coefficients: Any, intercepts: Any) -> tuple[Any, Any]:
        return coefficients, intercepts

    def decision_function(self, X: Any) -> np.ndarray[Any, Any]:
        """Margins of the second of two classes, or one score a class."""
        rows = self._check(X, False)
        return self.model_.scores(rows)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The class of every row."""
        rows = self._check(X, False)
        found: np.ndarray[Any, Any] = self.classes_[self.model_.predict(rows).astype(np.intp)]
        return found

    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """Probabilities, one column a class."""
        rows = self._check(X, False)
        return self.model_.probabilities(rows)

    def predict_log_proba(self, X: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = np.log(self.predict_proba(X))
        return found


class FedPLTRegressor(RegressorMixin, _Federated):  # type: ignore[misc]
    __doc__ = ("Least squares over sites; with loss=\"huber\" robust to outliers, with loss=\"gamma\" of positive numbers whose "
               "mean has a linear logarithm.") + _PARAMETERS

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The expected value of every row."""
        rows = self._check(X, False)
        return self.model_.predict(rows)


class FedPLTPoisson(FedPLTRegressor):
    __doc__ = "Poisson regression with a logarithmic link over sites: counts." + _PARAMETERS

    _loss = "poisson"
    _lowest = 0.0

    def _labels(self, y: Any, count: int) -> np.ndarray[Any, Any]:
        labels = super()._labels(y, count)
        if np.any(labels < self._lowest):
            raise BadData("y has negative values, but counts are needed")
        return labels

    def _more_tags(self) -> dict[str, Any]:
        return {**super()._more_tags(), "requires_positive_y": True, "poor_score": True}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the deviance that is explained, as scikit-learn's PoissonRegressor has it."""
        y = np.asarray(y, dtype=np.float64)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)

        def deviance(mean: Any) -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                logarithm = np.where(y > 0, y * np.log(y / mean), 0)
            return float(np.average(2 * (logarithm - y + mean), weights=weight))

        return 1 - deviance(self.predict(X)) / deviance(np.average(y, weights=weight))


class FedPLTCox(_Federated):
    __doc__ = ("Cox's proportional hazards, sites as strata. y: times, negative where censored; or two columns "
               "(or fields) time and event." + _PARAMETERS)

    _task = "survival"
    _loss = "cox"
    _takes_intercept = False

    def _labels(self, y: Any, count: int) -> np.ndarray[Any, Any]:
        return super()._labels(y if y is None else survival_times(y), count)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Hazards relative to a row of zeros."""
        rows = self._check(X, False)
        return self.model_.predict(rows)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance: the share of comparable pairs whose order the hazards tell."""
        times, hazards = survival_times(y), self.predict(X)
        right = pairs = 0.0
        for i in np.flatnonzero(times > 0):
            later = np.abs(times) > times[i]
            pairs += np.count_nonzero(later)
            right += np.count_nonzero(hazards[later] < hazards[i])
            right += 0.5 * np.count_nonzero(hazards[later] == hazards[i])
        return right / pairs if pairs else float("nan")

    def _more_tags(self) -> dict[str, Any]:
        return {**super()._more_tags(), "poor_score": True}


def survival_times(y: Any) -> np.ndarray[Any, Any]:
    """Times that are negative where censored, from those, from two columns (time, event), or from a
    structured array or frame with a field of truth values and one of times."""
    labels = y if hasattr(y, "columns") else np.asarray(y)
    names = labels.columns if hasattr(labels, "columns") else labels.dtype.names
    if names is not None:
        return _two_fields([np.asarray(labels[name]) for name in names])
    if labels.ndim == 2 and labels.shape[1] == 2:
        return _times(labels[:, 0], labels[:, 1])
    found: np.ndarray[Any, Any] = labels
    return found


def _two_fields(fields: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Whichever has truth values is the event; where none has, the second one."""
    if len(fields) != 2:
        raise BadData(f"y has {len(fields)} fields, but must have two: times, and truth values for the event")
    truth = [field.dtype.kind == "b" for field in fields]
    if truth == [True, True]:
        raise BadData("y has two fields of truth values, but one must have times")
    return _times(fields[1], fields[0]) if truth[0] else _times(fields[0], fields[1])


def _times(times: Any, event: Any) -> np.ndarray[Any, Any]:
    times, event = np.asarray(times, dtype=np.float64), np.asarray(event, dtype=np.float64)
    odd = np.flatnonzero((event != 0) & (event != 1))
    if len(odd):
        raise BadData(f"row {odd[0]}: the event is {event[odd[0]]:g}, but must be 0 (censored) or 1")
    odd = np.flatnonzero(~(times > 0))
    if len(odd):
        raise BadData(f"row {odd[0]}: the time is {times[odd[0]]:g}, but must be above 0")
    return np.where(event == 1, times, -times)


__all__ = ["FedPLTClassifier", "FedPLTRegressor", "FedPLTPoisson", "FedPLTCox", "NotFittedError"]
