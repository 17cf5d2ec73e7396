"""What tests of whole federations share: processes on loopback, with mutual TLS."""
import csv
import http.client
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "schema"
PROGRAM = os.path.abspath(sys.argv[1])
AGENTS = 4
SECONDS = 120  # that a process is waited for; a busy machine takes its time
DISCLOSURE = "off"  # of the sites, whose questions are not counted in tests of something else
# declares what generate() makes
SCHEMA = "columns:\n" + "".join(f"  x{i}: {{type: number, bounds: -4..4, missing: centre}}\n" for i in range(1, 6)) \
    + "  label: {type: label, classes: [-1, 1], missing: neutral-row, other: neutral-row}\n"


def run(*words, cwd):
    return subprocess.run([PROGRAM, *words], cwd=cwd, check=True, capture_output=True, text=True,
                          timeout=SECONDS)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def divide(folder):
    """One file a site, without the column that names it."""
    with open(folder / "all.csv") as file:
        head, *rows = list(csv.reader(file))
    column = head.index("site")
    sites = list(dict.fromkeys(row[column] for row in rows))
    for number, site in enumerate(sites):
        with open(folder / f"site{number}.csv", "w") as file:
            writer = csv.writer(file)
            writer.writerow(head[:column] + head[column + 1:])
            writer.writerows(row[:column] + row[column + 1:] for row in rows if row[column] == site)


def found(folder, train, policy={}, host="127.0.0.1", **settings):
    """A coordinator's folder and one for each agent; returns what starts them. Under strict disclosure rules agents approve of
    a rho that is given."""
    port = free_port()
    policy = {"federations": ["heart"], "epsilon": "off", "participants": 1, **policy}
    if policy["epsilon"] == "off":
        policy = {"disclosure": DISCLOSURE, **policy}
    if "rho" in train and policy.get("disclosure") == "strict":
        policy = {"approved": {"rho": train["rho"]}, **policy}
    names = [f"agent-{i}" for i in range(AGENTS)]
    run("pki", "init", "heart", "--address", f"{host}:{port}", cwd=folder)
    document = {"federation": "heart", "listen": f"{host}:{port}", "folder": "heart", "once": "yes",
                "roster": names, "train": train, **settings}
    (folder / "heart/federation.yaml").write_text(json.dumps(document))
    for i, name in enumerate(names):
        run("agent", "request", name, "--folder", name, cwd=folder)
        run("pki", "sign", f"{name}/agent.request", "--folder", "heart", "--out", f"{name}/agent.pem",
            cwd=folder)
        (folder / name / "site.yaml").write_text(json.dumps({
            "coordinator": f"https://{host}:{port}", "folder": name, "data": f"site{i}.csv",
            "once": "yes", "proxy": "off", "policy": policy}))
    return [["coordinator", "heart/federation.yaml"],
            *(["agent", f"{name}/site.yaml"] for name in names)]


class Hosts:
    """A network of its own for the coordinator and for each agent, joined by a switch; `before` is what a command
    line there begins with. Its end takes everything away."""

    def __init__(self, agents):
        self.names = [f"fedplt-{os.getpid()}-{i}" for i in range(agents + 1)]
        self.before = [["ip", "netns", "exec", name] for name in self.names]
        self.address = "10.77.0.1"

    @staticmethod
    def are_possible():
        return os.geteuid() == 0 and shutil.which("ip") and \
            subprocess.run(["unshare", "-n", "ip", "link", "add", "name", "switch", "type", "bridge"],
                           capture_output=True).returncode == 0

    def __enter__(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        centre = self.names[0]
        for words in (["link", "add", "name", "switch", "type", "bridge"], ["addr", "add", "10.77.0.1/16", "dev", "switch"],
                      ["link", "set", "switch", "up"]):
            subprocess.run(["ip", "-n", centre, *words], check=True)
        for i, name in enumerate(self.names[1:]):
            subprocess.run(["ip", "-n", centre, "link", "add", "name", f"port{i}", "type", "veth", "peer", "name", "wire",
                            "netns", name], check=True)
            subprocess.run(["ip", "-n", centre, "link", "set", f"port{i}", "master", "switch", "up"], check=True)
            for words in (["addr", "add", f"10.77.{1 + i // 250}.{1 + i % 250}/16", "dev", "wire"],
                          ["link", "set", "wire", "up"]):
                subprocess.run(["ip", "-n", name, *words], check=True)
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name])


def start(folder, commands, before=None):
    """`before`: what each command line begins with."""
    return [subprocess.Popen([*(before[i] if before else []), PROGRAM, *words], cwd=folder,
                             stdout=open(folder / f"{i}.log", "w"), stderr=subprocess.STDOUT)
            for i, words in enumerate(commands)]


def stop(running):
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


def run_all(folder, commands, coordinator=True, before=None):
    """All processes at once; whatever happens, none is left. Without `coordinator` its end is not waited for."""
    running = start(folder, commands, before)
    try:
        return [process.wait(timeout=SECONDS) for process in running[0 if coordinator else 1:]]
    finally:
        stop(running)


def context_of(folder, name):
    """TLS with the certificate of an agent, for requests that are not its own."""
    made = ssl.create_default_context(cafile=str(folder / "heart/authority.pem"))
    made.load_cert_chain(folder / name / "agent.pem", folder / name / "agent.key")
    return made


def ask(folder, port, name, method, path, body=b"", session=None, headers={}, patience=SECONDS):
    """Status and body of the answer to a request in the name of an agent."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context_of(folder, name), timeout=patience)
    more = {"Fedplt-Session": session} if session else {}
    try:
        connection.request(method, "/v1" + path, body, {**more, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def report(plan, **fields):
    """What an agent says that has just begun."""
    return json.dumps({"chain": "00" * 32, "charged": None, "enrolled": None, "leg": 0, "plan": plan, "proof": None,
                       "staged": None, "trouble": None, "version": "0", **fields}, separators=(",", ":"),
                      sort_keys=True).encode()


def log(folder, number):
    return (folder / f"{number}.log").read_text()


def live_page(folder):
    """Where the running coordinator has its status."""
    return log(folder, 0).split("live page ")[1].split()[0]


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\n]|\\\\[\\\\n"])*",?)+\})? (\S+)')


def read_metrics(text):
    """The text format of Prometheus, as strictly as promtool has it: of each metric HELP and TYPE, then its samples, in one
    place; counters end in _total; no sample comes twice."""
    check(text.endswith("\n"), "the last line does not end")
    found, kinds, helped, name = {}, {}, set(), None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            check(name not in helped and words, "a second HELP, or an empty one:", line)
            helped.add(name)
        elif line.startswith("# TYPE "):
            typed, kind = line[7:].split(" ")
            check(typed == name and typed not in kinds and kind in ("counter", "gauge"), "out of place:", line)
            check((kind == "counter") == name.endswith("_total"), "a counter ends in _total, a gauge does not:", line)
            kinds[name] = kind
        else:
            sample = SAMPLE.fullmatch(line)
            check(sample, "not a sample:", line)
            check(sample[1] == name and name in kinds, "without HELP and TYPE before it:", line)
            key = sample[1] + (sample[2] or "")
            check(key not in found, "twice:", line)
            found[key] = float(sample[3])
    check(helped == set(kinds), helped, kinds)
    return found


def metrics(folder, linted=False):
    """What the running coordinator counts: name and labels to value. `linted`: promtool has nothing to say of it, where it
    is installed (tools/setup long)."""
    with urllib.request.urlopen(live_page(folder) + "metrics", timeout=SECONDS) as answer:
        text = answer.read().decode()
    if linted and shutil.which("promtool"):
        lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=SECONDS)
        check(lint.returncode == 0 and not lint.stderr, "promtool:", lint.stdout, lint.stderr)
    return read_metrics(text)


def page(path):
    """A page that is whole, and asks nobody for anything."""
    text = pathlib.Path(path).read_text()
    check(text.startswith("<!doctype html>") and text.endswith("</html>\n"), "half a page:", text[-200:])
    for word in ("://", "<script", "src=", "href=", "url("):
        check(word not in text, "the page has", word, text[max(0, text.find(word) - 100):][:200])
    return text


class Fault(Exception):
    pass


def check(holds, *words):
    if not holds:
        raise Fault(" ".join(str(word) for word in words))


def fault_of(case):
    """What is wrong with a case, run in a folder of its own; empty: nothing."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fedplt-whole-"))
    try:
        case(folder)
        return ""
    except subprocess.CalledProcessError as error:
        return f"{error}\n{error.stdout}{error.stderr}"
    except subprocess.TimeoutExpired as error:
        return "\n".join([str(error)] + [path.read_text()[-300:] for path in sorted(folder.glob("*.log"))])
    except (Fault, OSError, KeyError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder)


def all_cases(cases):
    """Runs (label, case) as TAP, or those whose numbers are arguments, and ends the program."""
    wanted = [int(word) for word in sys.argv[2:]]
    failed = 0
    chosen = [case for number, case in enumerate(cases, 1) if not wanted or number in wanted]
    print(f"1..{len(chosen)}")
    for number, (label, case) in enumerate(chosen, 1):
        fault = fault_of(case)
        print(f"{'not ok' if fault else 'ok'} {number} - {label}", flush=True)
        for line in fault.splitlines():
            print("# " + line)
        failed += bool(fault)
    sys.exit(1 if failed else 0)


def generate(folder):
    run("data", "generate", "all.csv", "--agents", str(AGENTS), "--rows", "40", "--seed", "3", cwd=folder)
    divide(folder)


def relabel(folder, label_of):
    """Other labels, from the features of a row."""
    for file in (f"site{i}.csv" for i in range(AGENTS)):
        with open(folder / file) as opened:
            head, *rows = list(csv.reader(opened))
        label = head.index("label")
        rows = [[*row[:label], label_of([float(word) for word in row[:label] + row[label + 1:]]), *row[label + 1:]] for row in rows]
        with open(folder / file, "w") as opened:
            csv.writer(opened).writerows([head, *rows])


def generate_overlapping(folder, rows=300):
    """Rows whose classes overlap: the generator's own are nearly separated."""
    draw = random.Random(5)
    run("data", "generate", "all.csv", "--agents", str(AGENTS), "--rows", str(rows), "--seed", "3", cwd=folder)
    divide(folder)
    relabel(folder, lambda x: "1" if draw.random() < 1 / (1 + math.exp(-0.2 * x[0] + 0.3 * x[1] - 0.1 * x[3])) else "-1")


def change(path, **changes):
    """Other settings in a file of settings."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_policy(folder, name, **changes):
    path = folder / name / "site.yaml"
    change(path, policy={**json.loads(path.read_text())["policy"], **changes})


class Place:
    """Processes that are started one by one, and append to their logs."""

    def __init__(self, folder, train, **settings):
        self.folder = folder
        generate(folder)
        self.commands = found(folder, train, **settings)
        self.process = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.process.values())

    def start(self, *numbers):
        for number in numbers:
            with open(self.folder / f"{number}.log", "a") as file:
                self.process[number] = subprocess.Popen([PROGRAM, *self.commands[number]], cwd=self.folder,
                                                        stdout=file, stderr=subprocess.STDOUT)

    def kill(self, number):
        self.process[number].send_signal(signal.SIGKILL)
        self.process[number].wait()

    def reads(self, number, words, times=1):
        deadline = time.time() + SECONDS
        while log(self.folder, number).count(words) < times:
            check(time.time() < deadline, repr(words), "was never said:", log(self.folder, number)[-800:])
            time.sleep(0.02)

    def waits_for(self, name):
        """Until the repair waits for this member alone."""
        deadline, status = time.time() + SECONDS, {}
        while status.get("state") != "repair" or not status["waiting"].startswith(f"waiting for {name} ") \
                or "agent" in status["waiting"].split(name)[1]:
            check(time.time() < deadline, "the repair waits for others", status)
            time.sleep(0.02)
            status = json.loads(run("federation", "status", "--folder", "heart", cwd=self.folder).stdout)

    def address(self):
        return json.loads((self.folder / "heart/federation.yaml").read_text())["listen"]

    def codes(self):
        return {number: process.wait(timeout=SECONDS) for number, process in sorted(self.process.items())}


def weights(path):
    return json.loads(pathlib.Path(path).read_text())["weights"]


def read_model(path):
    """A model file as its schema has it."""
    schema = json.loads((SCHEMAS / "model.schema.json").read_text())
    resolver = jsonschema.RefResolver((SCHEMAS / "model.schema.json").as_uri(), schema)
    model = json.loads(pathlib.Path(path).read_text())
    fault = jsonschema.exceptions.best_match(jsonschema.Draft7Validator(schema, resolver=resolver).iter_errors(model))
    check(fault is None, path, fault and f"{fault.json_path}: {fault.message[:300]}")
    return model
