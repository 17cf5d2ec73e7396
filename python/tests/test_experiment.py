"""Experiments beside the command line's."""
import json
import os
import signal
import sqlite3
import subprocess
import threading
import time

import numpy as np
import pytest

import fedplt

pytest.importorskip("pandas")
SMALL = {"agents": 6, "features": 3, "rows": 20, "seed": 3}
FLAGS = [word for name, value in SMALL.items() for word in ("--" + name, str(value))]


def test_comparison_is_the_command_lines(program, tmp_path):
    names = ["fed-plt", "tamuna", "fedavg"]
    theirs = json.loads(subprocess.run([program, "compare", "--json", "--algorithms", ",".join(names), "--runs", "3",
                                        *FLAGS], cwd=tmp_path, check=True, stdout=subprocess.PIPE).stdout)
    found = fedplt.compare(names, runs=3, threads=2, **SMALL)
    assert found.target == theirs["criterion"]
    for (_, row), one in zip(found.table.iterrows(), theirs["methods"]):
        assert row["algorithm"] == one["algorithm"] and row["failures"] == one["failures"]
        for name in ("rounds", "gradients", "vectors", "time", "paper_time"):
            ours = [row[name + "_low"], row[name], row[name + "_high"]]
            assert [None if np.isinf(value) else value for value in ours] == one[name]
    ends = found.curves.groupby("algorithm")["criterion"].last()
    assert ends["fed-plt"] <= 1e-5 < ends["fedavg"]


def test_tables_of_a_database_give_the_bits_of_csv(tmp_path):
    random = np.random.default_rng(4)
    rows = [(i, "ab"[i % 2], *random.normal(size=2), int(random.integers(0, 2))) for i in range(60)]
    (tmp_path / "d.csv").write_text("id,site,x,z,label\n" + "".join(
        f"{i},{site},{float(x)!r},{float(z)!r},{label}\n" for i, site, x, z, label in rows))
    with sqlite3.connect(tmp_path / "d.db") as base:
        base.execute("create table t(id integer, site text, x real, z real, label integer)")
        base.executemany("insert into t values(?,?,?,?,?)", rows[::-1])
    base.close()
    wanted = fedplt.train(data=tmp_path / "d.csv", id="id", rounds=20)
    for address in ("table=t&order-by=id", "query=select id, site, x, z, label from t&order-by=id"):
        found = fedplt.train(data=[f"sqlite:{tmp_path}/d.db?{address}"], id="id", rounds=20)
        np.testing.assert_array_equal(wanted.x, found.x)
    with pytest.raises(fedplt.BadValue, match="the order of the rows is not settled"):
        fedplt.train(data=f"sqlite:{tmp_path}/d.db?table=t", id="id")


def test_comparison_of_rows_and_costs():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] + random.logistic(size=60) > 0, 1, 0)
    sites = np.repeat(["a", "b", "c"], 20)
    seen = []
    found = fedplt.compare(["fed-plt", "scaffold"], runs=1, X=X, y=y, sites=sites, eps=0.1,
                           callback=lambda step: seen.append(step))
    assert seen[-1] == (2, 2)
    run = fedplt.train(X, y, sites, algorithm="fed-plt", eps=0.1, eval_every=1)
    assert found.table["rounds"][0] == run.rounds
    found = fedplt.compare(["fed-plt"], runs=1, X=X, y=y, sites=sites, eps=0.1, paper=True)
    run = fedplt.train(X, y, sites, algorithm="fed-plt", paper=True, eps=0.1, eval_every=1)
    assert found.table["rounds"][0] == run.rounds

    class Cost:
        curvature = (0.1, 2.0)

        def __init__(self, X, y):
            self.X, self.y = X, 2 * y - 1

        def value(self, x):
            return np.logaddexp(0, -self.y * (self.X @ x)).mean() + 0.05 * x @ x

        def gradient(self, x):
            return self.X.T @ (-self.y / (1 + np.exp(self.y * (self.X @ x)))) / len(self.X) + 0.1 * x

    own = fedplt.compare(["fed-plt", "fednl"], runs=1, costs=fedplt.Costs(
        [Cost(X[sites == s], y[sites == s]) for s in "abc"], 3), parameters={"fed-plt.rho": 1})
    assert own.table["failures"][0] == 0 and own.table["parameters"][0]["rho"] == 1
    with pytest.raises(ZeroDivisionError):
        fedplt.compare(["fed-plt"], runs=1, costs=fedplt.Costs([Bad()], 2))
    with pytest.raises(fedplt.BadValue, match="no algorithm 'fedplt'"):
        fedplt.compare(["fedplt"])


class Bad:
    curvature = (1.0, 1.0)

    def value_and_gradient(self, x):
        return 1 / 0, x


def test_tables_and_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    found = fedplt.compare(["fed-plt", "led"], runs=2, **SMALL)
    words = found.to_latex(caption="Rounds", label="tab:rounds")
    assert words.count(r"\\") == 3 and "fed-plt" in words and r"paper\_time" in words
    assert r"\toprule" in words and "tab:rounds" in words
    for one in (found, fedplt.tune(by="theory", **SMALL), fedplt.theory(0.5, 5)):
        picture = one.plot().figure
        picture.savefig(tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 5000
    with pytest.raises(fedplt.BadValue, match="round, gradients"):
        found.plot("money")


@pytest.mark.parametrize("by", ["theory", "experiment", "both"])
def test_tuning_is_the_command_lines(program, by):
    theirs = json.loads(subprocess.run([program, "tune", "--json", "--by", by, *FLAGS], check=True,
                                       stdout=subprocess.PIPE).stdout)
    ours = fedplt.tune(by=by, **SMALL)
    assert ours.reasoning == theirs["reasoning"] and ours.rounds_spent == theirs["rounds_spent"]
    assert ours.choice["rho"] == theirs["choice"]["rho"]
    assert ours.table["expected_time"].tolist() == [
        np.inf if c["expected_time"] is None else c["expected_time"] for c in theirs["candidates"]]


def test_tuning_without_data(program):
    theirs = json.loads(subprocess.run([program, "tune", "--json", "--lmin", "0.5", "--lmax", "5"], check=True,
                                       stdout=subprocess.PIPE).stdout)
    assert fedplt.tune(lmin=0.5, lmax=5).choice["rho"] == theirs["choice"]["rho"]
    with pytest.raises(fedplt.Unsupported, match="privacy claim"):
        fedplt.tune(lmin=0.5, lmax=5, public=True, by="experiment")
    with pytest.raises(fedplt.Failed, match="stopped on request after 3"):
        fedplt.tune(by="both", callback=lambda step: step[0] == 3, **SMALL)


def test_theory(program):
    theirs = json.loads(subprocess.run([program, "theory", "--json", "--lmin", "0.5", "--lmax", "5", "--rho", "0.7"],
                                       check=True, stdout=subprocess.PIPE).stdout)
    ours = fedplt.theory(0.5, 5, rho=0.7)
    words = json.dumps(theirs)
    assert repr(ours.gamma)[:12] in words
    assert ours.guaranteed == (ours.rate < 1)
    bound = ours.bound(10)
    assert np.allclose(bound[1:] / bound[:-1], ours.rate) or not ours.guaranteed
    assert ours.model_rate <= ours.rate or not ours.guaranteed
    with pytest.raises(fedplt.BadValue, match="smoothness"):
        fedplt.theory(0.5, -1)


def test_the_papers_tables():
    found = fedplt.paper(["II"], seeds=1, runs=2, points=2)
    assert set(found.table["table"]) == {"II"} and np.isfinite(found.table["paper"]).sum() > 5
    assert "Fed-PLT" in set(found.table["row"]) and r"\bottomrule" in found.to_latex()
    with pytest.raises(fedplt.BadValue, match="no table"):
        fedplt.paper(["XX"])


def interrupted(function, delay):
    """Seconds from SIGINT to KeyboardInterrupt."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        function()
    timer.join()
    return time.monotonic() - sent[0]


def test_experiments_stop_at_ctrl_c():
    """Between runs, in the middle of one that would take minutes, in Python's own costs, and in the paper's
    tables."""
    X = np.random.default_rng(0).normal(size=(100000, 30))
    y = np.where(X[:, 0] > 0.1, 1, 0)
    own = fedplt.Costs([Slow()], 2)
    endless = {"rounds": 10**9, "tolerance": 1e-300, "epochs": 20}
    for name, function in {
            "many": lambda: fedplt.compare(runs=100000),
            "long": lambda: fedplt.compare(["fed-plt"], runs=2, X=X, y=y, sites=4, **endless),
            "tuned": lambda: fedplt.compare(["fed-plt"], runs=1, tune=True, X=X, y=y, sites=4, **endless),
            "own": lambda: fedplt.compare(["fed-plt"], runs=1, costs=own, rounds=10**9, tolerance=1e-300),
            "paper": lambda: fedplt.paper(seeds=100, runs=1000),
            "tune": lambda: fedplt.tune(X, y, 4, by="experiment", rounds=10**6, tolerance=1e-300),
    }.items():
        assert interrupted(function, 0.4) < 5, name  # a timely end is 0.2 s; the rest is for busy machines


class Slow:
    """Never the same twice, so that nothing converges."""

    curvature = (1.0, 2.0)
    calls = 0

    def value_and_gradient(self, x):
        time.sleep(0.01)
        self.calls += 1
        return float(x @ x), 2 * x - self.calls % 3


def test_training_by_settings(program, tmp_path):
    subprocess.run([program, "train", "--out", "out", "--quiet", "--pictures", "no", "--threads", "1", *FLAGS],
                   cwd=tmp_path, check=True)
    run = fedplt.train(**SMALL)
    theirs = fedplt.Model.load(tmp_path / "out" / "model.json")
    assert run.x.tobytes() == theirs.weights.tobytes()
    assert len(run.frame()) == run.rounds + 1
    private = fedplt.simulate(privacy=fedplt.Privacy(2), rounds=3, **SMALL)
    assert fedplt.privacy.verify(private.certificate)


def test_half_of_the_rows_is_refused():
    X, y = np.eye(4), np.arange(4.0)
    dataset = fedplt.Dataset(X, y)
    for function in (fedplt.train, fedplt.tune, lambda *a, **k: fedplt.compare(**dict(zip("Xy", a), **k))):
        for says, rows, more in (("y is given, but X is not", (None, y), {}), ("X is given, but y is not", (X,), {}),
                                 ("sites is given, but X is not", (), {"sites": 3}),
                                 ("which has its own", (dataset, y), {}),
                                 ("which has its own", (dataset,), {"sites": 2})):
            with pytest.raises(fedplt.BadValue, match=says):
                function(*rows, **more)


def test_starts_are_as_long_as_the_model():
    """Never a number read behind the last one given."""
    X, y = np.eye(4), np.arange(4)
    for count in (1, 3, 4, 6, 400):
        with pytest.raises(fedplt.BadValue, match=f"starting point has {count} coordinates, but the job needs 5"):
            fedplt.train(X, y, start=np.zeros(count), loss="least-squares")
        with pytest.raises(fedplt.BadValue, match=f"starting point has {count} coordinates"):
            fedplt.simulate(start=np.zeros(count), features=5, agents=3, rows=10)
    assert fedplt.train(X, y, start=np.ones(5), loss="least-squares", rounds=0).x.tolist() == [1] * 5
    for start in (np.zeros((5, 1)), []):
        with pytest.raises(fedplt.BadValue, match="start has shape"):
            fedplt.train(X, y, start=start)


def test_tasks_may_be_told():
    X, y = np.eye(4), np.arange(4)
    assert fedplt.train(X, y).model.task == "classes"
    assert fedplt.train(X, y, task="regression").model.task == "regression"
    assert fedplt.train(X, [1, 2, 1, 2], task="auto").model.task == "binary"


def test_lists_are_settings():
    """As a list, a tuple, an array or a range: commas."""
    from fedplt._core import as_text

    assert {as_text(value) for value in ([1, 2], (1, 2), np.array([1, 2]), range(1, 3))} == {"1,2"}
    assert as_text(np.float64(0.1)) == "0.1" and as_text(np.bool_(True)) == as_text(True) == "yes"
    assert as_text({"a": 0.5, "b,c": None}) == r"a=0.5,b\,c=None"


def test_docstrings_have_the_settings():
    for row in fedplt.settings().itertuples():
        assert f"    {row.name.replace('-', '_')} : {row.legal}" in fedplt.train.__doc__


def test_a_search_over_own_costs_has_one_thread():
    class Bowl:
        curvature = (1.0, 4.0)

        def __init__(self, centre):
            self.centre = centre

        def value_and_gradient(self, x):
            seen.add(threading.get_ident())
            return float(((x - self.centre) ** 2).sum()), 2 * (x - self.centre)

    seen = set()
    fedplt.tune(costs=fedplt.Costs([Bowl(float(i)) for i in range(40)], 3), by="experiment", rounds=60)
    assert len(seen) == 1
