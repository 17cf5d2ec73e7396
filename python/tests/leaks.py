"""What test_memory.py runs under valgrind: a little of everything that the library makes and releases."""
import sys
import warnings

for heavy in ("sklearn", "pandas", "scipy"):  # SciPy does not start under valgrind, whose long double is a double
    sys.modules[heavy] = None

import numpy as np

import fedplt
from fedplt.steps import Hub, Node, Plan

warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(60, 3))
y = (X[:, 0] + random.logistic(size=60) > 0).astype(int)
sites = np.repeat(["a", "b", "c"], 20)


class Square:
    def value(self, x):
        return float(x @ x)

    def gradient(self, x):
        return 2 * x - 1


class Broken(Square):
    def gradient(self, x):
        raise LookupError


if sys.argv[1:] == ["planted"]:
    fedplt.Dataset(X, y).lend()  # nobody destroys it
    print("done")
    sys.exit()


def attempt(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except Exception:
        return
    raise AssertionError("nothing was refused")


fitted = fedplt.FedPLTClassifier().fit(X, y, sites)
fitted.predict_proba(X)
fitted.model_.summary()
fedplt.Model.from_json(fitted.model_.to_json())
promise = fedplt.Privacy(2, rows=2, classes=[0, 1])
fixed = {"rounds": 3, "epochs": 2, "gamma": 0.1, "rho": 1}
private = fedplt.FedPLTClassifier(privacy=promise, settings=fixed).fit(X, y, sites)
fedplt.privacy.verify(private)
fedplt.minimise([Square(), Square()], 3, rounds=5, tolerance=0, algorithm="fed-plt")
attempt(fedplt.minimise, [Broken()], 3)
attempt(fedplt.FedPLTClassifier(settings={"epochs": 0}).fit, X, y, sites)
attempt(fedplt.Model.from_json, "{}")
attempt(fedplt.FedPLTRegressor(settings={"gamma": 1e9}, algorithm="fed-plt").fit, X, 1e9 * X[:, 0], sites)
fedplt.tune(lmin=0.5, lmax=5)
fedplt.theory(0.5, 5)
fedplt.settings("tamuna")
plan = Plan("fed-plt", 1, 3, rho=1.0)
hub, node = Hub(plan), Node(plan, fedplt.Dataset(X, y, task="binary"), 0, alpha=0.1, epochs=2)
hub.enrol(node.enrol())
hub.receive(node.train(hub.ask(0)))
node.accept(hub.absorb())
Hub(plan).restore(bytes(hub))
promise = fedplt.privacy.plan(fedplt.Privacy(2, rows=2), [60], 3, 2, rounds=3, epochs=2, gamma=0.1, rho=1)
promise.model([1.0, 2.0, 3.0])
print("done")
