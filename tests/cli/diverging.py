#!/usr/bin/python3
"""What is said where a run diverges: each sentence by a real run, and its advice, followed, helps. Speaks TAP.

usage: tests/cli/diverging.py PROGRAM
Run from the root of the source tree.
"""
import re
import sys

from cli import CASES, case, main

CASES.clear()

SMALL = {"agents": 5, "rows": 30, "pictures": "no"}
CURVED = {**SMALL, "generator": "quadratic"}


def words(settings):
    return [word for name, value in settings.items() for word in (f"--{name}", value)]


def advised(place, settings, says):
    """The run diverges and says so; what it says to try, each alone, as settings."""
    told = place.run("train", *words(settings), status=1).stderr
    assert told.startswith("fedplt: diverged in round ") and says in told, (settings, told)
    found = []
    for tip in re.search(r"[;:] try (.*)", told).group(1).split(", or "):
        other = dict(settings)
        for part in tip.split(" and "):
            if ": " in part:
                other[part.split(": ")[0]] = part.split(": ")[1]
            elif part in ("fewer epochs", "more epochs"):
                other["epochs"] = 1 if part == "fewer epochs" else 10 * int(settings.get("epochs", 5))
            else:
                raise AssertionError(f"advice that this test cannot follow: {part!r}")
        found.append(other)
    return found


def helps(place, settings, says):
    followed = advised(place, settings, says)
    assert followed
    for other in followed:
        text = place.run("train", *words(other), "--rounds", 20000).stdout
        assert ": converged after " in text, (other, text.splitlines()[0])


@case
def a_step_beyond_an_agents_limit(place):
    for algorithm in ("fed-plt", "fedlin", "scaffold", "led", "fedpd"):
        helps(place, {**SMALL, "algorithm": algorithm, "gamma": 100},
              "gamma is 100, but the local steps of agent 0 contract only below ")


@case
def a_parameter_that_was_given(place):
    for algorithm, name, value in (("fedsplit", "rho", 100), ("led", "beta", 30), ("scaffold", "coordinator-step", 30),
                                   ("5gcs", "coordinator-step", 50)):
        helps(place, {**CURVED, "algorithm": algorithm, name: value}, f"): {name} is {value}; try {name}: ")


@case
def steps_that_contract_alone_but_not_together(place):
    """Nothing is said of parameters that are automatic."""
    settings = {**CURVED, "algorithm": "fedlin", "gamma": 0.19, "epochs": 100}
    helps(place, settings, "): try fewer epochs, or gamma: auto\n")


@case
def costs_too_large_to_be_added_up(place):
    """Labels of 1e12 in other units are fitted."""
    rows = [f"{i % 7 - 3},{(i % 7 - 3) * 2 + i % 3}" for i in range(40)]
    for scale, status in ((10 ** 12, 1), (1, 0)):
        place.write("d.csv", "x,label\n" + "\n".join(
            f"{x},{int(y) * scale}.5" for x, y in (row.split(",") for row in rows)) + "\n")
        done = place.run("train", "--data", "d.csv", "--task", "regression", "--pictures", "no", status=status)
        if status:
            assert "too large to be added up exactly" in done.stderr and "give labels or rows in larger units" in \
                done.stderr, done.stderr
        else:
            assert ": converged after " in done.stdout, done.stdout


if __name__ == "__main__":
    sys.exit(main())
