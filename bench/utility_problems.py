"""Problems for bench/utility.py: generated federations of known law, and the public files in ../shared/data.

A problem is a dictionary: `rows` and `labels` to train on, `held` and `truth` to measure on, `sites` (rows of each site),
`inputs` (columns of the schema: a category counts once), `number` (which columns are numbers, scaled to -1..1 of their
declared bounds; the others are indicators of levels), and `loss`.
"""
import pathlib

import numpy as np

# name: sites, rows a site, numbers, levels of each category, share of the bounds that a column's deviation fills,
# strength of the signal, share of the common factor, balance of the labels, unequal sites
GENERATED = {
    "small-4": (4, 60, 4, (), 0.4, 2.0, 0.0, 0.0, False),
    "narrow-4": (4, 200, 8, (), 0.15, 2.0, 0.0, 0.0, False),
    "wide-bounds-5": (5, 300, 10, (), 0.08, 3.0, 0.2, 0.0, False),
    "levels-4": (4, 230, 5, (4, 3, 3, 2, 2), 0.3, 2.0, 0.2, 0.0, True),
    "separable-6": (6, 250, 6, (), 0.5, 12.0, 0.0, 0.0, False),
    "noisy-8": (8, 400, 12, (), 0.35, 0.7, 0.0, 0.0, False),
    "rare-10": (10, 200, 8, (3,), 0.3, 2.5, 0.1, -1.5, False),
    "correlated-10": (10, 300, 20, (), 0.3, 2.0, 0.7, 0.0, False),
    "many-columns-10": (10, 300, 60, (), 0.3, 3.0, 0.2, 0.0, False),
    "one-hot-12": (12, 150, 0, (6, 5, 4, 4, 3, 3, 2, 2), 0.3, 2.0, 0.0, 0.3, False),
    "unequal-15": (15, 150, 10, (3, 2), 0.25, 2.0, 0.2, 0.0, True),
    "spread-20": (20, 120, 6, (2, 2), 0.6, 2.0, 0.0, 0.0, False),
    "thin-30": (30, 30, 8, (), 0.3, 2.5, 0.1, 0.0, False),
    "narrow-30": (30, 80, 15, (), 0.1, 2.0, 0.3, 0.5, True),
    "strong-40": (40, 100, 10, (4,), 0.35, 6.0, 0.0, 0.0, False),
    "weak-50": (50, 80, 20, (), 0.3, 1.0, 0.2, 0.0, False),
    "columns-40-60": (60, 60, 40, (3, 3), 0.25, 3.0, 0.3, 0.0, False),
    "hundred": (100, 60, 20, (), 0.33, 4.0, 0.0, 0.0, False),
    "hundred-unequal": (100, 50, 10, (4, 2), 0.2, 2.0, 0.2, -0.8, True),
    "two-hundred": (200, 25, 12, (), 0.3, 2.5, 0.2, 0.0, False),
    "four-columns-200": (200, 30, 4, (), 0.3, 2.0, 0.0, 0.0, False),
    "large-4": (4, 1500, 12, (3, 3), 0.25, 2.0, 0.2, 0.0, False),
}


def sizes(random, sites, rows, unequal):
    if not unequal:
        return np.full(sites, rows)
    share = random.lognormal(0, 0.8, sites)
    return np.maximum(5, np.round(rows * sites * share / share.sum()).astype(int))


def columns(random, count, numbers, levels, fill, common):
    """Rows in units of the bounds, and the standardised values that the labels depend on."""
    factor = random.standard_normal((count, 1))
    raw = np.sqrt(1 - common) * random.standard_normal((count, numbers)) + np.sqrt(common) * factor
    return raw, [random.integers(0, level, count) for level in levels]


def generate(name, seed=1, held=4000, loss="logistic", classes=2, strength=None):
    """`strength`: of the signal, instead of the problem's own."""
    sites, rows, numbers, levels, fill, own, common, balance, unequal = GENERATED[name]
    strength = own if strength is None else strength
    random = np.random.default_rng([seed, sorted(GENERATED).index(name)])
    counts = sizes(random, sites, rows, unequal)
    count = int(counts.sum()) + held
    raw, categories = columns(random, count, numbers, levels, fill, common)
    offset = random.uniform(-0.3, 0.3, numbers)
    deviation = fill * random.uniform(0.6, 1.4, numbers)
    x = np.clip(offset + deviation * raw, -1, 1)
    onehot = [np.eye(level)[codes] for level, codes in zip(levels, categories)]
    design = np.concatenate([raw] + [block * 2 - 0.5 for block in onehot], axis=1)
    truth = random.standard_normal((design.shape[1], classes if classes > 2 else 1))
    truth *= random.random(truth.shape[0])[:, None] < 0.7
    score = design @ truth
    score = strength * score / score.std() + balance
    if loss == "softmax":
        noise = random.gumbel(size=score.shape)
        labels = np.argmax(score + noise, axis=1)
    elif loss == "poisson":
        labels = np.minimum(random.poisson(np.exp(np.clip(0.35 * score[:, 0], -3, 2))), 10)
    elif loss == "huber":
        signal = score[:, 0] / strength
        labels = np.clip(0.35 * (signal + random.standard_normal(count) / strength), -1, 1)
    else:
        labels = np.where(random.random(count) < 1 / (1 + np.exp(-score[:, 0])), 1.0, -1.0)
    every = np.concatenate([x] + onehot, axis=1)
    return {"name": name, "rows": every[:-held], "labels": labels[:-held], "held": every[-held:],
            "truth": labels[-held:], "sites": counts, "inputs": numbers + len(levels),
            "number": np.arange(every.shape[1]) < numbers, "loss": loss, "classes": classes}


def halves(name, x, y, site_of, inputs, number, seed=1):
    """Two thirds to train on, by site."""
    random = np.random.default_rng(seed)
    keep = random.random(len(y)) < 2 / 3
    order = np.argsort(site_of[keep], kind="stable")
    counts = np.unique(site_of[keep], return_counts=True)[1]
    return {"name": name, "rows": x[keep][order], "labels": y[keep][order], "held": x[~keep], "truth": y[~keep],
            "sites": counts, "inputs": inputs, "number": number, "loss": "logistic", "classes": 2}


def libsvm(path, features, most):
    labels, rows = [], []
    for line in pathlib.Path(path).read_text().splitlines()[:most]:
        words = line.split()
        row = np.zeros(features)
        for word in words[1:]:
            index, value = word.split(":")
            row[int(index) - 1] = float(value)
        rows.append(row)
        labels.append(words[0])
    first = sorted(set(labels))[-1]
    return np.array(rows), np.where(np.array(labels) == first, 1.0, -1.0)


REAL = ("mushrooms-20", "a9a-100", "heart-wide", "heart")
SPLITS = 3  # of the heart files, whose held-out rows are few


def real(name, folder, split=1):
    """One of the public files; inputs of LIBSVM files are their columns, as the schema counts them."""
    folder = pathlib.Path(folder)
    if not name.startswith("heart"):
        which, features, most, sites = {"mushrooms-20": ("mushrooms", 112, 8124, 20), "a9a-100": ("a9a", 123, 9000, 100)}[name]
        x, y = libsvm(folder / f"libsvm_{which}" / which, features, most)
        return halves(name, x, y, np.arange(len(y)) * sites // len(y), features, np.zeros(features, bool), split)
    from reference import columns_of, encode
    schema = "bench/heart-wide.schema.yaml" if name == "heart-wide" else "examples/heart.schema.yaml"
    rows, labels, sites = encode(schema, folder / "heart_disease")
    number = []
    for _, kind, fields in columns_of(schema):
        if kind != "label":
            number += [True] if kind == "number" else [False] * len(fields["levels"].split(","))
    return halves(name, rows[:, :-1], labels, sites, 13, np.array(number), split)


def problems_of(name, loss, folder, seed=1, held=4000):
    """The problem, or its splits into rows to train on and held-out rows; `seed` and `held` of a generated one."""
    if name in GENERATED:
        return [generate(name, seed, held, loss=loss, classes=3 if loss == "softmax" else 2)]
    return [real(name, folder, split + 1) for split in range(SPLITS if name.startswith("heart") else 1)]
