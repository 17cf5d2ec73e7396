"""Cases of the program's tests, each in an empty folder of its own, told as TAP."""
import os
import pathlib
import tempfile
import time
import traceback
import zlib

CASES = []
SEED = os.environ.get("FEDPLT_TESTS") or str(int(time.time()))


class Skip(Exception):
    pass


def is_drawn(share, *key):
    """Whether a case of a long search is among one in `share` of them, by SEED, which the caller prints; FEDPLT_TESTS=all,
    as in `make check-all`, takes every case."""
    return SEED == "all" or zlib.crc32(" ".join((SEED, *key)).encode()) % share == 0


def case(function):
    CASES.append(function)
    return function


def run_cases(name):
    """Whether any failed; `name` is in those of the folders."""
    failed = 0
    print(f"1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        title = function.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix=f"fedplt-{name}-") as folder:
            try:
                function(pathlib.Path(folder))
                print(f"ok {number} - {title}", flush=True)
            except Skip as reason:
                print(f"ok {number} - {title} # SKIP {reason}", flush=True)
            except Exception as problem:  # a failed case must not hide the others
                failed += 1
                line = traceback.extract_tb(problem.__traceback__)[1].lineno
                print(f"not ok {number} - {title}\n# line {line}: {type(problem).__name__}: "
                      f"{problem}", flush=True)
    return failed > 0
