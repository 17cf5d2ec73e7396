"""docs/python.md as a new user would type it: every block runs, in order, in one place."""
import re

import numpy as np
import pytest

import fedplt
from conftest import ROOT

TEXT = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"(?m)(?:^    .*\n|(?<=\n)\n(?=    ))+", TEXT)


def quick(block):
    """The same with fewer runs and rounds."""
    return block.replace("runs=20, tune=True", "runs=1").replace("rounds=100", "rounds=3")


@pytest.mark.filterwarnings("ignore")
def test_every_block_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("agg")
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    names = {"X": X, "y": (X[:, 0] + random.logistic(size=80) > 0).astype(int), "np": np, "torch": torch,
             "hospital": random.choice(["basel", "chur"], 80), "fedplt": fedplt}
    assert len(BLOCKS) >= 8
    for block in BLOCKS:
        source = "\n".join(line[4:] for line in quick(block).splitlines())
        exec(compile(source, "docs/python.md", "exec"), names)
    assert fedplt.privacy.verify(names["private"]) and fedplt.privacy.verify(names["model"])


def test_the_table_of_parameters_is_the_signature():
    """Names and defaults in the table are those of the estimators."""
    defaults = fedplt.FedPLTClassifier().get_params()
    told = {}
    for row in re.findall(r"(?m)^\| (`.*) \| .* \| (.*) \|$", TEXT):
        names, values = re.findall(r"`(\w+)`", row[0]), row[1].split(", ")
        told.update(zip(names, values if len(values) == len(names) else values * len(names)))
    assert {name: eval(value) for name, value in told.items()} == defaults


def test_public_names_have_docstrings():
    for name in dir(fedplt):
        found = getattr(fedplt, name)
        if not name.startswith("_") and callable(found) and getattr(found, "__module__", "").startswith("fedplt"):
            assert found.__doc__, name
