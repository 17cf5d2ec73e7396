"""Leaks, as valgrind sees them. Half a minute, so only where it is asked for: `make sanitize`, or
FEDPLT_VALGRIND=1 tests/whole/python build build/fedplt -k valgrind"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest


def lost(tmp_path, *arguments):
    """Blocks that the library allocated and nobody knows of any more."""
    log = tmp_path / "log"
    done = subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=12",
                           f"--log-file={log}", sys.executable, pathlib.Path(__file__).with_name("leaks.py"),
                           *arguments], env={**os.environ, "PYTHONMALLOC": "malloc"},
                          stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0 and done.stdout.strip() == "done"
    blocks = re.split(r"==\d+== \n", log.read_text())
    # by whom it was allocated stands in the lines below the first two
    return [block for block in blocks if "definitely lost in loss record" in block
            and "_fedplt.abi3.so" in "".join(block.splitlines()[1:5])]


@pytest.mark.skipif("FEDPLT_VALGRIND" not in os.environ, reason="FEDPLT_VALGRIND is not set: it takes long")
def test_nothing_is_lost_under_valgrind(tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    assert lost(tmp_path, "planted")
    found = lost(tmp_path)
    assert not found, found[0]
