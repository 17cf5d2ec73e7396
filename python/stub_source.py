#!/usr/bin/python3
"""Writes the package's stub file from the library's own tables of settings.

usage: stub_source.py OUTPUT, with the built package on PYTHONPATH

Editors and type checkers then know every setting that `train` and its kin take as a keyword, with the words that
are legal, and a misspelt one is found before anything runs."""
import inspect
import keyword
import sys

del sys.path[0]  # of this file, where the package lies unbuilt
import fedplt  # noqa: E402
from fedplt import _core, costs, experiment  # noqa: E402

TYPES = {"number": "float | str", "integer": "int | str", "switch": "bool | str", "text": "Any"}
HEAD = '''"""Generated from the tables of settings: what `fedplt` has, and every setting as a keyword."""
from typing import Any, Callable, Literal, Mapping, Sequence

'''


def tables(make):
    """Settings by name, those of every algorithm too."""
    found = {}
    for algorithm in [None, *experiment.algorithms()]:
        for row in make(algorithm).rows():
            found.setdefault(row["name"].replace("-", "_"), row)
    return {name: row for name, row in found.items() if name.isidentifier() and not keyword.iskeyword(name)}


def of_trainer(algorithm):
    return _core.trainer_settings(_core.given({"algorithm": algorithm}), False)


def of_job(algorithm):
    return experiment._job_settings({}, algorithm or "fed-plt")


def of_comparison(_):
    return experiment._compare_settings({}, False)


def kind(row):
    if row["choices"]:
        words = "Literal[%s]" % ", ".join(f'"{word}"' for word in row["choices"])
        return "bool | " + words if "yes" in row["choices"] else words
    return TYPES[row["kind"]]


def function(made, rows):
    """Its own arguments as they are written, then the settings."""
    signature = inspect.signature(made)
    own = [one for one in signature.parameters.values() if one.kind != inspect.Parameter.VAR_KEYWORD]
    words, starred = [], False
    for one in own:
        if one.kind == inspect.Parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        words.append(f"{one.name}: {one.annotation}" + ("" if one.default is inspect.Parameter.empty else " = ..."))
    if not starred:
        words.append("*")
    names = {one.name for one in own}
    words += [f"{name}: {kind(row)} | None = ..." for name, row in rows.items() if name not in names]
    listed = ",\n        ".join(words)
    return f"def {made.__name__}(\n        {listed}) -> {signature.return_annotation}: ...\n"


def imports(written):
    """All that the package has, but for the functions written here."""
    places = {"costs": ["Result"], "experiment": ["Comparison", "Paper", "Run", "Theory", "Tuning"],
              "_data": ["Dataset"], "_model": ["Model"], "privacy": ["Privacy"], "_core": ["settings"]}
    for name, module in fedplt._LATER.items():
        if name not in written:
            places.setdefault(module, []).append(name)
    places["_core"] += [name for name, found in vars(fedplt).items()
                        if isinstance(found, type) and issubclass(found, fedplt.Error)]
    lines = [f"from fedplt import {module} as {module}" for module in sorted({"privacy", *fedplt._MODULES})]
    lines += [f"from fedplt.{module} import {name} as {name}"
              for module in sorted(places) for name in sorted(places[module])]
    return "\n".join(lines) + "\n\n__version__: str\n\n"


def main(output):
    of_train = tables(of_trainer)
    functions = {experiment.train: of_train, experiment.simulate: of_train, costs.minimise: of_train,
                 experiment.compare: tables(of_comparison), experiment.tune: tables(of_job)}
    text = HEAD + imports({made.__name__ for made in functions})
    text += "".join(function(made, rows) for made, rows in functions.items())
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


main(*sys.argv[1:])
