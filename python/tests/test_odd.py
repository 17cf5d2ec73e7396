"""Odd data and parameters: what is wrong is said, and what is only unusual works."""
import copy
import multiprocessing
import pickle
import re
import threading

import numpy as np
import pytest

import fedplt
from conftest import ROOT

sparse = pytest.importorskip("scipy.sparse")
pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")
import joblib  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

Classifier = fedplt.FedPLTClassifier


def holed(array, value):
    found = np.array(array, dtype=object if value is None or value is pandas.NA else float)
    found[7] = value
    return found


def other_column(X):
    matrix = sparse.csr_matrix(X)
    matrix.indices[3] = 99
    return matrix


@pytest.mark.parametrize("says, change", {
    "NaN": lambda X, y, s: (holed(X, np.nan), y, s),
    "infinity": lambda X, y, s: (holed(X, np.inf), y, s),
    "could not convert": lambda X, y, s: (np.full(X.shape, "a", dtype=object), y, s),
    "2D array": lambda X, y, s: (X[:, 0], y, s),
    "inconsistent": lambda X, y, s: (X, y[:-1], s),
    "there is one class only": lambda X, y, s: (X, 0 * y, s),
    "row 7 has no label": lambda X, y, s: (X, holed(y, None), s),
    "labels of several types": lambda X, y, s: (X, np.array(["a"] + y[1:].tolist(), dtype=object), s),
    "row 7 has no site: sites is nan": lambda X, y, s: (X, y, holed(s, np.nan)),
    "row 7 has no site: sites is None": lambda X, y, s: (X, y, holed(s, None)),
    "row 7 has no label: y is <NA>": lambda X, y, s: (X, holed(y, pandas.NA), s),
    "row 7 has no site: sites is <NA>": lambda X, y, s: (X, y, holed(s, pandas.NA)),
    "sites is True": lambda X, y, s: (X, y, True),
    "sites is 0": lambda X, y, s: (X, y, 0),
    "sites is 2.5": lambda X, y, s: (X, y, 2.5),
    "sites is 'a'": lambda X, y, s: (X, y, "a"),
    "column 'site' has 'a', which could not": lambda X, y, s: (pandas.DataFrame(X).assign(site="a"), y, s),
    "column 'd' has 'u', which could not": lambda X, y, s: (
        pandas.DataFrame(X).assign(d=pandas.Categorical(["u", "v"] * (len(X) // 2))), y, s),
    "column 'd', row 1 has no value": lambda X, y, s: (
        pandas.DataFrame(X).assign(d=pandas.array([1, None] * (len(X) // 2), dtype="Int64")), y, s),
    "each agent needs one": lambda X, y, s: (X, y, 1000),
}.items(), ids=str)
def test_odd_data(binary, says, change):
    with pytest.raises(ValueError, match=says):
        Classifier().fit(*change(*binary))


@pytest.mark.parametrize("says, parameters", [
    ("alpha is None", {"alpha": None}), ("alpha is nan", {"alpha": np.nan}), ("alpha is 'a'", {"alpha": "a"}),
    ("tol is -1", {"tol": -1}), ("tol is 'x'", {"tol": "x"}), ("privacy is 1.0", {"privacy": 1.0}),
    ("settings is \\['a'\\]", {"settings": ["a"]}), ("h-weight has no effect", {"penalty_weight": 1}),
    ("n_jobs: threads is 'a'", {"n_jobs": "a"}), ("random_state", {"random_state": -1}),
    ("penalty: h is 'l7'", {"penalty": "l7"}), ("weights is 'x'", {"weights": "x"}),
    ("NUL", {"settings": {"kernel": "a\0"}}), ("in memory", {"settings": {"data": "x.csv"}}),
    ("no setting 'bla'", {"settings": {"bla": 1}}), ("max_iter", {"max_iter": -1})], ids=str)
def test_odd_parameters(binary, says, parameters):
    with pytest.raises(fedplt.BadValue, match=says):
        Classifier(**parameters).fit(*binary)


@pytest.mark.parametrize("says, weight", [("NaN", np.nan), ("no row", 0), ("no row", -1)])
def test_odd_weights(binary, says, weight):
    with pytest.raises(ValueError, match=says):
        Classifier().fit(*binary, sample_weight=np.full(len(binary[0]), weight, dtype=float))


def test_declared_classes(binary):
    """In any order, also those that do not occur; names of each other's type are no labels."""
    X, y, sites = binary
    found = Classifier(privacy=fedplt.Privacy(5, rows=3, classes=[1, 0])).fit(X, y, sites)
    assert found.classes_.tolist() == [1, 0] and set(found.predict(X)) <= {0, 1}
    three = Classifier(privacy=fedplt.Privacy(5, rows=3, classes=np.array(["b", "c", "a"]))).fit(
        X, np.where(y == 0, "b", "a"), sites)
    assert three.predict_proba(X).shape == (len(X), 3) and three.classes_.tolist() == ["b", "c", "a"]
    assert fedplt.Privacy(1, classes=np.array([0, 1])) == fedplt.Privacy(1, classes=[0, 1])
    hash(fedplt.Privacy(1, classes=[0, 1]))
    other = Classifier(privacy=fedplt.Privacy(5, rows=3, classes=[0, 2])).fit(X, y, sites)
    assert other.neutralised_["rows"] == np.sum(y == 1)  # no record is refused for its label
    for says, classes in (("one of them twice", [0, 1, 1]), ("give both the same type", ["0", "1"])):
        with pytest.raises(ValueError, match=says):
            Classifier(privacy=fedplt.Privacy(1, classes=classes)).fit(X, y, sites)


def test_survival_in_every_form(binary):
    """Which of two fields is the event follows from its type, and what cannot be is refused."""
    X, event, sites = binary
    times = np.random.default_rng(3).permutation(len(X)) + 1.0
    fit = fedplt.FedPLTCox(0.1).fit
    exact = fit(X, np.where(event == 1, times, -times), sites).coef_
    happened = event == 1
    for y in (pandas.DataFrame({"event": happened, "time": times}),
              pandas.DataFrame({"time": times, "event": happened}),
              pandas.DataFrame({"time": times, "event": event}), np.column_stack([times, event]),
              np.array(list(zip(times, happened)), dtype=[("time", float), ("event", bool)])):
        assert fit(X, y, sites).coef_.tobytes() == exact.tobytes()
    for says, y in (("the event is", np.column_stack([event, times])),
                    ("must be above 0", np.column_stack([-times, event])),
                    ("must be above 0", np.column_stack([times - 1, event])),
                    ("must be above 0", np.column_stack([times * np.nan, event])),
                    ("two fields of truth", pandas.DataFrame({"a": happened, "b": happened})),
                    ("3 fields", pandas.DataFrame({"a": times, "b": event, "c": event})),
                    ("1d array", np.column_stack([times, event, event]))):
        with pytest.raises(ValueError, match=says):
            fit(X, y, sites)


def test_every_penalty(binary):
    """Weighed or not; what a constraint asks for holds, and None is none."""
    X, y, sites = binary
    free = Classifier().fit(X, y, sites).coef_
    assert free.min() < -0.1 and np.abs(free).max() > 0.3
    assert Classifier(penalty=None).fit(X, y, sites).coef_.tobytes() == free.tobytes()
    assert Classifier(penalty="nonnegative").fit(X, y, sites).coef_.min() >= 0
    box = Classifier(penalty="box", settings={"h_low": -0.1, "h_high": 0.1}).fit(X, y, sites)
    assert np.abs(box.coef_).max() <= 0.1
    assert Classifier(0, penalty="l1", penalty_weight=10).fit(X, y, sites).coef_.tolist() == [[0] * 4]
    with pytest.warns(UserWarning, match="penalty_weight is 0"):
        Classifier(penalty="l1").fit(X, y, sites)


def test_what_frames_and_columns_may_be(binary):
    X, y, sites = binary
    exact = Classifier().fit(X, y, sites).coef_.tobytes()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    for other in (frame, frame.astype(object), frame.convert_dtypes(), frame.set_index(np.arange(7, 7 + len(X)))):
        assert Classifier().fit(other, y, sites).coef_.tobytes() == exact
    for labels in (pandas.Series(y), pandas.array(y, dtype="Int64"), pandas.array(y == 1, dtype="boolean"),
                   pandas.Series(np.where(y, "yes", "no")).astype("category"), pandas.array(np.where(y, "b", "a"))):
        assert Classifier().fit(frame, labels, sites).coef_.tobytes() == exact
    for where in (pandas.Series(sites, index=np.arange(7, 7 + len(X))), pandas.DataFrame({"site": sites}),
                  pandas.Series(sites).astype("category"), pandas.array(sites, dtype="Int64"), sites.tolist()):
        assert Classifier().fit(frame, y, where).coef_.tobytes() == exact
    with pytest.raises(fedplt.BadData, match="row 1 has no label"):
        fedplt.FedPLTRegressor().fit(X[:4], pandas.array([1, None, 2, 3], dtype="Int64"))


def test_what_verify_takes(binary, tmp_path):
    X, y, sites = binary
    run = fedplt.train(X, y, sites, privacy=fedplt.Privacy(3, rows=2))
    run.model.save(tmp_path / "model.json")
    for one in (run, run.model, run.certificate, run.model.certificate, tmp_path / "model.json"):
        assert fedplt.privacy.verify(one) and fedplt.privacy.verify(one, run.model)
    for says, one in (("no certificate", None), ("no privacy certificate", Classifier().fit(X, y)),
                      ("must be a dict", Classifier())):
        with pytest.raises(ValueError, match=says):
            fedplt.privacy.verify(one)


def test_results_survive_pickle(binary):
    X, y, sites = binary
    for one in (fedplt.train(X, y, sites), fedplt.compare("fed-plt", runs=1, X=X, y=y, sites=sites),
                fedplt.theory(0.5, 5, epochs=3),
                fedplt.tune(lmin=0.5, lmax=5), fedplt.privacy.Privacy(1, classes=[0, 1])):
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one) == repr(copy.deepcopy(one))
    again = pickle.loads(pickle.dumps(fedplt.theory(0.5, 5, epochs=3)))
    assert again.bound(5).tobytes() == fedplt.theory(0.5, 5, epochs=3).bound(5).tobytes()


def test_warnings_point_at_the_persons_line(binary):
    X, y, sites = binary
    few = {"algorithm": "fed-plt", "rounds": 2}
    fitted = Classifier(algorithm="fed-plt", max_iter=2)
    for act in (lambda: fitted.fit(X, y, sites), lambda: Classifier().fit(X, y[:, None]), fitted.summary,
                lambda: fitted.model_.summary(), lambda: fedplt.train(X, y, sites, **few),
                lambda: fedplt.simulate(**few)):
        with pytest.warns(UserWarning) as told:
            act()
        assert {one.filename for one in told} == {__file__}


def test_odd_files(tmp_path):
    with pytest.raises(fedplt.IOFailure):
        fedplt.Model.load(tmp_path / "\udcff.json")
    with pytest.raises(fedplt.BadData, match="not JSON"):
        fedplt.Model.from_json("\0")
    with pytest.raises(fedplt.BadData, match="column 99"):
        fedplt.train(other_column(np.ones((4, 3))), np.arange(4.0))


def test_layouts_have_one_answer(binary):
    X, y, sites = binary
    exact = Classifier().fit(X, y, sites).coef_
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    backwards = sparse.csr_matrix((X[:, ::-1].ravel(), np.tile([3, 2, 1, 0], len(X)), 4 * np.arange(len(X) + 1)))
    locked = X.copy()
    locked.setflags(write=False)
    for other in (X.astype(object), np.repeat(X, 2, axis=1)[:, ::2], wide, backwards, locked):
        assert np.abs(Classifier().fit(other, y, sites).coef_ - exact).max() < 1e-12
    assert np.abs(Classifier().fit(X.astype(np.float32), y, sites).coef_ - exact).max() < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_arrays_are_not_changed(binary):
    X, y, sites = binary
    order = np.argsort(sites)
    before = X = X[order]
    X = X.copy()
    for estimator in (Classifier(settings={"standardise": "yes"}),
                      Classifier(privacy=fedplt.Privacy(2, rows=0.5, classes=[0, 1]))):
        estimator.fit(X, y[order], sites[order]).predict(X)
        assert X.tobytes() == before.tobytes()


def test_a_number_deals_rows_out(binary):
    X, y, _ = binary
    dataset = fedplt.Dataset(X, y, 3, task="binary", seed=5)
    dealt = fedplt.train(dataset, algorithm="fed-plt", rounds=10, tolerance=0, loss="logistic", seed=5)
    named = fedplt.train(X, y, 3, algorithm="fed-plt", rounds=10, tolerance=0, loss="logistic", seed=5)
    assert dealt.x.tobytes() == named.x.tobytes()


def test_searches_and_pipelines(binary):
    X, y, sites = binary
    fitted = Classifier().fit(X, y, sites)
    assert clone(fitted).get_params() == fitted.get_params() and not hasattr(clone(fitted), "coef_")
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert again.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
        assert again.summary().equals(fitted.summary())
    with joblib.parallel_backend("multiprocessing"):
        search = GridSearchCV(Classifier(), {"alpha": [0.01, 100]}, n_jobs=2).fit(X, y, sites=sites)
    assert search.best_params_ == {"alpha": 0.01}
    line = make_pipeline(StandardScaler(), Classifier(0)).fit(X, y, fedpltclassifier__sites=sites)
    assert np.allclose(line.predict_proba(X), Classifier(0).fit(X, y).predict_proba(X), atol=1e-6)


def forked(queue, data, n_jobs):
    queue.put(Classifier(n_jobs=n_jobs).fit(*data).coef_.tobytes())


def test_threads_and_forks(binary):
    exact = Classifier(n_jobs=-1).fit(*binary).coef_.tobytes()
    found = []
    workers = [threading.Thread(target=lambda: found.append(Classifier(n_jobs=2).fit(*binary).coef_.tobytes()))
               for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [exact] * 6
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=forked, args=(queue, binary, 2))
    process.start()
    assert queue.get(timeout=60) == exact
    process.join()


def test_every_callback_has_an_onerror():
    """Ctrl-C can strike before a callback's first line."""
    for source in (ROOT / "python" / "fedplt").glob("*.py"):
        for made in re.findall(r"ffi\.def_extern\(([^)]*)\)", source.read_text()):
            assert "onerror=" in made, source.name
