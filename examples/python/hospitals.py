#!/usr/bin/python3
"""Four hospitals publish one table of odds ratios, and no row leaves its hospital.

usage: PYTHONPATH=build/python python3 examples/python/hospitals.py [heart.csv]

The file has columns for what was measured, `label` (0 or 1) and `site`; without one, patients are drawn."""
import sys
import warnings

import numpy as np
import pandas

import fedplt


def patients(count=600, seed=1):
    """Four hospitals of unequal size with unlike patients."""
    random = np.random.default_rng(seed)
    site = random.choice(["basel", "chur", "davos", "zug"], count, p=[0.4, 0.3, 0.2, 0.1])
    older = pandas.Series(site).map({"basel": 0, "chur": 4, "davos": 8, "zug": -5}).to_numpy()
    frame = pandas.DataFrame({"age": random.normal(58, 9, count) + older,
                              "pressure": random.normal(135, 18, count),
                              "smoker": random.integers(0, 2, count)})
    risk = 0.05 * (frame["age"] - 60) + 0.015 * (frame["pressure"] - 135) + 0.7 * frame["smoker"] - 0.8
    frame["label"] = (risk + random.logistic(size=count) > 0).astype(int)
    frame["site"] = site
    return frame


def main():
    frame = pandas.read_csv(sys.argv[1]) if len(sys.argv) > 1 else patients()
    sites, y = frame.pop("site"), frame.pop("label")
    warnings.simplefilter("ignore")  # summary says where a ridge shrinks; here there is none

    # without a penalty and with every row counted once: the table of the pooled rows
    fitted = fedplt.FedPLTClassifier(alpha=0, settings={"standardise": "yes"}).fit(frame, y, sites)
    print(f"{len(y)} patients at {', '.join(fitted.sites_)}: {fitted.message_}")
    columns = ["name", "odds_ratio", "ratio_low", "ratio_high", "p"]
    print(fitted.summary()[columns].to_string(index=False, float_format="%.3g"))

    alone = {site: fedplt.FedPLTClassifier(0.01, settings={"standardise": "yes"}).fit(frame[sites == site],
                                                                                       y[sites == site])
             for site in fitted.sites_}
    print("\naccuracy on all patients: together %.3f" % fitted.score(frame, y),
          *(f"{site} alone {one.score(frame, y):.3f}" for site, one in alone.items()), sep=", ")

    # the same promise to every patient: bounds from knowledge, not from the rows
    bounds = pandas.DataFrame({"centre": [60, 135, 0.5], "scale": [30, 60, 1]}, index=frame.columns)
    scaled = (frame - bounds["centre"]) / bounds["scale"]
    promise = fedplt.Privacy(epsilon=3, rows=1.2, classes=[0, 1])
    private = fedplt.FedPLTClassifier(0.001, privacy=promise).fit(scaled, y, sites)
    print(f"\nwith privacy (epsilon 3): accuracy {private.score(scaled, y):.3f};",
          fedplt.privacy.verify(private))


main()
