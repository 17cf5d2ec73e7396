"""Estimators against scikit-learn, statsmodels, closed forms and the command line."""
import json
import pickle
import subprocess
import warnings

import numpy as np
import pytest

import fedplt

sklearn = pytest.importorskip("sklearn")
sparse = pytest.importorskip("scipy.sparse")
from sklearn import linear_model  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

ALL = [fedplt.FedPLTClassifier, fedplt.FedPLTRegressor, fedplt.FedPLTPoisson, fedplt.FedPLTCox]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(kind):
    for estimator, check in check_estimator(kind(), generate_only=True):
        check(estimator)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("division", [None, 3, "by label"])
def test_logistic_coefficients_are_scikit_learns(binary, layout, division):
    X, y, sites = binary
    theirs = linear_model.LogisticRegression(C=1 / (0.02 * len(X)), solver="newton-cg", tol=1e-12,
                                             max_iter=1000).fit(X, y)
    ours = fedplt.FedPLTClassifier(0.02).fit(layout(X), y, sites if division == "by label" else division)
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-6
    assert np.abs(ours.intercept_ - theirs.intercept_).max() < 1e-6
    assert np.allclose(ours.predict_proba(layout(X)), theirs.predict_proba(X), atol=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.score(X, y) == theirs.score(X, y)


def test_a_tolerance_of_zero_takes_all_rounds():
    X = np.random.default_rng(2).normal(size=(40, 3))
    found = fedplt.FedPLTRegressor(tol=0, max_iter=7).fit(X, X[:, 0], sites=2)
    assert found.n_iter_ == 7


def newton(X, y, alpha):
    """Minimiser of the mean logistic loss + alpha/2 ||w||^2 with a free intercept, in other hands: on columns of mean 0
    and size 1, with the penalty of the columns as they are."""
    mean, unit = X.mean(0), np.sqrt(X.var(0) + alpha)
    Z = np.c_[(X - mean) / unit, np.ones(len(X))]
    ridge, w = np.diag(np.r_[alpha / unit**2, 0]), np.zeros(X.shape[1] + 1)
    for _ in range(40):
        q = 1 / (1 + np.exp(-Z @ w))
        w -= np.linalg.solve((Z * (q * (1 - q))[:, None]).T @ Z / len(X) + ridge, Z.T @ (q - y) / len(X) + ridge @ w)
    return w[:-1] / unit, w[-1] - w[:-1] / unit @ mean


@pytest.mark.parametrize("alpha", [0, 0.01])
@pytest.mark.parametrize("factor", [1e-7, 1, 1e7])
def test_the_scale_of_a_column_costs_no_digits(alpha, factor):
    """Also of one far from zero. The penalty stays that of the column as it is, so that only alpha 0 has the same fit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)) + [0, 0, 100, 0]
    y = (rng.random(400) < 1 / (1 + np.exp(-X @ [1, -1, 0.5, 0.2] + 50))).astype(int)
    X[:, 1:3] *= factor
    coefficients, intercept = newton(X, y, alpha)
    unit = np.sqrt(X.var(0) + alpha)  # a coefficient that is shrunk to nothing counts by what it adds
    for method in ({}, {"algorithm": "fed-plt-anderson"}, {"algorithm": "fed-lbfgs"}):
        fitted = fedplt.FedPLTClassifier(alpha, tol=1e-9, **method).fit(X, y, sites=3)
        assert fitted.outcome_ == "converged"
        np.testing.assert_allclose(fitted.coef_[0] * unit, coefficients * unit, rtol=2e-7, atol=1e-9)
        np.testing.assert_allclose(fitted.intercept_[0], intercept, rtol=2e-7)


def test_the_scale_of_a_column_and_other_penalties():
    """l1 as in scikit-learn's saga on columns it can do; a box in the units of the columns; no scaling for a ball."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = X @ [1, -0.5, 0.02] + 0.1 * rng.normal(size=300)
    lasso = linear_model.Lasso(alpha=0.05, tol=1e-14, max_iter=100000).fit(X * [1, 30, 1], y)
    fitted = fedplt.FedPLTRegressor(0, penalty="l1", penalty_weight=0.05).fit(X * [1, 30, 1], y)
    np.testing.assert_allclose(fitted.coef_, lasso.coef_, rtol=1e-6, atol=1e-10)
    assert fitted.coef_[2] == 0
    boxed = fedplt.FedPLTRegressor(0, penalty="box", settings={"h-low": -0.01, "h-high": 0.5}).fit(X * [1, 30, 1], y)
    np.testing.assert_allclose(boxed.coef_[:2], [0.5, -0.01], rtol=1e-9)
    ball = fedplt.FedPLTRegressor(0, penalty="ball", settings={"h-radius": 0.5}).fit(X, y)
    np.testing.assert_allclose(np.linalg.norm(ball.coef_), 0.5, rtol=1e-9)


def test_a_formula_is_over_the_columns_of_a_frame(binary):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "k": rng.integers(1, 4, 200)})
    y = (rng.random(200) < 1 / (1 + np.exp(-frame.a + frame.a * frame.b))).astype(int)
    fitted = fedplt.FedPLTClassifier(0.01, settings={"formula": "~ a * b + I(b^2) + C(k)"}).fit(frame, y, sites=2)
    made = np.column_stack([frame.a, frame.b, frame.b**2, frame.k == 2, frame.k == 3, frame.a * frame.b])
    plain = fedplt.FedPLTClassifier(0.01).fit(made, y, sites=2)
    np.testing.assert_allclose(fitted.coef_, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(frame), plain.predict_proba(made), rtol=1e-7)
    assert list(fitted.model_.summary()["name"])[:6] == ["a", "b", "I(b^2)", "k=2", "k=3", "a:b"]


def test_softmax_coefficients_are_scikit_learns():
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    # an intercept of softmax is free to move with all others: scikit-learn's sum to 0, as do ours
    theirs = linear_model.LogisticRegression(C=1 / (0.01 * len(X)), solver="newton-cg", tol=1e-12,
                                             max_iter=10000).fit(X, names)
    ours = fedplt.FedPLTClassifier(0.01, tol=1e-10, max_iter=20000).fit(X, names, sites=y)
    assert list(ours.classes_) == sorted(set(names))
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-5
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_least_squares_are_the_closed_form(numbers):
    X, y, sites = numbers
    centred = X - X.mean(0)
    exact = np.linalg.solve(centred.T @ centred / len(X) + 0.1 * np.eye(4),
                            centred.T @ (y - y.mean()) / len(X))
    for division in (None, sites):
        ours = fedplt.FedPLTRegressor(0.1).fit(X, y, division)
        assert np.allclose(ours.coef_, exact, atol=1e-9)
        assert np.isclose(ours.intercept_, y.mean() - X.mean(0) @ exact, atol=1e-9)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    theirs = linear_model.Ridge(0.1 * weights.sum(), solver="cholesky").fit(X, y, weights)
    ours = fedplt.FedPLTRegressor(0.1).fit(X, y, sites, weights)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-8)


def test_counts_are_scikit_learns(counts):
    X, y, sites = counts
    theirs = linear_model.PoissonRegressor(alpha=0.05, tol=1e-10, max_iter=1000).fit(X, y)
    ours = fedplt.FedPLTPoisson(0.05).fit(X, y, sites)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert np.isclose(ours.score(X, y), theirs.score(X, y), atol=1e-8)


def test_hazards_are_statsmodels(binary):
    phreg = pytest.importorskip("statsmodels.duration.hazard_regression")
    X, event, sites = binary
    times = np.random.default_rng(3).permutation(len(X)) + 1.0  # no ties
    theirs = phreg.PHReg(times, X, status=event, strata=sites).fit()
    for y in (np.where(event == 1, times, -times), np.column_stack([times, event]),
              np.array(list(zip(event == 1, times)), dtype=[("event", bool), ("time", float)])):
        ours = fedplt.FedPLTCox(0, tol=1e-10).fit(X, y, sites)
        assert np.allclose(ours.coef_, theirs.params, atol=1e-6)
    assert np.allclose(ours.predict(X), np.exp(X @ ours.coef_))
    assert 0.4 < ours.score(X, y) < 1


def test_standard_errors_are_the_pooled_closed_form(binary):
    X, y, sites = binary
    fitted = fedplt.FedPLTClassifier(0, tol=1e-12).fit(X, y, sites)
    found = fitted.summary()
    A = np.column_stack([X, np.ones(len(X))])
    p = 1 / (1 + np.exp(-A @ np.append(fitted.coef_[0], fitted.intercept_)))
    exact = np.sqrt(np.diag(np.linalg.inv(A.T @ (A * (p * (1 - p))[:, None]))))
    assert np.allclose(found["std_error"], exact, rtol=0, atol=1e-10)
    assert np.allclose(found["z"], found["coefficient"] / exact, rtol=1e-9)
    with pytest.warns(UserWarning, match="penalty"):
        fedplt.FedPLTClassifier(0.1).fit(X, y).summary()


def test_standard_errors_of_numbers_and_counts(numbers, counts):
    X, y, sites = numbers
    fitted = fedplt.FedPLTRegressor(0, tol=1e-12).fit(X, y, sites)
    A = np.column_stack([X, np.ones(len(X))])
    rest = y - fitted.predict(X)
    exact = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (rest @ rest) / (len(X) - 5))
    assert np.allclose(fitted.summary()["std_error"], exact, rtol=0, atol=1e-10)
    X, y, sites = counts
    fitted = fedplt.FedPLTPoisson(0, tol=1e-12).fit(X, y, sites)
    A = np.column_stack([X, np.ones(len(X))])
    exact = np.sqrt(np.diag(np.linalg.inv(A.T @ (A * fitted.predict(X)[:, None]))))
    assert np.allclose(fitted.summary()["std_error"], exact, rtol=0, atol=1e-10)


def test_the_bits_are_the_command_lines(binary, program, tmp_path):
    X, y, sites = binary
    with open(tmp_path / "rows.csv", "w") as file:
        file.write("a,b,c,d,label,site\n")
        for r in range(len(X)):
            file.write(",".join(repr(float(v)) for v in X[r]) + f",{y[r]},s{sites[r]}\n")
    for extra, more in ([[], {}],
                        [["--algorithm", "fed-plt", "--epochs", "3"], {"algorithm": "fed-plt", "epochs": 3}],
                        [["--algorithm", "tamuna", "--participation", "fixed", "--active", "2", "--rounds",
                          "50"], {"algorithm": "tamuna", "participation": "fixed", "active": 2,
                                  "max_iter": 50}]):
        subprocess.run([program, "train", "--data", "rows.csv", "--eps", "0.02", "--standardise", "auto",
                        "--penalty-units", "columns",
                        "--tolerance", "1e-16", "--relative", "yes", "--out", "out", "--pictures", "no",
                        "--threads", "1", "--quiet", *extra],
                       cwd=tmp_path, check=True)
        theirs = fedplt.Model.load(tmp_path / "out" / "model.json")
        for jobs in (1, 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = fedplt.FedPLTClassifier(0.02, n_jobs=jobs, **more).fit(X, y, sites)
            assert ours.model_.weights.tobytes() == theirs.weights.tobytes()
        assert ours.model_.training["outcome"] == theirs.training["outcome"] == ours.outcome_


def test_a_ledger_has_one_account_for_the_same_records(binary, tmp_path):
    X, y, sites = binary
    book = str(tmp_path / "spent.db")
    promise = {"epsilon": 1, "rows": 3, "classes": np.unique(y), "ledger": book}
    fixed = {"rounds": 3}
    with pytest.raises(fedplt.BadValue, match="name the account of these records"):
        fedplt.FedPLTClassifier(0.1, privacy=fedplt.Privacy(**promise), settings=fixed).fit(X, y, sites)
    named = fedplt.Privacy(**promise, ledger_account="heart")
    first = fedplt.FedPLTClassifier(0.1, privacy=named, settings=fixed).fit(X, y, sites)
    again = fedplt.FedPLTClassifier(0.1, privacy=named, settings=fixed).fit(X, y)
    assert first.privacy_certificate_["agents"][0]["ledger"]["earlier"] == []
    found = again.privacy_certificate_["agents"][0]["ledger"]
    assert found["account"] == "heart" and len(found["earlier"]) == 1 and found["epsilon"] > 1.2
    assert fedplt.privacy.verify(again)
    with pytest.raises(fedplt.Unreachable, match="heart has spent or kept .* its budget is 1.5"):
        fedplt.FedPLTClassifier(0.1, privacy=fedplt.Privacy(**promise, ledger_account="heart", budget=1.5),
                                settings=fixed).fit(X, y)
    with pytest.raises(fedplt.BadValue, match="plain path of a file"):
        fedplt.simulate(agents=2, rows=30, features=3, rounds=3, privacy=fedplt.Privacy(1, ledger=":memory:"))
    rows = tmp_path / "rows.csv"
    np.savetxt(rows, np.c_[np.clip(X[:, :2], -3, 3), np.where(y == y[0], -1, 1)], delimiter=",", header="a,b,label", comments="")
    words = {"data": str(rows), "bounds": "-3..3", "labels": "no=-1,yes=1", "rounds": 3}
    with pytest.raises(fedplt.BadValue, match="does not know the data of its accounts heart"):
        fedplt.train(privacy=fedplt.Privacy(1, rows=None, ledger=book), **words)
    run = fedplt.train(privacy=fedplt.Privacy(1, rows=None, ledger=book), ledger_account="heart", **words)
    assert len(run.model.certificate["agents"][0]["ledger"]["earlier"]) == 2
    run = fedplt.train(privacy=fedplt.Privacy(1, rows=None, ledger=book), **words)  # now it knows the file
    assert run.model.certificate["agents"][0]["ledger"]["account"] == "heart"


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_no_record_is_refused_with_privacy(binary, kind):
    """A number that is none becomes 0, a row without a declared label the neutral one, as if they had been given so."""
    X, y, _ = binary
    words = np.unique(y)
    promise = fedplt.Privacy(tau=1e-9, noise="simulated", rows=3, classes=words)
    X, labels = np.array(X, dtype=object), np.array(y, dtype=object)
    X[3, 0], X[4, 1], X[5, 0] = np.nan, -np.inf, "twelve"
    labels[6], labels[7], labels[8] = "none of them", None, np.nan
    clean, expected = X.copy(), labels.copy()
    clean[3, 0] = clean[4, 1] = clean[5, 0] = 0
    clean[6:9], expected[6:9] = 0, words[0]
    clean, expected = clean.astype(float), expected.astype(y.dtype)
    if kind == "sparse":
        from scipy.sparse import csr_matrix
        X[5, 0] = np.nan
        X, clean = csr_matrix(X.astype(float)), csr_matrix(clean)
    fixed = {"rounds": 3}
    odd = fedplt.FedPLTClassifier(0.1, privacy=promise, settings=fixed, random_state=1).fit(X, labels)
    plain = fedplt.FedPLTClassifier(0.1, privacy=promise, settings=fixed, random_state=1).fit(clean, expected)
    assert odd.neutralised_ == {"cells": 3, "rows": 3} and plain.neutralised_ == {"cells": 0, "rows": 0}
    assert np.allclose(odd.coef_, plain.coef_, atol=1e-7, rtol=0)
    assert "neutralised" not in odd.model_.to_json()


@pytest.mark.parametrize("model", [fedplt.FedPLTRegressor, fedplt.FedPLTPoisson])
def test_no_label_is_refused_with_privacy(counts, model):
    X, y, _ = counts
    y = np.array(y, dtype=float)
    y[[2, 3]] = np.nan, np.inf
    y[4] = -3
    promise = fedplt.Privacy(tau=0.1, noise="simulated", rows=1)
    settings = {"rounds": 2, "clip": 1, **({"predictor-bound": 3} if model is fedplt.FedPLTPoisson else {})}
    fitted = model(0.1, privacy=promise, settings=settings).fit(X, y)
    assert fitted.neutralised_["rows"] == (3 if model is fedplt.FedPLTPoisson else 2)


def test_private_training_verifies(binary):
    X, y, sites = binary
    promise = fedplt.Privacy(epsilon=4, delta=1e-4, rows=3, classes=np.unique(y))
    fitted = fedplt.FedPLTClassifier(0.1, privacy=promise).fit(X, y, sites)
    found = fedplt.privacy.verify(fitted.model_)
    assert found and found.epsilon <= 4 and found.delta == 1e-4
    assert all(holds for holds, _ in found.findings)
    assert fedplt.privacy.verify(fitted.privacy_certificate_, fitted)
    altered = json.loads(fitted.model_.to_json())
    place = next(key for key in ("weights", "coefficients") if key in altered)
    altered[place][0] = (altered[place][0] + 1e-9 if not isinstance(altered[place][0], list)
                         else [v + 1e-9 for v in altered[place][0]])
    broken = fedplt.Model.from_json(json.dumps(altered))
    assert not fedplt.privacy.verify(fitted.privacy_certificate_, broken)
    assert not fedplt.privacy.verify(broken)
    with pytest.raises(fedplt.Unsupported, match="standardise"):
        fedplt.FedPLTClassifier(privacy=fedplt.Privacy(1, classes=np.unique(y)),
                                settings={"standardise": "yes"}).fit(X, y)
    with pytest.raises(fedplt.BadValue, match="classes are declared"):
        fedplt.FedPLTClassifier(privacy=fedplt.Privacy(1)).fit(X, y)
    with pytest.raises(fedplt.Error, match="privacy"):
        fitted.summary()


def test_the_accountant_goes_both_ways():
    common = dict(sensitivity=2, records=500, step=0.1, epochs=5, rounds=20, strong_convexity=0.5,
                  smoothness=1, inverse_rho=1)
    tau = fedplt.privacy.calibrate(1.5, 1e-6, **common)
    assert np.isclose(fedplt.privacy.epsilon(1e-6, noise_tau=tau, **common), 1.5, rtol=1e-6)
    with pytest.raises(TypeError, match="noise_tau"):
        fedplt.privacy.epsilon(tua=1)


def test_a_frame_names_its_columns(binary):
    pandas = pytest.importorskip("pandas")
    X, y, sites = binary
    frame = pandas.DataFrame(X, columns=["age", "weight", "height", "dose"])
    fitted = fedplt.FedPLTClassifier(0.01).fit(frame, pandas.Series(y), pandas.Series(sites).map(
        {0: "basel", 1: "chur", 2: "davos", 3: "zug"}))
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert sorted(fitted.sites_) == ["basel", "chur", "davos", "zug"]
    assert list(fitted.model_.coefficients()["name"])[:4] == list(frame.columns)
    assert (fitted.predict(frame) == fitted.predict(X)).all()
    with pytest.raises(ValueError, match="names"):
        fitted.predict(frame[["weight", "age", "height", "dose"]])


def test_models_survive_pickle_files_and_other_programs(binary, tmp_path):
    X, y, sites = binary
    fitted = fedplt.FedPLTClassifier(settings={"standardise": "yes"}).fit(X, y, sites)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    fitted.model_.save(tmp_path / "model.json")
    assert fedplt.Model.load(tmp_path / "model.json").weights.tobytes() == fitted.model_.weights.tobytes()
    # columns were standardised: the coefficients are still in their own units
    assert np.allclose(fitted.decision_function(X), X @ fitted.coef_[0] + fitted.intercept_, atol=1e-12)
    fitted.model_.export(tmp_path / "model.onnx")
    onnx = pytest.importorskip("onnx")
    onnx.checker.check_model(onnx.load(str(tmp_path / "model.onnx")))


def test_what_is_wrong_is_said(binary):
    X, y, sites = binary
    with pytest.raises(fedplt.BadValue, match="did you mean 'tolerance'"):
        fedplt.FedPLTClassifier(settings={"tolerence": 1}).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        fedplt.FedPLTClassifier(-1).fit(X, y)
    with pytest.raises(fedplt.Error, match="participation"):
        fedplt.FedPLTClassifier(participation="some").fit(X, y)
    with pytest.raises(ValueError, match="sites has shape"):
        fedplt.FedPLTClassifier().fit(X, y, sites[:-1])
    with pytest.raises(OSError, match="no-such-file"):
        fedplt.Model.load("no-such-file.json")
    with pytest.raises(fedplt.BadData):
        fedplt.Model.from_json("{}")
    with pytest.raises(fedplt.Unsupported):
        fedplt.FedPLTRegressor().fit(X, y, sites).model_.probabilities(X)


def test_a_callback_sees_rounds_and_stops_them(binary):
    X, y, sites = binary
    seen = []
    fitted = fedplt.FedPLTClassifier(algorithm="fed-plt", callback=lambda now: seen.append(now) or
                                     now["round"] == 7).fit(X, y, sites)
    assert fitted.outcome_ == "stopped" and fitted.n_iter_ == 7
    assert [now["round"] for now in seen] == list(range(8))
    measured = [now for now in seen if not np.isnan(now["criterion"])]  # the engine spaces them
    assert [now["round"] for now in measured] == fitted.history_["round"].tolist()
    assert [now["criterion"] for now in measured] == fitted.history_["criterion"].tolist()
    with pytest.raises(ZeroDivisionError):
        fedplt.FedPLTClassifier(algorithm="fed-plt", callback=lambda now: 1 / 0).fit(X, y, sites)


def test_rounds_that_run_out_warn(binary):
    X, y, sites = binary
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="rounds"):
        fedplt.FedPLTClassifier(algorithm="fed-plt", max_iter=2).fit(X, y, sites)


def test_settings_come_from_the_tables():
    table = fedplt.settings("fed-plt")
    rho = table[table.name == "rho"].iloc[0]
    assert rho["kind"] == "number" and rho["default"] == "auto" and "above 0" in rho["legal"]
    assert set(table.columns) == {"name", "group", "kind", "default", "legal", "help"}
