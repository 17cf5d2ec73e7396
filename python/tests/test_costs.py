"""Costs and solvers in Python against closed forms and the library's own."""
import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest

import fedplt


class Quadratic:
    def __init__(self, A, b):
        self.A, self.b, self.calls = A, b, 0

    def value(self, x):
        return x @ self.A @ x / 2 - self.b @ x

    def gradient(self, x):
        self.calls += 1
        return self.A @ x - self.b


class AtOnce:
    """The same with both together, as automatic differentiation has it."""

    def __init__(self, cost):
        self.cost = cost
        spectrum = np.linalg.eigvalsh(cost.A)
        self.curvature = (spectrum[0], spectrum[-1])

    def value_and_gradient(self, x):
        return self.cost.value(x), self.cost.gradient(x)


def quadratics(count=3, n=4, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        A = random.normal(size=(n, n))
        made.append(Quadratic(A @ A.T + np.eye(n), random.normal(size=n)))
    return made, np.linalg.solve(sum(q.A for q in made), sum(q.b for q in made))


@pytest.mark.parametrize("algorithm", ["fed-plt", "fed-plt-anderson", "scaffold", "fed-lbfgs"])
def test_the_minimiser_is_found(algorithm):
    costs, exact = quadratics()
    for kind in (lambda cost: cost, AtOnce):
        found = fedplt.minimise([kind(cost) for cost in costs], 4, algorithm=algorithm, tolerance=1e-20,
                                rounds=20000)
        assert found.outcome == "converged" and np.allclose(found.x, exact, atol=1e-8)
    assert found.history["criterion"][-1] <= 1e-20


def test_other_peoples_names():
    costs, exact = quadratics()

    class Named:
        def __init__(self, cost):
            self.function, self.gradient = cost.value, lambda x: cost.gradient(x).reshape(-1, 1)
            self.m_smooth, self.m_cvx = np.linalg.eigvalsh(cost.A)[-1], np.linalg.eigvalsh(cost.A)[0]

    assert np.allclose(fedplt.minimise([Named(c) for c in costs], 4, tolerance=1e-20).x, exact, atol=1e-8)


def test_curvature_is_probed():
    costs, _ = quadratics()
    found = fedplt.Costs(costs, 4).probe(np.ones(4))
    for (low, high), cost in zip(found, costs):
        spectrum = np.linalg.eigvalsh(cost.A)
        assert np.isclose(low, spectrum[0], rtol=1e-6) and np.isclose(high, 1.01 * spectrum[-1], rtol=1e-6)


def test_own_costs_have_the_bits_of_the_librarys():
    """Logistic costs in Python (the same gradient, through the library's own objective) run as rows do."""
    random = np.random.default_rng(1)
    X = random.normal(size=(90, 3))
    y = np.where(X[:, 0] + random.logistic(size=90) > 0, 1.0, 0.0)
    rows = fedplt.train(X, y, 3, loss="least-squares", standardise="no", intercept=False, eps=0.1,
                        algorithm="fed-plt", partition="contiguous", rounds=40, tolerance=0,
                        weights="agents", epochs=4, rho=1.0, gamma=0.2)

    class Rows:
        def __init__(self, X, y):
            self.X, self.y, self.records = X, y, len(X)
            self.curvature = (0.1, 5)

        def value(self, x):
            return ((self.X @ x - self.y) ** 2).mean() / 2 + 0.05 * x @ x

        def gradient(self, x):
            return self.X.T @ (self.X @ x - self.y) / len(self.X) + 0.1 * x

        def batch_gradient(self, x, rows):
            assert rows.max() < self.records
            return self.X[rows].T @ (self.X[rows] @ x - self.y[rows]) / len(rows) + 0.1 * x

    sites = [Rows(X[i:i + 30], y[i:i + 30]) for i in (0, 30, 60)]
    ours = fedplt.minimise(sites, 3, algorithm="fed-plt", rounds=40, tolerance=0, epochs=4, rho=1.0, gamma=0.2)
    assert np.allclose(ours.x, rows.x, atol=1e-13)  # the order of additions differs, nothing else
    assert ours.rounds == rows.rounds == 40
    for solver in ("sgd", "svrg"):
        noisy = fedplt.minimise(sites, 3, solver=solver, batch=10, rounds=60, tolerance=0, rho=1.0, gamma=0.1)
        assert np.linalg.norm(noisy.x - rows.x) < 0.3
        again = fedplt.minimise(sites, 3, solver=solver, batch=10, rounds=60, tolerance=0, rho=1.0, gamma=0.1)
        assert noisy.x.tobytes() == again.x.tobytes()


def test_a_solver_of_ones_own():
    costs, exact = quadratics()
    rounds = set()

    def exactly(problem):
        cost = costs[problem.agent]
        rounds.add(problem.round)
        w = np.linalg.solve(cost.A + problem.inverse_rho * np.eye(4),
                            cost.b - problem.linear + problem.inverse_rho * problem.centre)
        assert np.linalg.norm(problem.gradient(w)) < 1e-9
        return w

    found = fedplt.minimise(costs, 4, solver=exactly, tolerance=1e-20)
    assert np.allclose(found.x, exact, atol=1e-8) and rounds == set(range(found.rounds))

    def steps(problem):
        w = problem.start
        for _ in range(problem.epochs):
            w = w - problem.step * problem.gradient(w)
        return w

    ours = fedplt.minimise(costs, 4, solver=fedplt.Solver(steps, plain_steps=True), rounds=30, tolerance=0,
                           algorithm="scaffold", gamma=0.02, epochs=3)
    theirs = fedplt.minimise(costs, 4, rounds=30, tolerance=0, algorithm="scaffold", gamma=0.02, epochs=3)
    assert np.allclose(ours.x, theirs.x, atol=1e-12)


def test_exceptions_come_out_whole():
    costs, _ = quadratics()

    class Broken(Quadratic):
        def gradient(self, x):
            if self.calls > 5:
                raise LookupError("no such patient")
            return super().gradient(x)

    with pytest.raises(LookupError, match="no such patient") as raised:
        fedplt.minimise([Broken(c.A, c.b) for c in costs], 4)
    assert "in gradient" in "".join(traceback.format_exception(raised.value))
    with pytest.raises(LookupError):
        fedplt.minimise(costs, 4, solver=lambda problem: {}["x"])
    with pytest.raises(fedplt.BadValue, match="gave 3 numbers, but must give 4"):
        fedplt.minimise([Short()], 4)
    with pytest.raises(fedplt.BadValue, match="no value and gradient"):
        fedplt.minimise([object()], 2)
    with pytest.raises(fedplt.Error, match="own"):
        fedplt.minimise(costs, 4, standardise="yes")
    with pytest.raises(fedplt.BadValue, match="starting point has 3 coordinates, but the job needs 4"):
        fedplt.minimise(fedplt.Costs(costs, 4), start=np.zeros(3))


class Short:
    def value_and_gradient(self, x):
        return 0.0, x[:3]


def test_ctrl_c_in_a_callback():
    costs, _ = quadratics()

    def slow(problem):
        time.sleep(0.001)
        return problem.start

    for solver in (None, slow):
        for delay in np.random.default_rng(3).uniform(0.01, 0.06, 12):
            with pytest.raises(KeyboardInterrupt):
                threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
                fedplt.minimise(costs, 4, solver=solver, rounds=10**9, tolerance=0, rho=1e-9, gamma=1e-9)


def test_callbacks_stop_a_run():
    costs, _ = quadratics()
    found = fedplt.minimise(costs, 4, callback=lambda now: now["round"] == 3)
    assert found.outcome == "stopped" and found.rounds == 3


def test_the_step_decays_from_round_to_round():
    """FedAvg in plain NumPy: two gradient steps of gamma 0.9^k in round k, then the mean."""
    costs, _ = quadratics()
    x = np.zeros(4)
    for number in range(12):
        ends = []
        for cost in costs:
            w = x
            for _ in range(2):
                w = w - 0.02 * 0.9**number * cost.gradient(w)
            ends.append(w)
        x = sum(ends) / 3
    common = dict(algorithm="fedavg", gamma=0.02, epochs=2, rounds=12, tolerance=0)
    assert np.allclose(fedplt.minimise(costs, 4, gamma_decay=0.9, **common).x, x, rtol=1e-13, atol=0)
    assert not np.allclose(fedplt.minimise(costs, 4, **common).x, x, rtol=1e-3)
    with pytest.raises(fedplt.Error, match="gamma.decay.*must be.*above 0"):
        fedplt.minimise(costs, 4, gamma_decay=0.0, **common)
