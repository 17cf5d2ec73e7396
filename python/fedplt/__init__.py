"""Private federated learning with local training: the fedplt library from NumPy and pandas.

    model = fedplt.FedPLTClassifier().fit(X, y, sites=hospital)
    model.summary()
"""
from __future__ import annotations

import importlib
from typing import Any

from fedplt import privacy
from fedplt._core import (BadData, BadValue, Diverged, Error, Failed, IOFailure, NoMemory, Unreachable,
                          Unsupported, settings, version)
from fedplt._data import Dataset
from fedplt._model import Model
from fedplt.privacy import Privacy

__version__ = version()

# What brings scikit-learn along, or is seldom wanted, is imported when it is asked for.
_LATER = {
    "FedPLTClassifier": "estimators", "FedPLTRegressor": "estimators", "FedPLTPoisson": "estimators",
    "FedPLTCox": "estimators",
    "Algorithm": "algorithm",
    "Costs": "costs", "Solver": "costs", "minimise": "costs",
    "train": "experiment", "simulate": "experiment", "compare": "experiment", "tune": "experiment",
    "theory": "experiment", "paper": "experiment", "algorithms": "experiment",
    "Plan": "steps", "Hub": "steps", "Node": "steps",
    "Coordinator": "federation", "Agent": "federation",
}
_MODULES = ("algorithm", "costs", "estimators", "experiment", "federation", "steps", "torch")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module("fedplt." + _LATER[name]), name)
    if name in _MODULES:
        return importlib.import_module("fedplt." + name)
    raise AttributeError(f"module 'fedplt' has no attribute {name!r}")


def __dir__() -> list[str]:
    dropped = {"annotations", "importlib", "Any"}
    return sorted({*globals(), *_LATER, *_MODULES} - dropped)
