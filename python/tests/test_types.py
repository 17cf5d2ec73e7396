"""Strict types, without importing anything."""
import pathlib
import subprocess
import sys

import pytest


def test_mypy_strict(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    folder = pathlib.Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(tmp_path),
                           "-p", "fedplt"], cwd=folder, stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, done.stdout
