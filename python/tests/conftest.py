"""What the tests share: data of known origin, and the program beside the package."""
import os
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    found = os.environ.get("FEDPLT_PROGRAM")
    if not found:
        pytest.skip("FEDPLT_PROGRAM does not name the program")
    return found


def rows(count=240, features=4, seed=0):
    """Columns of unequal scale and correlated, so that no division of the rows is like another."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, features)) * [0.5, 1, 2, 1.5][:features] + 0.3
    X[:, 0] += 0.4 * X[:, 1]
    return X, random


@pytest.fixture
def binary():
    X, random = rows()
    y = (X @ [1, -1, 0.5, 0] + 0.4 + random.logistic(size=len(X)) > 0).astype(int)
    return X, y, random.integers(0, 4, len(X))


@pytest.fixture
def counts():
    X, random = rows(seed=1)
    return X, random.poisson(np.exp(0.3 * X @ [1, -0.5, 0.25, 0] + 0.2)), random.integers(0, 4, len(X))


@pytest.fixture
def numbers():
    X, random = rows(seed=2)
    return X, X @ [1, -1, 0.5, 2] + 3 + random.normal(size=len(X)), random.integers(0, 4, len(X))
