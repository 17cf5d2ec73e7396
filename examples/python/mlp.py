#!/usr/bin/python3
"""A small network of torch trained by Fed-PLT and by FedAvg, side by side.

usage: PYTHONPATH=build/python python3 examples/python/mlp.py [ROUNDS]

Each of four sites sees other parts of two spirals; the library draws the minibatches."""
import sys

import numpy as np
import pandas
import torch

import fedplt


def spirals(random, count, low, high):
    """Points of both arms whose angle lies between two bounds: what one site sees."""
    angle, arm = random.uniform(low, high, count), random.integers(0, 2, count)
    X = np.column_stack([angle * np.cos(angle + np.pi * arm), angle * np.sin(angle + np.pi * arm)]) / 4
    return torch.tensor(X + random.normal(scale=0.05, size=X.shape), dtype=torch.float32), torch.tensor(arm)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    torch.manual_seed(0)
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    module = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16),
                                 torch.nn.Tanh(), torch.nn.Linear(16, 2))
    sites = [fedplt.torch.Site(module, torch.nn.functional.cross_entropy, *spirals(random, 100, low, low + 2.5),
                               alpha=1e-4) for low in (0.5, 1, 1.5, 2)]
    costs = fedplt.Costs(sites, start=sites[0].start())
    common = dict(start=sites[0].start(), solver="sgd", batch=25, epochs=8, gamma=0.2, rounds=rounds, tolerance=0,
                  eval_every=max(rounds // 5, 1))
    for algorithm, more in (("fed-plt", {"rho": 5}), ("fedavg", {})):
        run = fedplt.minimise(costs, algorithm=algorithm, **common, **more)
        print(f"\n{algorithm}")
        shown = pandas.DataFrame(run.history)[["round", "objective", "accuracy"]]
        print(shown.to_string(index=False, float_format="%.3f"))


main()
