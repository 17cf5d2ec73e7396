#!/usr/bin/python3
"""`fedplt summary --refit` and `fedplt evaluate` beside R: every number of every case. Speaks TAP.

usage: tests/oracle/comparison.py PROGRAM [--r | --write]

R's numbers are in tests/golden/comparison.json, so that the test needs no R. --r computes them again
(comparison.R; needs r-base-core, r-cran-survival and r-cran-mass; without r-cran-lme4 it leaves a case out and says so) and compares; --write writes them, and the table of
docs/comparison-with-r.md.
"""
import csv
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden" / "comparison.json"
PAGE = HERE.parent.parent / "docs" / "comparison-with-r.md"
PROGRAM = os.path.abspath(sys.argv[1])
TOLERANCE = 1e-8

# ---- data, the same with every version of Python ----


def columns_of(seed, count, **functions):
    """A column a function of the row so far and a source of uniform and normal numbers."""
    source = random.Random(seed)
    rows = []
    for number in range(count):
        row = {"number": number}
        for name, make in functions.items():
            row[name] = make(row, source)
        del row["number"]
        rows.append(row)
    return rows


def normal(row, source):
    """By sums of uniform numbers, which no version of Python changes."""
    return round(sum(source.random() for _ in range(12)) - 6, 6)


def poisson(mean, source):
    """The largest count whose product of uniform numbers stays above e^-mean [Knuth]."""
    count, left = 0, source.random()
    while left > math.exp(-mean):
        count, left = count + 1, left * source.random()
    return count


def chance(margin, source):
    return int(source.random() < 1 / (1 + math.exp(-margin)))


def kind(row, source):
    margins = [0, 0.4 + row["a"], -0.3 + 0.5 * row["b"] - 0.5 * row["a"]]
    draw = source.random() * sum(map(math.exp, margins))
    for name, margin in zip("pqr", margins):
        draw -= math.exp(margin)
        if draw <= 0:
            return name
    return "r"


def grade(margin, source):
    """Of four classes in their order, with logistic errors."""
    draw = source.random()
    latent = margin + math.log(draw / (1 - draw))
    return "1low 2fair 3good 4high".split()[sum(latent > threshold for threshold in (-1.5, 0.2, 1.4))]


def weight(row, source):
    return round(0.2 + 2 * source.random(), 3)


def whole_weight(row, source):
    return 1 + int(3 * source.random())


def level(names):
    return lambda row, source: names[row["number"] % len(names) if row["number"] < len(names)
                                     else int(len(names) * source.random())]


def ward(row):
    """The effect of a ward."""
    return normal(row, random.Random(row["ward"]))


SITES = level(["s0", "s1", "s2"])

DATA = {
    "numbers": columns_of(
        1, 40, a=normal, b=normal, c=lambda row, s: round(100 + 15 * normal(row, s), 3),
        k=level(["amber", "blue", "cyan"]), w=weight,
        y=lambda row, s: round(2 + row["a"] - 0.5 * row["b"] + 0.02 * row["c"] +
                               (row["k"] == "blue") + normal(row, s), 4)),
    "classes": columns_of(
        2, 200, a=normal, b=normal, c=lambda row, s: round(40 + 10 * normal(row, s), 2),
        k=level(["x", "y", "z"]), s=level(["f", "m"]), w=whole_weight,
        y=lambda row, s: chance(-1 + row["a"] + 0.02 * row["c"] + 0.5 * (row["k"] == "y"), s)),
    "counts": columns_of(
        3, 150, a=normal, b=normal, o=lambda row, s: round(normal(row, s) / 2, 4), w=whole_weight,
        y=lambda row, s: poisson(math.exp(0.4 + 0.3 * row["a"] - 0.4 * row["b"] + row["o"]), s)),
    # high expectations meet low counts
    "steep": columns_of(
        4, 60, a=lambda row, s: round(3 * normal(row, s), 3), b=normal,
        y=lambda row, s: 1 if row["number"] == 0 else poisson(min(3, math.exp(row["a"] / 2)), s)),
    "amounts": columns_of(
        8, 120, a=normal, b=normal, k=level(["x", "y", "z"]), o=lambda row, s: round(normal(row, s) / 3, 4), w=weight,
        y=lambda row, s: round(-math.exp(1 + 0.4 * row["a"] - 0.2 * row["b"] + row["o"]) / 2 *
                               math.log(s.random() * s.random()), 6)),
    # every site has the same values of a
    "balanced": columns_of(
        9, 48, a=lambda row, s: [-2, -1, 0.5, 3][row["number"] // 3 % 4], site=lambda row, s: f"s{row['number'] % 3}",
        y=lambda row, s: round(1 + row["a"] / 2 + [0, 2, -1][int(row["site"][1])] + normal(row, s), 4)),
    "kinds": columns_of(5, 90, a=normal, b=normal, y=kind),
    "episodes": columns_of(  # Poisson with gamma means: negative binomial
        9, 150, a=normal, b=normal, o=lambda row, s: round(normal(row, s) / 3, 4), w=whole_weight,
        y=lambda row, s: poisson(-math.exp(0.6 + 0.5 * row["a"] - 0.3 * row["b"] + row["o"]) / 2 *
                                 math.log(s.random() * s.random()), s)),
    "grades": columns_of(
        10, 160, a=normal, b=normal, k=level(["x", "y", "z"]), w=whole_weight,
        y=lambda row, s: grade(row["a"] - 0.5 * row["b"] + 0.6 * (row["k"] == "y"), s)),
    "wards": columns_of(  # 24 wards at three sites, some with one row
        11, 220, ward=lambda row, s: f"w{int(24 * s.random() ** 1.5)}", site=lambda row, s: f"s{int(row['ward'][1:]) % 3}",
        a=normal, b=normal, o=lambda row, s: round(normal(row, s) / 3, 4), y=lambda row, s: chance(-0.4 + row["a"] + ward(row), s),
        n=lambda row, s: poisson(math.exp(0.3 + 0.4 * row["a"] - 0.2 * row["b"] + row["o"] + 0.7 * ward(row)), s),
        v=lambda row, s: round(12 + 4 * row["a"] - row["b"] + 3 * ward(row) + 5 * normal(row, s), 3),
        u=lambda row, s: round(row["a"] + normal(row, s), 4)),
    "times": columns_of(
        6, 120, site=level(["s0", "s1", "s2"]), a=normal, b=normal, w=weight,
        time=lambda row, s: math.ceil(-8 * math.log(s.random()) * math.exp(-0.5 * row["a"])),
        event=lambda row, s: int(s.random() < 0.7)),
    "judged": columns_of(
        7, 60, w=weight, p=normal, y=lambda row, s: round(row["p"] + normal(row, s), 3),
        m=lambda row, s: round(2 * normal(row, s), 1), z=lambda row, s: chance(row["m"], s),
        n=lambda row, s: poisson(math.exp(row["m"] / 3), s)),
}
for place, row in enumerate(DATA["judged"]):
    row["g"] = round(-math.log(random.Random(place).random()) * math.exp(row["m"]), 5)
for name in "numbers", "classes":  # drawn afterwards, so that the other columns stay what they were
    source = random.Random(name)
    for number, row in enumerate(DATA[name]):
        row["site"] = SITES({"number": number}, source)
for place, row in enumerate(DATA["steep"]):  # a predictor far above 1 + log of the largest count
    if place % 10 == 9:
        row["a"], row["y"] = 12.0, poisson(2, random.Random(place))

# ---- what fedplt is asked ----

LINEAR = ["coefficient", "std_error", "t", "p", "low", "high"]
LINEAR_FIT = ["sigma", "r2", "adjusted_r2", "f", "f_p", "log_likelihood", "aic", "bic", "rows"]
WALD = ["coefficient", "std_error", "p", "low", "high"]
GAMMA_FIT = ["log_likelihood", "aic", "bic", "rows", "f", "f_p", "dispersion"]
WALD_FIT = ["log_likelihood", "aic", "bic", "rows", "chi_squared", "chi_p"]


class Case:
    def __init__(self, data, columns, loss, lines, fit, robust=False, weight=None, rows=None, ratio=None,
                 intercept=True, more=None, ties=None, reference=None, formula=None, sites=False, only=None,
                 penalised=False, points=None, tolerance=TOLERANCE):
        self.points, self.tolerance = points, tolerance
        self.formula, self.sites, self.only, self.penalised = formula, sites, only, penalised
        self.data, self.columns, self.loss, self.lines, self.fit = data, columns, loss, lines, fit
        self.robust, self.weight, self.rows, self.ratio = robust, weight, rows, ratio
        self.intercept, self.more, self.ties, self.reference = intercept, more, ties, reference

    def write(self, folder):
        """The columns of the case, the label last."""
        rows = [dict(row) for row in DATA[self.data][:self.rows]]
        for row in rows:
            row.update(self.more(row) if self.more else {})
            if self.loss == "cox":
                row["event"] = ["no", "yes"][row["event"]]
        with open(folder / "d.csv", "w", newline="") as file:
            out = csv.DictWriter(file, self.columns, extrasaction="ignore")
            out.writeheader()
            out.writerows(rows)

    def schema(self, folder):
        """Survival times and offsets need one."""
        types = {"ward": "{type: person, most: 100}", "site": "{type: site, names: [s0, s1, s2]}", "time": "{type: time, bounds: 0.5..10000}",
                 "event": "{type: event, classes: [no, yes]}", "w": "{type: weight, bounds: 0.1..10}",
                 "o": "{type: offset, bounds: -5..5}", "y": "{type: label, bounds: 0..1000}"}
        if self.loss != "cox" and "o" not in self.columns:
            return []
        types["n"] = types["y"]
        (folder / "s.yaml").write_text("columns:\n" + "".join(
            f"  {name}: {types.get(name, '{type: number, bounds: -100..100}')}\n" for name in self.columns))
        return ["--schema", "s.yaml"]

    def train(self, folder):
        schema = self.schema(folder)
        words = ["train", "--data", "d.csv", "--out", "out", "--pictures", "no", "--quiet", "--loss", self.loss,
                 "--eps", "0.05", *([] if self.penalised else ["--rounds", "2"]), "--weights", "rows", *schema]
        if self.formula:
            words += ["--formula", self.formula, "--standardise", "yes" if self.intercept else "no"]
        elif not schema:
            words += ["--label", self.columns[-1], "--standardise", "yes" if self.intercept else "no"]
            words += ["--categories", "auto"] if {"k", "s"} & set(self.columns) else []
        if self.weight and not schema:
            words += ["--row-weight", self.weight]
        if self.loss != "cox" and not self.formula:
            words += ["--intercept", "yes" if self.intercept else "no"]
        if self.ties:
            words += ["--ties", self.ties]
        if self.sites:
            words += ["--site-effects", "fixed"]
        if self.loss.startswith("mixed"):
            words += ["--random-intercept", "ward"]
        if self.points:
            words += ["--quadrature-points", str(self.points)]
        if self.loss in ("least-squares", "poisson", "gamma", "negative-binomial", "mixed-poisson", "mixed-linear") and not schema:
            words += ["--task", "regression"]
        run(folder, *words)

    def answer(self, folder):
        self.write(folder)
        self.train(folder)
        told = json.loads(run(folder, "summary", "out/model.json", "d.csv", "--json",
                              *([] if self.penalised else ["--refit"]),
                              *(["--robust"] if self.robust else []),
                              *(["--reference", self.reference] if self.reference else [])).stdout)
        lines = [line for line in told["coefficients"] if line["coefficient"] is not None and
                 (self.only is None or line["name"] in self.only)]
        lines = lines if self.loss == "softmax" else sorted(lines, key=lambda l: l["name"] != "(intercept)")
        extra = [line for line in lines if line["name"] == "(theta)"]  # an estimate and its error, and no test
        lines = [line for line in lines if line["name"] != "(theta)"]
        deviations = [line for line in lines if line["name"].endswith(" sd)")]
        lines = [line for line in lines if line not in deviations and line["name"] != "(icc)"]
        found = {name: [line[name] for line in lines] for name in self.lines}
        for line in extra:
            found.update(theta=[line["coefficient"]], theta_error=[line["std_error"]])
        if deviations:
            found["sd"] = [line["coefficient"] for line in deviations]
        found.update({name: [told["fit"][name]] for name in self.fit})
        if self.ratio:
            found["ratio"] = [line[self.ratio] for line in lines if line[self.ratio] is not None]
        found["names"] = [line["name"] for line in lines]
        return found


class Judged:
    """A model whose linear predictor is one column of the data."""
    def __init__(self, columns, loss, measures, shared=()):
        self.columns, self.loss, self.measures, self.shared = columns, loss, measures, shared

    def answer(self, folder):
        Case("judged", self.columns, self.loss, [], []).write(folder)
        run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no", "--quiet", "--loss", self.loss,
            "--label", self.columns[-1], "--row-weight", "w", "--rounds", "2", "--standardise", "no",
            *([] if self.loss in ("logistic", "probit", "ordinal") else ["--task", "regression"]), "--intercept", "yes")
        model = json.loads((folder / "out/model.json").read_text())
        model["weights"][:2] = [1.0, 0.0]
        model["weights"][2:] = [math.log(size) for size in self.shared]
        (folder / "m.json").write_text(json.dumps(model))
        told = json.loads(run(folder, "evaluate", "m.json", "d.csv", "--json").stdout)
        assert told["weighted"] is True
        return {name: [told["all"][name]] for name in self.measures}


def least_squares(columns, robust=False, **more):
    return Case("numbers", columns + ["y"], "least-squares", WALD if robust else LINEAR,
                [] if robust else LINEAR_FIT, robust, **more)


def logistic(columns, robust=False, **more):
    return Case("classes", columns + ["y"], "logistic", WALD, [] if robust else WALD_FIT, robust,
                ratio=None if robust else "odds_ratio", **more)


def counts(columns, robust=False, data="counts", **more):
    return Case(data, columns + ["y"], "poisson", WALD, [] if robust else WALD_FIT, robust,
                ratio=None if robust else "rate_ratio", **more)


def amounts(columns, robust=False, **more):
    return Case("amounts", columns + ["y"], "gamma", WALD, [] if robust else GAMMA_FIT, robust,
                ratio=None if robust else "mean_ratio", **more)


def probit(columns, robust=False, **more):
    return Case("classes", columns + ["y"], "probit", WALD, [] if robust else WALD_FIT, robust, **more)


def episodes(columns, robust=False, **more):
    return Case("episodes", columns + ["y"], "negative-binomial", WALD, [] if robust else WALD_FIT, robust,
                ratio=None if robust else "rate_ratio", **more)


def grades(columns, robust=False, **more):
    return Case("grades", columns + ["y"], "ordinal", WALD, [] if robust else WALD_FIT, robust,
                ratio=None if robust else "odds_ratio", **more)


def mixed(columns, loss, fit=(), **more):
    """glmer and lmer stop where steps no longer help, so that their last digits are not those of the maximum."""
    return Case("wards", ["site", "ward", *columns], f"mixed-{loss}", WALD, list(fit), tolerance=1e-5, **more)


def survival(columns, ties, robust=False, **more):
    return Case("times", columns + ["time", "event"], "cox", WALD, [] if robust else WALD_FIT + ["events"], robust,
                ratio="hazard_ratio", ties=ties, **more)


CASES = {
    "least squares": least_squares(["a", "b", "c"]),
    "least squares, weighted": least_squares(["a", "b", "c", "w"], weight="w"),
    "least squares, weights times 100": least_squares(["a", "b", "c", "w"], weight="w",
                                                      more=lambda row: {"w": 100 * row["w"]}),
    "least squares without an intercept": least_squares(["a", "b", "c"], intercept=False),
    "least squares, collinear and constant columns": least_squares(
        ["a", "b", "c", "d", "e"], more=lambda row: {"d": row["a"] - 2 * row["b"], "e": 3}),
    "least squares, a category": least_squares(["a", "k"]),
    "least squares on six rows": least_squares(["a", "b"], rows=6),
    "least squares, robust": least_squares(["a", "b", "c"], robust=True),
    "least squares, weighted, robust": least_squares(["a", "b", "c", "w"], weight="w", robust=True),
    "logistic": logistic(["a", "b", "c"]),
    "logistic, whole weights": logistic(["a", "b", "c", "w"], weight="w"),
    "logistic without an intercept": logistic(["a", "b", "c"], intercept=False),
    "logistic, two categories": logistic(["a", "k", "s"]),
    "logistic, another reference": logistic(["a", "k", "s"], reference="k=z"),
    "logistic, collinear column": logistic(["a", "b", "c", "d"], more=lambda row: {"d": row["a"] + row["b"]}),
    "logistic, robust": logistic(["a", "b", "c"], robust=True),
    "logistic, formula": logistic(["a", "b", "c", "k", "w"], formula="y ~ a * k + poly(c, 2) + C(w)"),
    "logistic, formula without main effects": logistic(["a", "k", "s"], formula="y ~ a:k + k:s"),
    "logistic, formula without an intercept": logistic(["a", "k", "s"], formula="y ~ k + s + a:s - 1", intercept=False),
    "least squares, formula of powers": least_squares(["a", "b", "c"], formula="y ~ (a + b + c)^3 - a:b:c + I(a^3) + log(c)"),
    "least squares, formula with a dot": least_squares(["a", "b", "k"], formula="y ~ . + poly(a, 3, raw = TRUE):b"),
    "least squares, polynomial of degree 5": least_squares(["c"], formula="y ~ poly(c, 5)"),
    "Poisson, formula": counts(["a", "b"], formula="y ~ a * b + I(b^2)"),
    "logistic, effects of sites": logistic(["site", "a", "b", "c"], sites=True),
    "logistic, formula and effects of sites": logistic(["site", "a", "k"], formula="y ~ a * k", sites=True),
    "least squares, effects of sites": least_squares(["site", "a", "b"], sites=True),
    "Poisson": counts(["a", "b"]),
    "Poisson, weighted": counts(["a", "b", "w"], weight="w"),
    "Poisson, offset": counts(["a", "b", "o"]),
    "Poisson, robust": counts(["a", "b"], robust=True),
    "Poisson, predictor past the largest count": counts(["a", "b"], data="steep"),
    "gamma": amounts(["a", "b"]),
    "gamma, weighted": amounts(["a", "b", "w"], weight="w"),
    "gamma, offset": amounts(["a", "b", "o"]),
    "gamma, formula": amounts(["a", "b", "k"], formula="y ~ a * k + I(b^2)"),
    "gamma, amounts times 1e6": amounts(["a", "b"], more=lambda row: {"y": 1e6 * row["y"]}),
    "gamma, robust": amounts(["a", "b"], robust=True),
    "probit": probit(["a", "b", "c"]),
    "probit, whole weights": probit(["a", "b", "c", "w"], weight="w"),
    "probit, two categories": probit(["a", "k", "s"]),
    "probit, robust": probit(["a", "b", "c"], robust=True),
    "ridge": Case("numbers", ["a", "b", "c", "y"], "least-squares", ["coefficient"], [], penalised=True),
    "effects of sites in a balanced design": Case("balanced", ["site", "a", "y"], "least-squares", ["coefficient", "std_error", "t"], [],
                                                  sites=True, only=["a"]),
    "negative binomial": episodes(["a", "b"]),
    "negative binomial, whole weights": episodes(["a", "b", "w"], weight="w"),
    "negative binomial, offset": episodes(["a", "b", "o"]),
    "negative binomial, robust": episodes(["a", "b"], robust=True),
    "ordinal": grades(["a", "b"]),
    "ordinal, whole weights": grades(["a", "b", "w"], weight="w"),
    "ordinal, a category": grades(["a", "k"]),
    "ordinal, robust": grades(["a", "b"], robust=True),
    "random intercept, logistic": mixed(["a", "b", "y"], "logistic", ["log_likelihood", "aic", "rows"], ratio="odds_ratio"),
    "random intercept, logistic, Laplace": mixed(["a", "b", "y"], "logistic", ["log_likelihood", "aic", "rows"], points=1),
    "random intercept, logistic, 25 nodes": mixed(["a", "b", "y"], "logistic", ["log_likelihood", "aic", "rows"], points=25),
    "random intercept, Poisson": mixed(["a", "b", "n"], "poisson", ratio="rate_ratio"),
    "random intercept, Poisson, Laplace": mixed(["a", "b", "n"], "poisson", ["log_likelihood", "aic", "rows"], points=1),
    "random intercept, Poisson, offset": mixed(["a", "b", "o", "n"], "poisson"),
    "random intercept, linear": mixed(["a", "b", "v"], "linear", ["log_likelihood", "aic", "bic", "rows"]),
    "random intercept, linear, singular": mixed(["a", "b", "u"], "linear", ["log_likelihood", "aic", "bic", "rows"]),
    "multinomial": Case("kinds", ["a", "b", "y"], "softmax", WALD, []),
    "evaluate, weighted regression": Judged(["p", "w", "y"], "least-squares", ["rmse", "r2", "loss"]),
    "evaluate, weighted classes": Judged(
        ["m", "w", "z"], "logistic", ["loss", "accuracy", "brier", "precision", "recall", "f1", "auc"]),
    "evaluate, weighted amounts": Judged(["m", "w", "g"], "gamma", ["loss", "deviance"]),
    "evaluate, weighted classes by probit": Judged(["m", "w", "z"], "probit", ["loss", "brier"]),
    "evaluate, weighted counts": Judged(["m", "w", "n"], "poisson", ["loss", "deviance"]),
    "evaluate, weighted negative binomial counts": Judged(
        ["m", "w", "n"], "negative-binomial", ["loss", "deviance"], shared=[1.7]),
}
for ties in "breslow", "efron":
    CASES[f"Cox, {ties}"] = survival(["a", "b"], ties)
    CASES[f"Cox, formula, strata, {ties}"] = survival(["site", "a", "b"], ties, formula="~ a + poly(b, 2) + a:b", intercept=False)
    CASES[f"Cox, strata, {ties}"] = survival(["site", "a", "b"], ties)
    CASES[f"Cox, weighted, {ties}"] = survival(["a", "b", "w"], ties)
    CASES[f"Cox, robust, {ties}"] = survival(["a", "b"], ties, robust=True)
    CASES[f"Cox, weighted, strata, robust, {ties}"] = survival(["site", "a", "b", "w"], ties, robust=True)

# ---- comparing ----


def run(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done


def ask_r():
    with tempfile.TemporaryDirectory(prefix="fedplt-comparison-") as name:
        for data, rows in DATA.items():
            with open(pathlib.Path(name) / f"{data}.csv", "w", newline="") as file:
                out = csv.DictWriter(file, list(rows[0]))
                out.writeheader()
                out.writerows(rows)
        done = subprocess.run(["Rscript", "--vanilla", HERE / "comparison.R", name], text=True, capture_output=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def difference(quantity, mine, theirs):
    """The largest, relative to the number; a p-value below 0.001 is measured by its logarithm, which is as accurate as
    the statistic behind it."""
    assert len(mine) == len(theirs), (mine, theirs)
    if quantity in ("p", "chi_p", "f_p"):
        mine, theirs = ([math.log(x) if y < 1e-3 else x for x, y in zip(values, theirs)] for values in (mine, theirs))
    return max(0.0 if x == y else abs(x - y) / max(abs(y), 1e-300) for x, y in zip(mine, theirs))


def spelled(name):
    """A coefficient as fedplt names it: R joins a category and its level."""
    if name == "(Intercept)":
        return "(intercept)"
    if name.startswith("site"):
        return name.replace("site", "site=")
    if ":" in name:
        return ":".join(map(spelled, name.split(":")))
    if name.startswith("factor("):
        return name[len("factor("):].replace(")", "=")
    return f"{name[0]}={name[1:]}" if name[0] in "ks" and len(name) > 1 and "(" not in name else name


def compare(name, theirs):
    """{quantity: (numbers, largest difference)}"""
    with tempfile.TemporaryDirectory(prefix="fedplt-comparison-") as folder:
        mine = CASES[name].answer(pathlib.Path(folder))
    if "names" in theirs:
        assert mine.pop("names") == [spelled(found) for found in theirs["names"]], theirs["names"]
    return {quantity: (len(values), difference(quantity, values, theirs[quantity])) for quantity, values in mine.items()}


def tell(golden):
    failed, results = 0, {}
    print(f"1..{len(CASES)}")
    for number, name in enumerate(CASES, 1):
        try:
            results[name] = compare(name, golden[name])
            wrong = [f"{quantity} differs by {gap:.2g}" for quantity, (_, gap) in results[name].items()
                     if not gap <= getattr(CASES[name], "tolerance", TOLERANCE)]
        except (AssertionError, KeyError, TypeError) as problem:
            wrong = [f"{type(problem).__name__}: {problem}"]
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong:
            print("# " + line.replace("\n", " "))
    return failed, results


def page(results):
    lines = ["# Comparison with R", "",
             "`fedplt summary --refit` and `fedplt evaluate` compute the numbers of `lm`, `glm`, `coxph` (package",
             "survival), `lm.ridge`, `glm.nb`, `polr` (MASS) and `lmer` (lme4) from sums over the sites. This table is written by `tests/oracle/comparison.py PROGRAM --write`",
             "with R 4.2; `make check` compares every number again with R's, which are in `tests/golden/comparison.json`,",
             f"and fails where one differs by more than {TOLERANCE:g} of itself (random intercepts: 1e-05).", "",
             "| case | quantity | numbers | largest relative difference |", "|---|---|---|---|"]
    count = total = 0
    for name, found in results.items():
        for quantity, (numbers, gap) in found.items():
            count, total = count + 1, total + numbers
            lines.append(f"| {name} | {quantity.replace('_', ' ')} | {numbers} | {gap:.0e} |" if gap else
                         f"| {name} | {quantity.replace('_', ' ')} | {numbers} | 0 |")
    lines += ["", f"{count} comparisons of {total} numbers in {len(results)} cases.", "",
              "What is compared: coefficients, standard errors, t or z with their p-values and 95 % intervals; odds, rate, mean",
              "and hazard ratios; the dispersion of gamma (Pearson), theta of the negative binomial with its error, thresholds between",
              "ordered classes; log-likelihood, AIC, BIC (with survival times counted by events, as R does);",
              "likelihood-ratio and F tests; R-squared; weighted measures of predictions. Robust errors are HC0, without a",
              "factor for small samples, with least squares by Student's distribution; those of Cox regression are R's",
              "`robust = TRUE`, which R chooses by itself where weights are not whole numbers. Several classes are compared with the first one; R's numbers are those of the",
              "equivalent log-linear model. The ridge is the model itself, with standardised columns and `lambda` = eps x rows in `lm.ridge`.",
              "Fixed effects of sites are those of `lmer(y ~ a + (1 | site))` where every site has the same values of the column.",
              "Random intercepts are those of `glmer` with the same number of nodes and of `lmer(REML = FALSE)`, taken further by Newton steps",
              "on lme4's own deviance; errors of `glmer` are those of its Hessian, by differences.",
              "Negative binomial and ordinal models are fitted by `glm.nb` and `polr` (package MASS), whose",
              "estimates are then improved by Newton steps with the derivatives written out, because both stop early and `polr` takes its",
              "errors from differences. Errors condition on theta as in `glm.nb`; robust errors do not. Likelihood-ratio tests fit theta",
              "again in the null model.", "", "Next: [clinical use](clinical.md)."]
    return "\n".join(lines) + "\n"


def main():
    if "--r" in sys.argv or "--write" in sys.argv:
        if not shutil.which("Rscript"):
            print("1..0 # SKIP Rscript is not installed (r-base-core, r-cran-survival)")
            return 0
        made = ask_r()
        if "--write" in sys.argv:
            GOLDEN.write_text(json.dumps(made, indent=1) + "\n")
            failed, results = tell(made)
            if not failed:
                PAGE.write_text(page(results))
            return failed > 0
        golden = json.loads(GOLDEN.read_text())
        same = {name: made.get(name) == golden.get(name) or all(
            quantity == "names" or difference(quantity, values, golden[name][quantity]) < max(
                1e-9, getattr(CASES[name], "tolerance", TOLERANCE) / 10)
            for quantity, values in made[name].items()) for name in golden if name in made}
        for name in sorted(set(golden) - set(made)):
            print(f"# skipped: {name}: R has no package for it (r-cran-mass, r-cran-lme4; tools/setup long)")
        print("1..1\n" + ("ok" if all(same.values()) else "not ok") + " 1 - the golden numbers are R's")
        print("".join(f"# {name}\n" for name, good in same.items() if not good), end="")
        return 0 if all(same.values()) else 1
    return tell(json.loads(GOLDEN.read_text()))[0] > 0


if __name__ == "__main__":
    sys.exit(main())
