#!/usr/bin/python3
"""The same round in vectorised NumPy: all 100 agents at once, 5 local epochs, by batched matmul and by einsum. Prints their
median times; the faster one is the yardstick.

Run with Debian's own python3, as `make bench` does.
"""
import time

import numpy

AGENTS, FEATURES, ROWS, EPOCHS, EPS = 100, 5, 250, 5, 0.5
random = numpy.random.default_rng(1)
means = random.standard_normal((AGENTS, 1, FEATURES))
labels = random.choice([-1.0, 1.0], (AGENTS, ROWS, 1))
rows = labels * (labels * means + random.standard_normal((AGENTS, ROWS, FEATURES)))
rho, gamma = 0.64, 0.4
x = numpy.zeros((AGENTS, FEATURES))
z = numpy.zeros((AGENTS, FEATURES))


def by_matmul(w):
    weights = -1 / (1 + numpy.exp((rows @ w[:, :, None])[:, :, 0])) / ROWS
    return (weights[:, None, :] @ rows)[:, 0, :]


def by_einsum(w):
    weights = -1 / (1 + numpy.exp(numpy.einsum("iqn,in->iq", rows, w))) / ROWS
    return numpy.einsum("iq,iqn->in", weights, rows)


def one_round(losses):
    global x, z
    y = z.mean(axis=0)
    v = 2 * y - z
    w = x
    for _ in range(EPOCHS):
        gradient = losses(w) + EPS * w
        w = w - gamma * (gradient + (w - v) / rho)
    x, z = w, z + 2 * (w - y)


assert abs(by_matmul(x + 0.1) - by_einsum(x + 0.1)).max() < 1e-14
for name, losses in (("matmul", by_matmul), ("einsum", by_einsum)):
    times = []
    for _ in range(60):
        begun = time.perf_counter()
        one_round(losses)
        times.append(time.perf_counter() - begun)
    print(f"  a round in NumPy, {name}  {sorted(times)[30] * 1e6:8.1f} us median, {min(times) * 1e6:8.1f} least")
