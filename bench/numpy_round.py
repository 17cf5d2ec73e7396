#!/usr/bin/python3
"""The same round in vectorised NumPy: all 100 agents at once, 5 local epochs. Prints its median time.

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


def one_round():
    global x, z
    y = z.mean(axis=0)
    v = 2 * y - z
    w = x
    for _ in range(EPOCHS):
        margins = numpy.einsum("iqn,in->iq", rows, w)
        weights = -1 / (1 + numpy.exp(margins)) / ROWS
        gradient = numpy.einsum("iq,iqn->in", weights, rows) + EPS * w
        w = w - gamma * (gradient + (w - v) / rho)
    x, z = w, z + 2 * (w - y)


times = []
for _ in range(60):
    begun = time.perf_counter()
    one_round()
    times.append(time.perf_counter() - begun)
print(f"  a round in NumPy     {sorted(times)[30] * 1e6:8.1f} us")
