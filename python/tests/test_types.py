"""Strict types, without importing anything."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="mypy is not installed")
FOLDER = pathlib.Path(__file__).resolve().parents[1]

USER = """
from __future__ import annotations

import numpy as np
import numpy.typing as npt

import fedplt
from fedplt import FedPLTClassifier, Privacy

Vector = npt.NDArray[np.float64]


class Cost:
    curvature = (1.0, 1.0)

    def value_and_gradient(self, x: Vector) -> tuple[float, Vector]:
        return float(x @ x) / 2, x


def local(problem: fedplt.costs.Subproblem) -> Vector:
    return problem.start - problem.gradient(problem.start) / 2


def fit(X: Vector, y: Vector, sites: list[str], promise: Privacy | None) -> FedPLTClassifier:
    model = FedPLTClassifier(alpha=0.1, privacy=promise, settings={"standardise": "no"}).fit(X, y, sites=sites)
    return model


def look(model: FedPLTClassifier, X: Vector) -> float:
    if model.privacy_certificate_ is not None:
        found: fedplt.privacy.Verification = fedplt.privacy.verify(model)
        print(found.epsilon, bool(found))
    model.model_.save("model.json")
    again: fedplt.Model = fedplt.Model.load("model.json")
    return float(again.scores(X).mean())


def runs(X: Vector, y: Vector) -> Vector:
    run: fedplt.Run = fedplt.train(X, y, sites=3, algorithm="fed-plt", rho=1.0, epochs=5, relative=True)
    compared = fedplt.compare(["fed-plt", "scaffold"], runs=2, X=X, y=y, sites=3, eps=0.1)
    print(compared.table, compared.to_latex(), fedplt.theory(0.5, 5.0).guaranteed, fedplt.tune(by="theory").choice)
    found = fedplt.minimise([Cost(), Cost()], 3, solver=local, rounds=5)
    weights: Vector = run.x + found.x
    try:
        fedplt.Model.from_json("{}")
    except fedplt.BadData as refused:
        print(refused)
    return weights


plan = fedplt.Plan("fed-plt", agents=2, dimension=3, rho=1.0)
message: bytes = bytes(fedplt.Hub(plan))
leader: fedplt.Coordinator = fedplt.Coordinator(roster=["north"])
print(leader.status, fedplt.__version__, fedplt.algorithms(), fedplt.settings("fed-plt"), message)
"""


def mypy(cache, *arguments, **more):
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(cache), *arguments],
                          stdout=subprocess.PIPE, universal_newlines=True, **more)
    return done.returncode, done.stdout


def test_mypy_strict(tmp_path):
    status, words = mypy(tmp_path, "--config-file", "mypy.ini", "-p", "fedplt", cwd=FOLDER)
    assert status == 0, words


PLANTED = {
    "roh": ("rho=1.0, epochs", "roh=1.0, epochs"),
    "algorithm": ('algorithm="fed-plt", rho', 'algorithm="fedplt", rho'),
    "Incompatible types": ("run: fedplt.Run", "run: fedplt.Model"),
    "has no attribute": ("compared.to_latex()", "compared.latex()"),
    "BadDate": ("fedplt.BadData", "fedplt.BadDate"),
}


def test_a_users_script_is_typed(tmp_path):
    """Against the package as it is built, with its stub file: passes, and mistakes are found."""
    (tmp_path / "script.py").write_text(USER)
    for number, (right, wrong) in enumerate(PLANTED.values()):
        assert right in USER
        (tmp_path / f"planted{number}.py").write_text(USER.replace(right, wrong))
    _, words = mypy(tmp_path / "cache", "--config-file", str(FOLDER / "mypy.ini"), "--follow-imports", "silent",
                    *(path.name for path in tmp_path.glob("*.py")), cwd=tmp_path,
                    env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]})
    assert "script.py" not in words, words
    for number, says in enumerate(PLANTED):
        found = [line for line in words.splitlines() if line.startswith(f"planted{number}.py:")]
        assert any(says in line for line in found), (says, words)
    assert f"in {len(PLANTED)} files (checked {1 + len(PLANTED)} source files)" in words


def test_the_stub_has_every_setting():
    fedplt = pytest.importorskip("fedplt")
    stub = (pathlib.Path(fedplt.__file__).parent / "__init__.pyi").read_text()
    train = stub[stub.index("def train("):].split("\ndef ")[0]
    for algorithm in fedplt.algorithms():
        for name in fedplt.settings(algorithm)["name"]:
            if "." not in name:
                assert f" {name.replace('-', '_')}: " in train, name
