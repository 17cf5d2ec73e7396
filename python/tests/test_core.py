"""Memory, signals, and layouts."""
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import fedplt
from fedplt._core import Trainer, given, trainer_settings
from fedplt._fedplt import lib


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_arrays_are_borrowed():
    """300 MB of rows grow memory by less than 10 MB before training."""
    X = np.full((375000, 100), 0.25)
    y = np.tile([-1.0, 1.0], len(X) // 2)
    y[1] = -1
    before = resident()
    dataset = fedplt.Dataset(X, y)
    pointer = dataset.lend()
    grown = resident() - before
    assert dataset.rows.dense is X
    lib.fplt_dataset_destroy(pointer)
    assert grown < 10e6


def test_fitting_borrows_too():
    """From the estimator's first line to the training: the peak, in a process of its own."""
    words = """
import numpy as np
import fedplt
def status(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))
fedplt.FedPLTClassifier(max_iter=0).fit(np.eye(3), [0, 1, 0])  # everything is loaded
X, y = np.full((375000, 100), 0.25), np.tile(["no", "yes"], 187500)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is counted anew
before = status("VmRSS")
fedplt.FedPLTClassifier()._dataset(X, y, None, None).lend()
print(status("VmHWM") - before)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", words], stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) < 10e6


def test_layouts():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.arange(12.0).reshape(4, 3)
    y = np.arange(4.0)
    csr = sparse.csr_matrix(X)
    dataset = fedplt.Dataset(csr, y)
    assert dataset.rows.value is csr.data and dataset.rows.column is csr.indices
    for other in (np.asfortranarray(X), X.astype(np.float32), X[::-1][::-1], X.tolist(),
                  sparse.coo_matrix(X), sparse.csc_matrix(X)):
        rows = fedplt.Dataset(other, y).rows
        if rows.dense is None:
            assert rows.value.tolist() == csr.data.tolist() and rows.column.tolist() == csr.indices.tolist()
        else:
            assert rows.dense.tolist() == X.tolist() and rows.dense.flags.c_contiguous
    # twice the same entry: their sum
    twice = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    assert fedplt.Dataset(twice, [0.0]).rows.value.tolist() == [3]


def test_rows_are_gathered_by_site():
    X, y = np.arange(10.0).reshape(5, 2), np.arange(5.0)
    dataset = fedplt.Dataset(X, y, ["b", "a", "b", "c", "a"], sample_weight=y + 1)
    assert dataset.sites == ["b", "a", "c"] and dataset.sizes == [2, 2, 1]
    assert dataset.label.tolist() == [0, 2, 1, 4, 3] and dataset.weight.tolist() == [1, 3, 2, 5, 4]
    assert dataset.rows.dense.tolist() == X[[0, 2, 1, 4, 3]].tolist()
    together = fedplt.Dataset(X, y, [3, 3, 1, 1, 1])
    assert together.rows.dense is X and together.sites == ["3", "1"]


def training(rounds=100000):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    dataset = fedplt.Dataset(X, X[:, 0] + random.normal(size=200), np.repeat(range(4), 50))
    return Trainer(given({"algorithm": "fed-plt", "rounds": rounds, "tolerance": 0,
                          "threads": 1, "eval_every": 0}), dataset=dataset)


def fits():
    """Many short trainings one after another: an interrupt meets every stage of one."""
    random = np.random.default_rng(0)
    X, sites = random.normal(size=(400, 5)), random.integers(0, 4, 400)
    y = X[:, 0] + random.normal(size=400)
    while True:
        model = fedplt.FedPLTRegressor(callback=lambda now: None).fit(X, y, sites)
        model.predict(X)
        model.choices_


def one_long_fit():
    with training(10**9) as trainer:
        trainer.run()


class Square:
    def value(self, x):
        return float(x @ x)

    def gradient(self, x):
        return 2 * x


def own_costs():
    fedplt.minimise([Square(), Square()], 3, rounds=10**9, tolerance=0, algorithm="fed-plt", rho=1, gamma=0.1)


def own_solver():
    fedplt.minimise([Square(), Square()], 3, rounds=10**9, tolerance=0, solver=lambda problem: problem.start)


def comparison():
    fedplt.compare(["fed-plt", "fedlin"], runs=10**5, agents=3, features=3, rows=20, threads=1)


def tuning():
    while True:
        fedplt.tune(by="experiment", rounds=10**9, agents=3, features=3, rows=20, tolerance=1e-300)


def tables():
    fedplt.paper(seeds=100, runs=1000, threads=1)


def watched():
    """A person's function runs nearly all the time."""
    fedplt.simulate(rounds=10**9, tolerance=0, eval_every=0, callback=lambda now: sum(range(1000)) < 0)


def network():
    torch = sys.modules["torch"]
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    site = fedplt.torch.Site(torch.nn.Linear(3, 2), torch.nn.functional.cross_entropy, X, (X[:, 0] > 0).astype(int))
    fedplt.minimise([site, site], start=site.start(), solver="sgd", batch=10, rounds=10**9, tolerance=0, gamma=0.1)


def leader(place=[]):
    """Waits for agents that never come."""
    if not place:
        folder = tempfile.TemporaryDirectory()
        fedplt.federation.found(folder.name + "/home", "hospitals", "127.0.0.1:7010")
        place.append(folder)  # whole, where no interrupt came
    while True:
        try:
            fedplt.Coordinator(federation="hospitals", listen=f"127.0.0.1:{fedplt.federation.free_port()}",
                               roster=["north"], folder=place[0].name + "/home", out=place[0].name + "/out",
                               train={"algorithm": "fed-plt", "rounds": 2}).run()
        except fedplt.IOFailure:
            pass  # somebody else took the port meanwhile


def test_every_interrupt_is_a_keyboard_interrupt():
    """SIGINT at 300 random moments of ten kinds of work: each is noticed before the process has computed for 0.2 s
    more, however many others use the machine."""
    jobs = [fits, one_long_fit, own_costs, own_solver, comparison, tuning, tables, watched, leader]
    try:
        import torch
        import fedplt.torch  # with functorch, whose imports an interrupt would leave half done
        torch.set_num_threads(1)
        jobs.append(network)
    except ImportError:
        pass
    fedplt.FedPLTRegressor(callback=lambda now: True).fit(np.eye(3), range(3))  # what is imported when it is needed
    fedplt.settings()
    random = np.random.default_rng(7)
    waits = []
    for number in range(300):
        sent = []

        def send(after=random.uniform(0, 0.05)):
            time.sleep(after)
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=send)
        try:
            sender.start()
            jobs[number % len(jobs)]()
            assert False, "the run ended by itself"
        except KeyboardInterrupt:
            waits.append((time.process_time() - sent[0], jobs[number % len(jobs)].__name__))
        except BaseException:
            with pytest.raises(KeyboardInterrupt):  # that was still to come, or pytest would end with it
                sender.join()
                time.sleep(1)
            raise
        sender.join()
    assert len(waits) == 300
    assert max(waits)[0] < 0.2, sorted(waits)[-5:]


def test_long_work_has_no_thread_object():
    """Whose end, whenever the collector comes to it, runs Python code that swallows an interrupt."""
    before, seen = len(threading._dangling), []
    fedplt.compare("fed-plt", runs=2, agents=3, features=3, rows=20, threads=1,
                   callback=lambda step: seen.append(len(threading._dangling)))
    assert seen and max(seen) == before


def test_nothing_is_left_behind():
    """Many trainings, finished and failed, leave the process as large as it was."""
    def once(k):
        with training(20) as trainer:
            trainer.run()
            trainer.model().predict(np.zeros((3, 5)))
            trainer.choices()
        with pytest.raises(fedplt.Error):
            fedplt.FedPLTRegressor(settings={"epochs": 0}).fit(np.eye(5), np.arange(5))

    for k in range(30):
        once(k)
    gc.collect()
    before = resident()
    for k in range(150):
        once(k)
    gc.collect()
    assert resident() - before < 1.5e6  # 10 kB a turn would be the data alone


def test_messages_go_to_logging(caplog):
    from fedplt._fedplt import ffi

    lib.fpltpy_log(lib.FPLT_LOG_WARNING, ffi.new("char[]", b"take care"), ffi.NULL)
    assert caplog.records[-1].name == "fedplt" and caplog.records[-1].message == "take care"


def test_other_threads_run_meanwhile():
    """The interpreter is free while the library works."""
    turns = 0

    def turn():
        nonlocal turns
        while trainer.watcher.struct.stop == 0:
            turns += 1
            time.sleep(0.001)

    trainer = training(10**9)
    worker = threading.Thread(target=turn)
    timer = threading.Timer(0.2, lambda: setattr(trainer.watcher.struct, "stop", 1))
    worker.start()
    timer.start()
    trainer.run()
    worker.join()
    assert trainer.outcome == "stopped" and turns > 20


def test_settings_take_numbers_as_numbers():
    """With all their bits, and refused by the sentence of the table."""
    def value(keyword, number, read=lib.fplt_settings_real):
        settings = trainer_settings(given({keyword: number}), False)
        return read(settings.pointer, keyword.replace("_", "-").encode())

    for number in (0.1, 1e-300, 5e-324, 1 / 3, 2.0, 1e22, np.float64(0.3), np.float32(0.1), 3, np.int8(7)):
        assert value("eps", number) == float(number)
    assert value("seed", 2**53, lib.fplt_settings_integer) == 2**53
    assert value("intercept", True, lib.fplt_settings_switch) == value("intercept", np.bool_(True),
                                                                       lib.fplt_settings_switch) == 1
    assert value("intercept", False, lib.fplt_settings_switch) == 0
    for keyword, number, sentence in (("eps", float("nan"), "eps is 'nan'"), ("eps", np.inf, "eps is 'inf'"),
                                      ("rounds", 5.0, "rounds is '5.0', but it must be a whole number"),
                                      ("rounds", 2**70, "rounds is '1180591620717411303424'"),
                                      ("eps", True, "eps is 'yes'"), ("intercept", 1, "intercept is '1'")):
        with pytest.raises(fedplt.BadValue, match=re.escape(f"{keyword}: {sentence}")):
            value(keyword, number)
