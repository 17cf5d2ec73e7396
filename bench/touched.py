#!/usr/bin/python3
"""Updates that name the columns of a site's rows alone (`encoding: sparse`) beside whole ones: federations of real processes
with 10^5 columns, of which each site touches 2,000. Bytes up and down a round, processor time of the coordinator and of an
agent a round, and the coordinator's largest memory. Both encodings run in turns REPEATS times; figures are the least, as other
programs can only make one larger. The models are compared.

usage: bench/touched.py BUILD [AGENTS ...]      4 and 100 by default
"""
import json
import os
import pathlib
import random
import signal
import sys
import tempfile

BUILD, SIZES = sys.argv[1], [int(word) for word in sys.argv[2:]] or [4, 100]
sys.argv[1:] = [f"{BUILD}/fedplt"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/whole"))
import federating
from figures import figure

COLUMNS, TOUCHED, ROWS, NUMBERS, ROUNDS, REPEATS = 100000, 2000, 100, 60, 8, 2
TRAIN = {"algorithm": "fed-lbfgs", "tolerance": "0", "eps": "0.001", "standardise": "no", "intercept": "yes",
         "weights": "rows", "eval-every": "1", "seed": "5", "first-step": "3", "pairs": "5"}
POLICY = {"allow": ["facts", "measure", "sparse"], "disclosure": "off"}


def write_sites(folder, agents):
    """Sites with different numbers of rows, as they are."""
    draw = random.Random(7)
    for site in range(agents):
        own = draw.sample(range(1, COLUMNS + 1), TOUCHED)
        with open(folder / f"site{site}.libsvm", "w") as file:
            for row in range(ROWS + site):
                places = sorted(draw.sample(own, NUMBERS))
                file.write(f"{row % 2 * 2 - 1} " + " ".join(f"{j}:{draw.uniform(-1, 1):.3f}" for j in places) + "\n")


def spend(folder, commands):
    """What each process used, the coordinator's counts, and the model."""
    running = federating.start(folder, commands)
    used = []
    try:
        for process in [*running[1:], running[0]]:
            if process is running[0]:
                counts = federating.metrics(folder)
                process.send_signal(signal.SIGTERM)
            _, process.returncode, own = os.wait4(process.pid, 0)
            used.append(own)
    finally:
        federating.stop(running)
    up, down = (counts[f'fedplt_bytes_total{{direction="{way}"}}'] for way in ("up", "down"))
    return used[-1:] + used[:-1], up, down, federating.weights(folder / "heart/out/model.json")


def measure(folder, agents, run, encoding):
    """A round: milliseconds of coordinator and agent, bytes up and down; the coordinator's memory; the model."""
    path = folder / "heart/federation.yaml"
    commands = [["coordinator", "heart/federation.yaml"], *(["agent", f"agent-{i}/site.yaml"] for i in range(agents))]
    found = []
    for number, rounds in enumerate((1, ROUNDS + 1)):
        path.write_text(json.dumps({**json.loads(path.read_text()), "run": run + number,
                                    "train": {**TRAIN, "encoding": encoding, "rounds": str(rounds)}}))
        found.append(spend(folder, commands))
    times = [[own.ru_utime + own.ru_stime for own in used] for used, *_ in found]
    each = [1000 * (b - a) / ROUNDS for a, b in zip(*times)]
    first, last = found
    return (each[0], sum(each[1:]) / agents, (last[1] - first[1]) / ROUNDS, (last[2] - first[2]) / ROUNDS,
            last[0][0].ru_maxrss / 1024), last[3]


def compare(agents):
    federating.AGENTS, federating.SECONDS = agents, 900
    with tempfile.TemporaryDirectory() as place:
        folder, best, models, run = pathlib.Path(place), {}, [], 1
        write_sites(folder, agents)
        for words in federating.found(folder, TRAIN, POLICY, aggregate="plain", features=COLUMNS, inform="no", once="no")[1:]:
            path = folder / words[1]
            own = json.loads(path.read_text())
            path.write_text(json.dumps({**own, "data": own["data"].replace(".csv", ".libsvm")}))
        for _ in range(REPEATS):
            for encoding in ("exact", "sparse"):
                figures, model = measure(folder, agents, run, encoding)
                best[encoding] = [min(pair) for pair in zip(figures, best.get(encoding, figures))]
                models.append(model)
                run += 2
        if any(model != models[0] for model in models):
            raise RuntimeError("the models differ")
    for encoding, (coordinator, agent, up, down, memory) in best.items():
        print(f"{agents:6} {encoding:8} {coordinator:14.1f} {agent:9.1f} {up / 1e6:10.3f} {down / 1e6:10.2f} {memory:10.0f}",
              flush=True)
    return best


print("agents encoding  coordinator ms  agent ms    up, MB   down, MB  memory, MB   (a round)")
for size in SIZES:
    whole, listed = compare(size).values()
    figure(f"bytes up of sparse updates, {size} sites, of whole ones", listed[2] / whole[2], "", "at most", 0.1)
    figure(f"coordinator's processor time with sparse updates, {size} sites, of whole ones", listed[0] / whole[0], "", "at most", 1)
