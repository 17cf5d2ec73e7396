"""The examples as a person would run them."""
import re
import subprocess
import sys

import pytest

from conftest import ROOT


def run(name, *arguments, cwd):
    done = subprocess.run([sys.executable, ROOT / "examples" / "python" / name, *map(str, arguments)], cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_hospitals(tmp_path):
    pytest.importorskip("pandas")
    words = run("hospitals.py", cwd=tmp_path)
    smoker = re.search(r"smoker +([\d.]+)", words)
    assert 1.3 < float(smoker.group(1)) < 3.2  # e^0.7 is 2.0; four standard errors
    assert "holds: epsilon" in words and "does not" not in words


def test_comparison(tmp_path):
    pytest.importorskip("pandas")
    words = run("comparison.py", tmp_path, cwd=tmp_path)
    assert (tmp_path / "comparison.tex").read_text().strip() == words.split("no picture")[0].strip()
    assert words.count(r"\\") == 6 and "heavy ball" in words and r"\infty" not in words


def test_own_algorithm(tmp_path):
    pytest.importorskip("pandas")
    words = run("own_algorithm.py", cwd=tmp_path)
    rounds = {line.split()[0]: float(line.split()[1]) for line in words.splitlines()[1:5]}
    assert rounds["fedavg-m"] < 0.6 * rounds["fedavg"] and "by hub and nodes: [" in words


def test_mlp(tmp_path):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    pytest.importorskip("pandas")
    words = run("mlp.py", 10, cwd=tmp_path)
    ends = [float(block.split()[-1]) for block in words.split("fedavg")]
    assert min(ends) > 0.6, words
