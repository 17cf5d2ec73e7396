#!/usr/bin/python3
"""Your own algorithm in Python: FedAvg with momentum at the coordinator, beside the library's methods, and driven
by hand as hub and nodes.

usage: PYTHONPATH=build/python python3 examples/python/own_algorithm.py"""
import numpy as np

import fedplt


class FedAvgM(fedplt.Algorithm):
    """x and the velocity are the coordinator's two vectors: velocity <- momentum velocity + mean(w) - x, x <- x + velocity."""

    name, parameters, vectors = "fedavg-m", {"momentum": 0.7}, 2

    def local(self, agent, round, x):
        return agent.minimise(x)

    def absorb(self, hub, round, sum):
        x, velocity = hub.vectors
        velocity *= hub.parameter["momentum"]
        velocity += sum / round.active - x
        x += velocity


def rows(seed, count=60):
    """A site: its columns are shifted, so that sites are unlike."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 5)) + random.normal(size=5)
    return X, (X @ [1, -1, 0.5, 0, 2] + random.logistic(size=count) > 0).astype(int)


def by_compare(sites):
    X, y = (np.concatenate(part) for part in zip(*sites))
    labels = np.repeat(np.arange(len(sites)), [len(y) for _, y in sites])
    found = fedplt.compare(["fedavg", FedAvgM(momentum=0.7), "scaffold", "fed-plt"], runs=1, X=X, y=y, sites=labels,
                           epochs=1, eps=0.01, intercept=False, rounds=2000, tolerance=1e-6)
    print(found.table[["algorithm", "rounds", "gradients", "vectors", "failures"]].to_string(index=False))


def by_hand(sites, rounds=30):
    """Hub and nodes; over a network every message is bytes."""
    plan = fedplt.Plan(FedAvgM(), len(sites), 5, lmin=0.01, lmax=20.0, epochs=3)
    words = bytes(plan)  # to each site, which has the class too
    hub = fedplt.Hub(plan)
    nodes = [fedplt.Node(fedplt.Plan.decode(words, FedAvgM()), fedplt.Dataset(X, y, task="binary"), number, epochs=3)
             for number, (X, y) in enumerate(sites)]
    for number in range(rounds):
        question = hub.ask(number)
        for node in nodes:
            hub.receive(node.train(question))
        finish = hub.absorb()
        for node in nodes:
            node.accept(finish)
    print("by hub and nodes:", hub.model().round(3))


if __name__ == "__main__":
    sites = [rows(seed) for seed in range(4)]
    by_compare(sites)
    by_hand(sites)
