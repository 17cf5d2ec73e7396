"""DataFrames where pandas is there."""
from __future__ import annotations

import json
import math
from typing import Any, Sequence

from fedplt._core import call, take_text
from fedplt._fedplt import ffi, lib


def frame(rows: Any, columns: Sequence[str] | None = None) -> Any:
    """A DataFrame, or the rows as they are where pandas is absent."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows, columns=columns)


def pandas_or_refuse(what: str) -> Any:
    try:
        import pandas
    except ImportError as absent:
        raise ImportError(f"{what} needs pandas (python3-pandas)") from absent
    return pandas


def table_rows(table: Any) -> list[dict[str, Any]]:
    """The rows of one of the library's tables, which is released."""
    words = ffi.new("char **")
    try:
        call(lib.fplt_table_render, table, lib.FPLT_TABLE_JSON, words)
    finally:
        lib.fplt_table_destroy(table)
    rows: list[dict[str, Any]] = json.loads(take_text(words[0]))
    return rows


def latex(data: Any, **options: Any) -> str:
    """A LaTeX table by pandas, with short numbers, missing values as dashes, and escaped texts."""
    def show(value: float) -> str:
        if math.isnan(value) or math.isinf(value):
            return "--" if math.isnan(value) else r"$\infty$"
        return f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.4g}"

    # numbers are made into text first, so that what is escaped is the texts alone
    shown = data.copy()
    for column in shown.columns:
        if shown[column].dtype.kind == "f":
            shown[column] = [show(value) for value in shown[column]]
        else:
            shown[column] = [escape(str(value)) if value is not None else "--"
                             for value in shown[column]]
    shown.columns = [escape(str(column)) for column in shown.columns]
    return str(shown.style.hide(axis="index").to_latex(hrules=True, **options))


def escape(words: str) -> str:
    special = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
               "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(letter, letter) for letter in words)


def axes(given: Any) -> Any:
    """Those given, or new ones."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot
    except ImportError as absent:
        raise ImportError("plot needs matplotlib (python3-matplotlib)") from absent
    return pyplot.subplots()[1]
