#!/usr/bin/python3
"""What surprised people on their second day, each as a run of the real program. Speaks TAP.

usage: tests/cli/surprises.py PROGRAM
Run from the root of the source tree.
"""
import re
import sys

from cli import ROOT, CASES, case, main

CASES.clear()


@case
def repeated_list_flags_add_up_and_replace_the_file(place):
    for name, seed in (("a.csv", 1), ("b.csv", 2), ("c.csv", 3)):
        place.run("data", "generate", name, "--agents", 1, "--rows", 20, "--seed", seed)
    place.write("two.yaml", "data: [c.csv, c.csv]\npictures: no\n")
    for words in (["--data", "a.csv", "--data", "b.csv"], ["--data", "a.csv,b.csv"],
                  ["--data=a.csv", "--data=b.csv"]):
        text = place.run("train", "two.yaml", *words, "--site", "none").stdout
        assert "on 2 agents, 40 rows" in text, text
    weights = [re.search(r'"weights": \[(.*?)\]', (place.folder / "fedplt-out/model.json").read_text(),
                         re.S).group(1)]
    place.run("train", "two.yaml", "--data", "a.csv", "--data", "b.csv", "--site", "none")
    assert weights[0] in (place.folder / "fedplt-out/model.json").read_text()
    assert "repeated" in place.run("train", "--help").stdout


@case
def a_setting_without_effect_says_what_it_belongs_to(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    for words, says in (
            (["--active", 3], "--active: active has no effect without participation fixed or round-robin"),
            (["--trace", "t.csv"], "without participation trace, but participation is all"),
            (["--tau", 1], "without solver noisy or noisy-accelerated"),
            (["--batch", 8], "without solver sgd, svrg or accelerated-sgd"),
            (["--h-weight", 2], "without h l1, l2-squared, elastic-net or group-lasso, but h is zero"),
            (["--alpha", 2], "without partition skewed"),
            (["--data", "g.csv", "--rows", 5], "rows has no effect beside data (--data)"),
            (["--data", "g.csv", "--generator", "iid"], "generator has no effect beside data"),
            (["--label", "b"], "label has no effect without data: give data too"),
            (["--solver", "newton", "--gamma", 1], "gamma has no effect without solver gradient"),
            (["--algorithm", "fed-newton", "--epochs", 2], "but algorithm is fed-newton"),
            (["--regulariser", "none", "--eps", 1], "eps has no effect without regulariser ridge"),
            (["--checkpoint-every", 5], "checkpoint-every has no effect without checkpoint"),
            (["--privacy.delta", 1e-6], "without privacy.epsilon, or privacy.tau"),
            (["--start-scale", 2], "without start random, but start is zero")):
        place.refuses("train", *words, says=says)
    place.refuses("compare", "--points", 5, says="points has no effect without tune yes")
    place.refuses("tune", "--tune-rounds", 5, says="without by experiment or both, but by is theory")
    place.refuses("data", "inspect", "g.csv", "--data", "g.csv", says="takes its files without a flag")


@case
def flags_overrule_a_file_with_all_that_hangs_on_it(place):
    place.run("data", "generate", "g.csv", "--agents", 3, "--rows", 20)
    quick = ["--rounds", 2, "--pictures", "no"]
    place.write("half.yaml", "participation: fixed\nactive: 2\nalgorithm: fed-plt\nrho: 1\nrows: 9\n")
    place.run("train", "half.yaml", "--participation", "all", *quick)
    assert "FedAvg" in place.run("train", "half.yaml", "--algorithm", "fedavg", *quick).stdout
    assert "60 rows" in place.run("train", "half.yaml", "--data", "g.csv", *quick).stdout
    place.refuses("train", "half.yaml", "--algorithm", "fedavg", "--rho", 2,
                  says="rho is a setting of the algorithm fed-plt")
    place.refuses("train", "half.yaml", "--active-share", 0.5,
                  says=["--active-share: ", "without participation bernoulli", "participation is fixed"])
    place.write("bad.yaml", "active: 2\n")
    place.refuses("train", "bad.yaml", says="bad.yaml:1: active has no effect without participation")


@case
def an_example_that_needs_data_says_so(place):
    needing = 0
    for example in sorted((ROOT / "examples").glob("*.yaml")):
        if ".schema." in example.name:
            continue
        if "--data" in example.read_text():
            place.refuses("train", example, says="has no effect without data: give data too")
            needing += 1
        else:
            place.run("train", example, "--rounds", 2, "--pictures", "no")
    assert needing == 2, needing


if __name__ == "__main__":
    sys.exit(main())
