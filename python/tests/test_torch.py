"""Torch modules as costs."""
import json
import pathlib

import numpy as np
import pytest

import fedplt

torch = pytest.importorskip("torch", reason="python3-torch is not installed")


def sites(module, alpha=0.0, **more):
    random = np.random.default_rng(0)
    made = []
    for shift in (0.0, 0.5):
        X = random.normal(size=(60, 3)) + shift
        y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
        made.append(fedplt.torch.Site(module, torch.nn.functional.cross_entropy, X, y, alpha, **more))
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


def test_gradients_of_single_records():
    """Each is that of its record alone, and their mean the gradient; alpha is part of each."""
    site = sites(mlp(), 0.1)[0]
    x, rows = np.random.default_rng(3).normal(size=site.dimension), np.array([7, 3, 59, 3])
    found = site.record_gradients(x, rows)
    for row, slope in zip(rows, found):
        assert np.allclose(slope, site.batch_gradient(x, np.array([row])), rtol=1e-12, atol=1e-14)
    assert np.allclose(site.record_gradients(x, np.arange(60)).mean(axis=0), site.gradient(x), rtol=1e-12, atol=1e-14)
    site.X[3], site.y[3] = 1e6, 1 - site.y[3]
    others = site.record_gradients(x, rows)
    assert np.allclose(others[[0, 2]], found[[0, 2]], rtol=1e-14) and not np.allclose(others[1], found[1])


def test_a_private_network():
    """Clipped and noisy; without noise to speak of it learns as it does otherwise."""
    parts = sites(mlp(), name="mlp")  # a name, so that x counts from the module's first values
    settings = {"clip": 1.0, "gamma": 1.0, "rounds": 150}
    loose = fedplt.minimise(parts, privacy=fedplt.Privacy(epsilon=1e6), **settings)
    assert sum(site.hits(loose.x) for site in parts) > 0.85 * 120
    found = fedplt.minimise(parts, privacy=fedplt.Privacy(epsilon=3.0), **settings)
    assert found.certificate["problem"]["clip"] == 1.0 and 2.99 < found.certificate["promise"]["epsilon"] <= 3
    assert fedplt.privacy.verify(found.certificate)
    with pytest.raises(fedplt.Error, match="needs clip"):
        fedplt.minimise(parts, privacy=fedplt.Privacy(epsilon=3.0), gamma=1.0, rounds=5)


@pytest.mark.parametrize("part", [torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3, track_running_stats=False),
                                  torch.nn.Dropout(0.1)])
def test_nothing_is_promised_where_records_share_a_pass(part):
    module = torch.nn.Sequential(part, torch.nn.Linear(3, 2)).double()
    parts = sites(module)
    assert parts[0].record_gradients is None
    with pytest.raises(fedplt.Error, match="without record_gradients"):
        fedplt.minimise(parts, privacy=fedplt.Privacy(epsilon=3.0), clip=1.0, gamma=1.0, rounds=5)
    module.eval()  # the running statistics are those of the module, whatever the records
    if getattr(part, "track_running_stats", True):
        assert sites(module)[0].record_gradients is not None


def normalised(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Dropout(0.2),
                               torch.nn.Linear(6, 2)).double()


def norm_sites(**more):
    random = np.random.default_rng(5)
    made = []
    for shift in (0.0, 1.0):
        X = random.normal(size=(40, 3)) + shift
        made.append(fedplt.torch.Site(normalised(), torch.nn.functional.cross_entropy, X, (X[:, 0] > shift).astype(int),
                                      **more))
    return made


@pytest.mark.parametrize("buffers", ["local", "averaged"])
def test_calls_depend_on_their_arguments_only(buffers):
    """Batch normalisation and dropout: what was called before changes nothing, nor does torch's own generator."""
    site, again = norm_sites(buffers=buffers)[0], norm_sites(buffers=buffers)[0]
    x = site.start() + 0.01
    again.value_and_gradient(x + 1), again.batch_gradient(x - 1, np.arange(7)), again.hits(x + 2)
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    assert site.batch_gradient(x, np.arange(9)).tobytes() == again.batch_gradient(x, np.arange(9)).tobytes()
    assert site.value(x) == again.value(x) and site.hits(x) == again.hits(x)
    assert site.batch_gradient(x, np.arange(9)).tobytes() != site.batch_gradient(x, np.arange(1, 10)).tobytes()
    assert torch.equal(before, torch.random.get_rng_state())
    v, t = np.random.default_rng(1).normal(size=site.dimension), 1e-6
    site.module[3].p = 0.0  # a mask that changes with x has no derivative
    w = np.concatenate([v[:site._trained], np.zeros(site._statistics)])
    slope = (site._loss(x + t * w)[0] - site._loss(x - t * w)[0]).item() / (2 * t)
    assert slope == pytest.approx(site.gradient(x)[:site._trained] @ v[:site._trained], rel=1e-6)


def test_averaged_statistics_become_the_mean_of_the_sites():
    parts = norm_sites(buffers="averaged")
    assert parts[0].dimension == 6 * 3 + 6 + 6 + 6 + 6 * 2 + 2 + 12
    for site in parts:
        site.module[3].p = 0.0
    run = fedplt.minimise(parts, start=parts[0].start(), algorithm="fedavg", gamma=0.3, epochs=1, rounds=60, tolerance=0)
    own = []
    for site in parts:
        site._put(run.x)
        with site._training():
            own.append(site._measure(None))
    assert np.allclose(run.x[-12:], np.mean(own, axis=0), atol=0.05) and not np.allclose(*own, atol=0.2)
    module = parts[0].load(run.x)
    assert np.allclose(module[1].running_mean.numpy(), run.x[-12:-6])
    assert sum(site.hits(run.x) for site in parts) > 60


def test_local_statistics_are_those_of_the_rows():
    one, other = norm_sites()
    x = one.start()
    hidden = one.X.numpy() @ one.module[0].weight.detach().numpy().T + one.module[0].bias.detach().numpy()
    module = one.load(x)
    assert np.allclose(module[1].running_mean.numpy(), hidden.mean(0)) and other.dimension == 6 * 3 + 6 + 12 + 14
    assert np.allclose(module[1].running_var.numpy(), hidden.var(0, ddof=1))
    with pytest.raises(fedplt.BadValue, match="buffers is 'none', but must be one of local, averaged"):
        norm_sites(buffers="none")


def test_a_digest_covers_what_changes_the_cost():
    X, y = np.zeros((4, 3)), np.array([0, 1, 0, 1])

    def of(module=None, loss=torch.nn.functional.cross_entropy, **more):
        return fedplt.torch.Site(module or normalised(), loss, X, y, name="net", **more).digest

    assert of() == of() and len({of(), of(normalised(1)), of(alpha=0.1), of(buffers="averaged"), of(mlp()),
                                 of(loss=torch.nn.functional.multi_margin_loss)}) == 6
    site = fedplt.torch.Site(mlp(), torch.nn.functional.cross_entropy, X, y, name="net")
    assert site.load(np.zeros(site.dimension))[0].weight.tolist() == mlp()[0].weight.tolist()


def test_a_network_over_tls_gives_the_bits_of_one_process(tmp_path):
    """Three agents in threads: minibatches by the library's streams, batch normalisation, dropout, a step that decays.
    tests/whole/digits runs processes that are killed."""
    from fedplt import federation

    names, address = ["north", "south", "west"], f"127.0.0.1:{federation.free_port()}"
    train = {"algorithm": "fedavg", "solver": "sgd", "batch": 10, "epochs": 3, "gamma": 0.2, "gamma_decay": 0.9, "rounds": 5,
             "tolerance": 0}
    random = np.random.default_rng(7)
    rows = [(X, (X[:, 0] > X[:, 1]).astype(int)) for X in random.normal(size=(3, 40, 3))]

    def parts():
        return [fedplt.torch.Site(normalised(), torch.nn.functional.cross_entropy, X, y, buffers="averaged", name="net",
                                  curvature=(-1.0, 10.0)) for X, y in rows]

    federation.found(tmp_path / "home", "trial", address)
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.pem").write_text(federation.sign(tmp_path / "home", federation.request(tmp_path / name, name)))
    costs = parts()
    policy = {"federations": ["trial"], "epsilon": "off", "models": [costs[0].digest], "models-off": [costs[0].digest]}
    leader = fedplt.Coordinator(
        federation="trial", listen=address, folder=tmp_path / "home", roster=names, out=tmp_path / "out", once=True,
        train={"loss": "custom", **{key.replace("_", "-"): value for key, value in train.items()}},
        model={key: getattr(costs[0], key) for key in ("name", "version", "dimension", "digest")}).start()
    agents = [fedplt.Agent(cost=cost, coordinator="https://" + address, folder=tmp_path / name, out=tmp_path / name / "out",
                           once=True, proxy="off", policy=policy).start() for cost, name in zip(costs, names)]
    try:
        outcome = leader.join(60)
        assert outcome is not None and outcome["finished"], leader.events
    finally:
        for one in (leader, *agents):
            one.stop()
            one.join(20)
    found = json.loads(pathlib.Path(outcome["model"]).read_text())
    assert found["weights"] == fedplt.minimise(parts(), **train).x.tolist() and any(found["weights"])
    assert found["training"]["accuracy"] == sum(cost.hits(np.array(found["weights"])) for cost in parts()) / 120
