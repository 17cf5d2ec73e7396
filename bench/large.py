"""Large models over the network: a federation of agents on loopback with a custom cost of n parameters. Shows the bytes
of memory and of messages for one number of the model, and how far the model is from that of the exact encoding.

usage: bench/large.py [N [AGENTS [ROUNDS [ENCODING...]]]]     (10000000 10 3 exact)
PYTHONPATH names the folder of the Python package (build/python)."""
import json
import multiprocessing
import pathlib
import re
import resource
import sys
import tempfile
import time
import urllib.request

import numpy as np

import fedplt
from fedplt import federation

DIGEST = "1a" * 32


class Centre:
    """Half the sum of w (x - a)^2, where a is sin(index + agent) and w runs from 0.1 to 1: computed in pieces, so that the
    cost holds no vector."""
    name, version, digest, records, curvature = "centre", "1.0", DIGEST, 1, (0.1, 1.0)
    PIECE = 1 << 16

    def __init__(self, agent, dimension):
        self.agent, self.dimension = agent, dimension

    def value_and_gradient(self, x):
        gradient, value = np.array(x), 0.0
        for first in range(0, len(x), self.PIECE):
            piece = gradient[first:first + self.PIECE]
            place = np.arange(first, first + len(piece))
            piece -= np.sin(place + self.agent)
            weighted = piece * (0.1 * (1 + place % 10))
            value += 0.5 * float(piece @ weighted)
            piece[:] = weighted
        return value, gradient


def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def take_part(agent, dimension, folder, address, ready, results):
    ready.wait()
    before = peak()
    fedplt.Agent(cost=Centre(agent, dimension), folder=f"{folder}/site{agent}", coordinator="https://" + address, once=True,
                 proxy="off", policy={"federations": ["large"], "epsilon": "off", "models": [DIGEST],
                                      "models-off": [DIGEST]}).run()
    results.put(("agent", peak() - before))


def lead(dimension, agents, train, folder, address, ready, results):
    names = [f"site{i}" for i in range(agents)]
    federation.found(folder + "/home", "large", address)
    for name in names:
        pathlib.Path(folder, name).mkdir()
        pathlib.Path(folder, name, "agent.pem").write_text(
            federation.sign(folder + "/home", federation.request(f"{folder}/{name}", name)))
    leader = fedplt.Coordinator(
        federation="large", folder=folder + "/home", listen=address, roster=names, once=True, aggregate="plain",
        train={"loss": "custom", "algorithm": "fed-plt", "tolerance": 0, "eval-every": 0, "epochs": 1, **train},
        model={"name": "centre", "version": "1.0", "dimension": dimension, "digest": DIGEST})
    before = peak()
    leader.start()
    ready.set()
    status = watch(leader)
    sent = status.get("round", 0) * agents * dimension
    results.put(("up", status.get("bytes_up", 0) / sent if sent else float("nan")))
    results.put(("coordinator", peak() - before))


def watch(leader):
    """The last status of a coordinator that runs."""
    status = {}
    while leader.join(0.02) is None:
        page = next((re.search(r"http://\S+", event["sentence"]) for event in list(leader.events)
                     if event["word"] == "started"), None)
        try:
            status = json.load(urllib.request.urlopen(page.group() + "status.json", timeout=5)) if page else status
        except (OSError, ValueError):
            pass  # it has just ended
    return status


def measure(dimension, agents, train):
    """One run: the weights, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{federation.free_port()}"
        results, ready = multiprocessing.Queue(), multiprocessing.Event()
        begun = time.monotonic()
        workers = [multiprocessing.Process(target=take_part, args=(i, dimension, folder, address, ready, results))
                   for i in range(agents)]
        workers.append(multiprocessing.Process(target=lead,
                                               args=(dimension, agents, train, folder, address, ready, results)))
        for worker in workers:
            worker.start()
        found = [results.get() for _ in range(agents + 2)]
        for worker in workers:
            worker.join()
        home = pathlib.Path(folder, "home", "out")
        weights = np.array(json.loads((home / "model.json").read_text())["weights"])
        return {"seconds": time.monotonic() - begun, "weights": weights, "up": dict(found)["up"],
                "coordinator": dict(found)["coordinator"], "agent": max(n for word, n in found if word == "agent")}


def main(dimension=10_000_000, agents=10, rounds=3, *encodings):
    exact = None
    for encoding in encodings or ("exact",):
        run = measure(dimension, agents, {"rounds": rounds, "encoding": encoding})
        exact = run["weights"] if encoding == "exact" else exact
        error = float(np.max(np.abs(run["weights"] - exact))) if exact is not None else float("nan")
        print(f"{encoding} n {dimension} agents {agents} rounds {rounds} s {run['seconds']:.1f} "
              f"coordinator {run['coordinator'] / dimension:.1f} agent {run['agent'] / dimension:.1f} B/number "
              f"up {run['up']:.2f} B/number a round, error {error:.2g}", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    main(*(int(word) for word in words[:3]), *words[3:])
