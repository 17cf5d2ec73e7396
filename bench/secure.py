#!/usr/bin/python3
"""What secure aggregation costs a federation of real processes: the same run plain, with masks over all sites (16 bytes a
number), and with divided noise (8 bytes a number) over all and with a quorum. Runs with noise are compared with the plain
run with noise at each site. All kinds run in turns REPEATS times; times and ratios are medians. Processor time of the coordinator and of an
agent a round is compared, since wall-clock time on a shared machine measures the other programs. Rounds that wait for
training are none of it: agents take one step on few rows. Beside each, in the same run: the processor time of a server that
takes and gives as many bytes a round over as many connections of TLS alone (bench/load).

usage: bench/secure.py BUILD [AGENTSxFEATURES ...]      8x5000 by default
"""
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

BUILD, SIZES = sys.argv[1], sys.argv[2:] or ["8x5000"]
sys.argv[1:] = [f"{BUILD}/fedplt"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/whole"))
import federating

ROUNDS = 400
REPEATS = 3
STEP = {"algorithm": "fedavg", "rounds": str(ROUNDS), "epochs": "1", "gamma": "0.1", "seed": "5"}
SECONDS = 3  # of TLS alone
HEAD, SESSION = 192, 32  # bytes of a frame's head, and of a session before masked numbers
PLAIN = {"tolerance": "0", "eval-every": "0", "standardise": "no", "intercept": "no"}


def processor_time(folder, commands):
    """Seconds of each process."""
    running, spent = federating.start(folder, commands), []
    for process in running:
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = code
        if code:
            raise RuntimeError(federating.log(folder, 0)[-1500:])
        spent.append(used.ru_utime + used.ru_stime)
    return spent


def raw_tls(folder, agents, features, width):
    """Milliseconds of a server's processor a round, with the bytes of broadcasts and updates and TLS alone."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    federating.run("pki", "init", "load", "--address", f"127.0.0.1:{port}", cwd=folder)
    down, up = HEAD + 8 * features, HEAD + (width or 8) * features
    if width:  # the frame SESSION with the members, and the session of an update
        down, up = down + HEAD + SESSION + (agents + 7) // 8, up + SESSION
    load = [f"{BUILD}/bench/load"]
    subprocess.run([*load, "found", folder / "load", str(agents)], check=True, capture_output=True)
    said = subprocess.run([*load, "raw", folder / "load", *map(str, (agents, down, up, SECONDS))], check=True,
                          capture_output=True, text=True).stdout
    return 1000 * json.loads(said)["processor"]


DIVIDED = {"epsilon": "1000", "threat": "secagg-sum", "spare": "20"}
# By label: the kind that it is compared with, bytes of a masked number, whether a member may be missing, settings.
KINDS = {
    "plain": ("plain", 0, 0, {"aggregate": "plain"}),
    "all, 16 bytes a number": ("plain", 16, 0, {"aggregate": "secure"}),
    "plain, noise at each site": ("plain, noise at each site", 0, 0, {"aggregate": "plain", "privacy": {"epsilon": "1000"}}),
    "all, divided noise, 8 bytes": ("plain, noise at each site", 8, 0, {"aggregate": "secure", "privacy": DIVIDED}),
    "quorum, divided noise, 8 bytes": ("plain, noise at each site", 8, 1, {"aggregate": "secure", "privacy": DIVIDED}),
}


def measure(agents, features, width, **settings):
    """Milliseconds of processor time a round: coordinator, agent, TLS alone."""
    federating.AGENTS, federating.SECONDS = agents, 600
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        federating.run("data", "generate", "all.csv", "--agents", str(agents), "--rows", "40", "--features", str(features),
                       "--seed", "3", cwd=folder)
        federating.divide(folder)
        train = dict(STEP)
        if "privacy" in settings:
            schema = "columns:\n" + "".join(f"  x{i}: {{type: number, bounds: -4..4, missing: centre}}\n"
                                            for i in range(1, features + 1))
            (folder / "columns.yaml").write_text(schema + "  label: {type: label, classes: [-1, 1], missing: neutral-row, "
                                                          "other: neutral-row}\n")
            settings["schema"] = str(folder / "columns.yaml")
        else:
            train.update(PLAIN)
        policy = {"disclosure": "off"} if "privacy" not in settings else {"epsilon": 1000000}
        whole = processor_time(folder, federating.found(folder, train, policy, **settings))
        one = json.loads((folder / "heart/federation.yaml").read_text())
        one["run"], one["train"]["rounds"] = 2, "1"
        (folder / "heart/federation.yaml").write_text(json.dumps(one))
        first = processor_time(folder, [["coordinator", "heart/federation.yaml"],
                                        *(["agent", f"agent-{i}/site.yaml"] for i in range(agents))])
        raw = raw_tls(folder, agents, features, width)
    own = [1000 * (a - b) / (ROUNDS - 1) for a, b in zip(whole, first)]
    return own[0], sum(own[1:]) / agents, raw


print("sites  numbers                         a round: coordinator ms  ratio  raw TLS  ratio  agent ms")
for size in SIZES:
    agents, features = map(int, size.split("x"))
    found = {label: [] for label in KINDS}
    for _ in range(REPEATS):
        for label, (_, width, missing, settings) in KINDS.items():
            found[label].append(measure(agents, features, width, quorum=agents - missing, **settings))
    for label, (base, *_) in KINDS.items():
        coordinator, agent, raw = (statistics.median(times) for times in zip(*found[label]))
        ratio = statistics.median(own[0] / other[0] for own, other in zip(found[label], found[base]))
        print(f"{agents:5} {features:8}  {label:34} {coordinator:8.2f} {ratio:6.2f} {raw:8.2f} {coordinator / raw:6.2f} "
              f"{agent:8.2f}", flush=True)
