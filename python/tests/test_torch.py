"""Torch modules as costs."""
import numpy as np
import pytest

import fedplt

torch = pytest.importorskip("torch", reason="python3-torch is not installed")


def sites(module, alpha=0.0):
    random = np.random.default_rng(0)
    made = []
    for shift in (0.0, 0.5):
        X = random.normal(size=(60, 3)) + shift
        y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
        made.append(fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, y, alpha))
    return made


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).double()


def test_derivatives():
    site = sites(mlp(), 0.1)[0]
    random = np.random.default_rng(1)
    x, v = site.start(), random.normal(size=site.dimension)
    t = 1e-6
    value, gradient = site.value_and_gradient(x)
    assert np.isclose(value, site.value(x), rtol=1e-14)
    assert np.isclose((site.value(x + t * v) - site.value(x - t * v)) / (2 * t), gradient @ v, rtol=1e-7)
    product = site.hessian_times(x, v)
    assert np.allclose((site.gradient(x + t * v) - site.gradient(x - t * v)) / (2 * t), product, atol=1e-6)
    assert np.allclose(site.batch_gradient(x, np.arange(60)), gradient, atol=1e-12)
    assert site.load(x) is site.module and site.start().tobytes() == x.tobytes()


def test_a_linear_module_is_softmax():
    """One linear layer with a ridge has the minimiser that the library's own softmax finds."""
    module = torch.nn.Linear(3, 3, bias=False).double()
    random = np.random.default_rng(2)
    X = random.normal(size=(90, 3))
    y = np.argmax(X + random.gumbel(size=(90, 3)), axis=1)
    parts = [slice(0, 30), slice(30, 60), slice(60, 90)]
    own = [fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X[p], y[p], 0.1) for p in parts]
    ours = fedplt.minimise(own, start=np.zeros(9), tolerance=1e-18, algorithm="fed-lbfgs")
    exact = fedplt.FedPLTClassifier(0.1, fit_intercept=False).fit(X, y, np.repeat(range(3), 30))
    assert np.allclose(ours.x.reshape(3, 3), exact.coef_, atol=1e-7)


def test_an_mlp_learns():
    parts = sites(mlp())
    start = parts[0].start()
    for algorithm, more in (("fed-plt", {"rho": 3.0}), ("fedavg", {})):
        run = fedplt.minimise(parts, start=start, algorithm=algorithm, solver="sgd", batch=20, epochs=10, gamma=0.3,
                              rounds=30, tolerance=0, eval_every=10, **more)
        assert run.history["accuracy"][-1] > 0.85 > run.history["accuracy"][0]


def test_rows_take_the_modules_type():
    """float64 rows for a module of float32, as everybody's first attempt has it; frames and whole labels too."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(np.int32)
    module = torch.nn.Linear(3, 2)
    same = [fedplt.torch.Site(module, torch.nn.functional.cross_entropy, *data) for data in (
        (X, y), (torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.int64)),
        (pandas.DataFrame(X), pandas.Series(y)))]
    slopes = {site.gradient(site.start()).tobytes() for site in same}
    assert len(slopes) == 1 and same[0].hits(same[0].start()) in range(41)


def test_numbers_have_no_accuracy():
    random = np.random.default_rng(2)
    X = random.normal(size=(40, 3))
    site = fedplt.torch.Site(torch.nn.Linear(3, 1).double(), torch.nn.functional.mse_loss, X, X[:, :1])
    found = fedplt.minimise([site], start=site.start(), tolerance=1e-16, relative=True)
    assert np.all(np.isnan(found.history["accuracy"]))
    assert np.allclose(found.x[:3], [1, 0, 0], atol=1e-6)


def test_frozen_and_unused_parameters():
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.frozen, self.used, self.unused = (torch.nn.Linear(3, 3).double() for _ in range(3))
            for one in self.frozen.parameters():
                one.requires_grad = False

        def forward(self, X):
            return self.used(self.frozen(X))

    module, random = Two(), np.random.default_rng(2)
    X = random.normal(size=(40, 3))
    site = fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, np.argmax(X, axis=1))
    assert site.dimension == 24
    slope = site.gradient(site.start())
    assert np.all(slope[12:] == 0) and np.any(slope[:12] != 0)
    assert np.all(site.hessian_times(site.start(), np.ones(24))[12:] == 0)
    before = module.frozen.weight.numpy().tobytes()
    fedplt.minimise([site], start=site.start(), rounds=3, tolerance=0)
    assert site.module.frozen.weight.numpy().tobytes() == before
    with pytest.raises(ValueError, match="no parameters"):
        fedplt.torch.Site(module.frozen, torch.nn.functional.cross_entropy, X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="must have"):
        site.load(np.zeros(3))


def test_gradients_stay_on_whatever_happens():
    """torch.no_grad() loses its end to an interrupt now and then; nothing here uses it."""
    site = sites(mlp())[0]
    seen = []

    def loss(output, y):
        seen.append(torch.is_grad_enabled())
        return torch.nn.functional.cross_entropy(output, y)

    site.loss = loss
    site.value(site.start())
    site.module.register_forward_hook(lambda *_: seen.append(torch.is_grad_enabled()))
    site.hits(site.start())
    assert seen == [True, True] and torch.is_grad_enabled()
