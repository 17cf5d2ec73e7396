"""Rows in memory: arrays, sparse matrices and frames, borrowed by the library where their layout fits."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from fedplt._core import BadData, BadValue, call, strings
from fedplt._fedplt import ffi, lib

TASKS = {"binary": lib.FPLT_TASK_BINARY, "classes": lib.FPLT_TASK_CLASSES,
         "regression": lib.FPLT_TASK_REGRESSION, "survival": lib.FPLT_TASK_SURVIVAL}


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


def feature_names(X: Any) -> list[str] | None:
    """The columns of a frame, where all are texts."""
    columns = getattr(X, "columns", None)
    if columns is None or not len(columns) or not all(isinstance(name, str) for name in columns):
        return None
    return [str(name) for name in columns]


class Rows:
    """A matrix as the library wants it: row-major float64, or CSR with sorted 32-bit columns. What is so
    already is not copied."""

    def __init__(self, X: Any) -> None:
        if is_sparse(X):
            matrix = X.tocsr()
            if not matrix.has_canonical_format:
                matrix = matrix.copy()
                matrix.sum_duplicates()
            if matrix.shape[1] > 0x7fffffff:
                raise BadValue(f"the matrix has {matrix.shape[1]} columns, at most {0x7fffffff} are legal")
            self.shape: tuple[int, int] = matrix.shape
            self.dense = None
            self.value = np.ascontiguousarray(matrix.data, dtype=np.float64)
            self.column = np.ascontiguousarray(matrix.indices, dtype=np.int32)
            self.start = np.ascontiguousarray(matrix.indptr, dtype=np.uintp)
        else:
            self.dense = np.ascontiguousarray(X, dtype=np.float64)
            if self.dense.ndim != 2:
                raise BadValue(f"X has {self.dense.ndim} dimension(s), but rows and columns make 2")
            self.shape = (self.dense.shape[0], self.dense.shape[1])

    def take(self, order: np.ndarray[Any, Any]) -> Rows:
        """The rows in another order."""
        if self.dense is not None:
            return Rows(self.dense[order])
        from scipy.sparse import csr_matrix

        matrix = csr_matrix((self.value, self.column, self.start.astype(np.int64)), shape=self.shape)
        return Rows(matrix[order])

    def fill(self, rows: Any) -> None:
        rows.count, rows.features = self.shape
        if self.dense is not None:
            rows.dense = buffer("double[]", self.dense)
        else:
            rows.start = buffer("size_t[]", self.start)
            rows.column = buffer("uint32_t[]", self.column)
            rows.value = buffer("double[]", self.value)


def buffer(kind: str, array: np.ndarray[Any, Any]) -> Any:
    """The memory of an array; an empty array has an address, too."""
    return ffi.from_buffer(kind, array if array.size else np.zeros(1, array.dtype))


def column(values: Any, count: int, what: str) -> np.ndarray[Any, Any] | None:
    if values is None:
        return None
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (count,):
        raise BadValue(f"{what} has shape {array.shape}, but there are {count} rows")
    return array


def missing(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Places of None, NaN, NaT and pandas' NA."""
    if labels.dtype.kind == "f":
        return np.flatnonzero(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.flatnonzero(np.isnat(labels))
    if labels.dtype.kind != "O":
        return np.array([], dtype=np.intp)
    return np.flatnonzero([_is_missing(label) for label in labels])


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA is neither equal nor unequal to anything
        return True


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def numbers_of(values: Any) -> np.ndarray[Any, Any]:
    """float64, NaN where something is no number."""
    array = np.asarray(values)
    if array.dtype.kind in "OUS":
        found = [_number(value) for value in array.ravel().tolist()]
        return np.array(found, dtype=np.float64).reshape(array.shape)
    return np.asarray(array, dtype=np.float64)


class Neutral:
    """Rows and labels with privacy, where no record is refused for what is in it: a number that is missing or infinite becomes
    0, and a row whose label is none of those declared becomes the neutral row: zeros with the first class, or with label 0."""

    def __init__(self, X: Any) -> None:
        self.cells = self.rows = 0
        if is_sparse(X):
            self.X = X.tocsr()
            wrong = ~np.isfinite(self.X.data)
            if np.any(wrong):
                self.X = self.X.copy()
                self.X.data[wrong] = 0
        else:
            self.X = numbers_of(X)
            wrong = ~np.isfinite(self.X)
            if np.any(wrong):
                self.X = np.where(wrong, 0.0, self.X)
        self.cells = int(np.count_nonzero(wrong))

    def _clear(self, wrong: np.ndarray[Any, Any]) -> None:
        self.rows = int(np.count_nonzero(wrong))
        if not self.rows:
            return
        self.X = self.X.copy()
        for row in np.flatnonzero(wrong):
            if is_sparse(self.X):
                self.X.data[self.X.indptr[row]:self.X.indptr[row + 1]] = 0
            else:
                self.X[row] = 0

    def classify(self, labels: np.ndarray[Any, Any], classes: Sequence[Any]) -> np.ndarray[Any, Any]:
        words = np.asarray(classes)
        numeric, textual = "biuf", "US"  # the type of an array is no record's, and may be refused
        if (labels.dtype.kind in numeric and words.dtype.kind in textual or
                labels.dtype.kind in textual and words.dtype.kind in numeric):
            raise BadValue(f"the labels are of type {labels.dtype}, but the classes that Privacy declares, "
                           f"{words.tolist()}, are of type {words.dtype}: give both the same type")
        known = set(words.tolist())
        wrong = np.array([_is_missing(label) or label not in known for label in labels.tolist()], dtype=bool)
        self._clear(wrong)
        found = np.full(len(labels), words[0], dtype=words.dtype)
        kept = [label for label, bad in zip(labels.tolist(), wrong) if not bad]
        found[~wrong] = np.array(kept, dtype=words.dtype)
        return found

    def measure(self, labels: np.ndarray[Any, Any], lowest: float) -> np.ndarray[Any, Any]:
        found = numbers_of(labels)
        wrong = ~(np.isfinite(found) & (found >= lowest))
        self._clear(wrong)
        return np.where(wrong, 0.0, found)


def grouped(sites: Any, count: int) -> tuple[np.ndarray[Any, Any] | None, list[int], list[str]]:
    """How rows must be ordered to lie together by site (None: they do), rows of each site, their names;
    sites in order of first appearance."""
    labels = np.asarray(sites)
    if labels.ndim == 0:
        raise BadValue(f"sites is {sites!r}, but must be one label a row, or a number of sites")
    if labels.shape == (count, 1):  # a frame's column as a frame
        labels = labels[:, 0]
    if labels.shape != (count,):
        raise BadValue(f"sites has shape {labels.shape}, but there are {count} rows")
    absent = missing(labels)
    if len(absent):
        raise BadData(f"row {absent[0]} has no site: sites is {labels[absent[0]]!r} there")
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    names, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(names), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(names))
    place = rank[codes]
    texts = [str(name) for name in names[np.argsort(first)]]
    sizes = [int(size) for size in np.bincount(place, minlength=len(names))]
    order = None if np.all(place[:-1] <= place[1:]) else np.argsort(place, kind="stable")
    return order, sizes, texts


def number_of(sites: Any) -> int | None:
    """How many sites rows are dealt out to; None: sites are labels, or there is one."""
    if isinstance(sites, (bool, np.bool_)):
        raise BadValue(f"sites is {sites}, but must be one label a row, or a number")
    if not isinstance(sites, (int, np.integer)):
        return None
    if not 1 <= sites <= 0xffffffff:
        raise BadValue(f"sites is {sites}, but must be a whole number from 1 to 4294967295")
    return int(sites)


class Dataset:
    """Rows with a label each, grouped by the site they belong to.

    X: array, sparse matrix or DataFrame; row-major float64 and CSR with 32-bit columns are borrowed,
    anything else is copied once. y: class labels, numbers, or with survival times that are negative where
    censored. sites: one label a row; a number deals the rows out at random by `seed`; None is one site. The arrays
    must stay as they are while it is used."""

    def __init__(self, X: Any, y: Any, sites: Any = None, *, task: str | None = None,
                 sample_weight: Any = None, offset: Any = None, classes: Sequence[Any] | None = None,
                 features: Sequence[str] | None = None, seed: int = 0) -> None:
        self.features = list(features) if features is not None else feature_names(X)
        self.rows = Rows(X)
        count = self.rows.shape[0]
        labels = np.asarray(y)
        if labels.shape != (count,):
            raise BadValue(f"y has shape {labels.shape}, but there are {count} rows")
        self.task = task or ("binary" if labels.dtype.kind in "OUSb" else "regression")
        self.classes: np.ndarray[Any, Any] | None = None
        if self.task in ("binary", "classes"):
            labels = self._classify(labels, classes)
        self.label = np.ascontiguousarray(labels, dtype=np.float64)
        self.weight = column(sample_weight, count, "sample_weight")
        self.offset = column(offset, count, "offset")
        self.sizes, self.sites = [count], None
        self.dealt, self.seed = number_of(sites), seed
        if sites is not None and self.dealt is None:
            order, self.sizes, self.sites = grouped(sites, count)
            if order is not None:
                self._order(order)
        self.sizes_array = np.array(self.sizes, dtype=np.uintp)

    def _classify(self, labels: np.ndarray[Any, Any], classes: Sequence[Any] | None) -> Any:
        absent = missing(labels)
        if len(absent):
            raise BadData(f"row {absent[0]} has no label: y is {labels[absent[0]]!r} there")
        try:
            found = np.unique(labels)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in labels.tolist()})
            raise BadData(f"y has labels of several types, which have no order: {', '.join(kinds)}") from None
        self.classes = found if classes is None else np.asarray(classes)
        place = np.arange(len(found)) if classes is None else self._declared(found)
        if not len(self.classes):
            raise BadData("there are no rows")
        if len(self.classes) < 2:
            raise BadData(f"there is one class only: {self.classes[0]!r}")
        self.task = "binary" if len(self.classes) == 2 else "classes"
        numbers = 2.0 * place - 1 if self.task == "binary" else place.astype(np.float64)
        return numbers[np.searchsorted(found, labels)]

    def _declared(self, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Where the labels that occur are among the declared classes."""
        assert self.classes is not None
        words = self.classes.tolist()
        place = {value: i for i, value in enumerate(words)}
        if len(place) < len(words):
            raise BadValue(f"the classes {', '.join(map(str, words))} are declared, and one of them twice")
        for label in found.tolist():
            if label not in place:
                raise BadData(f"the label {label!r} is none of the classes {', '.join(map(str, words))}")
        return np.array([place[label] for label in found.tolist()], dtype=np.intp)

    def _order(self, order: np.ndarray[Any, Any]) -> None:
        self.rows = self.rows.take(order)
        self.label = self.label[order]
        self.weight = None if self.weight is None else self.weight[order]
        self.offset = None if self.offset is None else self.offset[order]

    def lend(self) -> Any:
        """A new fplt_dataset over the arrays: who gets it destroys it."""
        rows = ffi.new("fplt_rows *")
        self.rows.fill(rows)
        rows.label = buffer("double[]", self.label)
        if self.weight is not None:
            rows.weight = buffer("double[]", self.weight)
        if self.offset is not None:
            rows.offset = buffer("double[]", self.offset)
        made = ffi.new("fplt_dataset **")
        call(lib.fplt_dataset_borrow, rows, TASKS[self.task],
             ffi.from_buffer("size_t[]", self.sizes_array), len(self.sizes), ffi.NULL, ffi.NULL, made)
        kept: list[Any] = []
        try:
            arrays = []
            for words in (self.features, self.sites,
                          None if self.classes is None else [str(c) for c in self.classes]):
                array, keep = strings(words)
                arrays.append(array)
                kept.append(keep)
            call(lib.fplt_dataset_name, made[0], *arrays)
            return made[0] if self.dealt is None else self._deal(made[0])
        except BaseException:
            lib.fplt_dataset_destroy(made[0])
            raise

    def _deal(self, whole: Any) -> Any:
        """The rows among so many sites, copied; `whole` is destroyed."""
        wanted = ffi.new("fplt_partition_settings *", lib.fplt_partition_defaults())
        name = ffi.new("char[]", b"shuffled")
        wanted.name, wanted.agents, wanted.seed = name, self.dealt, self.seed
        made = ffi.new("fplt_dataset **")
        call(lib.fplt_dataset_partition, whole, wanted, made)
        lib.fplt_dataset_destroy(whole)
        return made[0]
