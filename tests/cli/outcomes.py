"""What a run of the program says, writes, returns and, in a federation, sends: what effects.py compares."""
import contextlib
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "whole"))
import federating  # noqa: E402

LONGEST, ENDLESS = 300, -1  # seconds of a run, and the status of one that took longer
WAITS = -2  # the status of an agent that does not end by itself


def snake(name):
    return name.split(".")[-1].replace("-", "_")


ECHO = {"eps": "regulariser_weight"}  # what a record calls a setting, where it has another name for it


def without(document, name):
    """A JSON document without what it says of a setting itself."""
    if isinstance(document, list):
        return [without(item, name) for item in document]
    if not isinstance(document, dict):
        return document
    echo = snake(name), snake(name) + "_why", ECHO.get(name)
    return {key: without(value, name) for key, value in document.items()
            if key != "wall_seconds" and not (snake(key) in echo and not isinstance(value, list))}


def cleaned(text, name):
    """Lines without what is measured in seconds, what is random in every run (its number, and digests of that), the commands
    that come next, and the setting itself."""
    text = re.sub(r"\b[0-9a-f]{32,}\b", "DIGEST", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    try:
        return json.dumps(without(json.loads(text), name))
    except ValueError:
        pass
    text = re.sub(r"(?s)\nnext\n.*", "\n", text)
    text = re.sub(r"(?m)^defaults for.*\n((?:  .*\n)*)", "", text)
    text = re.sub(r"[\d.e+-]+ s\b", "TIME", text)
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("  wall time")
                     and not (line.startswith("  ") and line.split()[0] == name))


class Outcome:
    def __init__(self, done, folder):
        self.status, self.said, self.complained = done.returncode, done.stdout, done.stderr
        self.files = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in (".json", ".csv", ".txt", ".html", ".yaml", ".svg", ".md"):
                self.files[str(path.relative_to(folder))] = path.read_text()
            elif path.is_file():
                data = b"" if path.suffix in (".png", ".pdf", ".db", ".onnx") or "state" in path.name else path.read_bytes()
                self.files[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()[:30]  # shorter than what is cleaned

    def signature(self, name):
        return [str(self.status), cleaned(self.said, name), cleaned(self.complained, name),
                *(f"{path}\n{cleaned(text, name)}" for path, text in self.files.items())]


def attempt(program, files, command, words):
    with tempfile.TemporaryDirectory(prefix="fedplt-effects-", dir=files.parent) as folder:
        own = pathlib.Path(folder)
        arguments = [str(word).replace("OWN/", "") for word in words]
        try:
            done = subprocess.run([program, *command.split(), *arguments], cwd=own, text=True, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LONGEST, errors="replace")
        except subprocess.TimeoutExpired as late:
            done = subprocess.CompletedProcess(late.cmd, ENDLESS, "", f"took more than {LONGEST} s")
        return Outcome(done, own)


# Federations


def sections(context):
    """federation.yaml of a context: what is called lead.NAME stands at its top, privacy.NAME in that section, and what has
    no such word before its name in the section train."""
    document = {"train": {}}
    for name, value in context.items():
        section, _, short = name.partition(".")
        if section == "lead":
            document[short] = value
        elif section == "privacy":
            document.setdefault("privacy", {})[short] = value
        else:
            document["train"][name] = value
    return document


def told(log, words):
    """The events of a log that are of these kinds, without times."""
    return "\n".join(line.split(maxsplit=1)[1] for line in log.splitlines() if re.search(rf"Z (?:{words})\b", line))


def core(document):
    """A model or certificate without what it repeats of proposal and plan."""
    document = json.loads(document)
    for name in "federation", "defaults", "parameters":
        document.get("training", {}).pop(name, None)
    return json.dumps(document)


def results(folder):
    return {str(path.relative_to(folder)): core(path.read_text()) for path in sorted(folder.rglob("*.json"))}


class Federation:
    """A coordinator and its agents, as processes on loopback, in a copy of folders that are made once: no attempt knows of
    another."""

    def __init__(self, folder, names):
        self.folder, self.names = folder, names
        folder.mkdir()
        federating.run("pki", "init", "heart", "--address", "127.0.0.1:1", cwd=folder)
        for name in names:
            federating.run("agent", "request", name, "--folder", name, cwd=folder)
            federating.run("pki", "sign", f"{name}/agent.request", "--folder", "heart", "--out", f"{name}/agent.pem", cwd=folder)

    @contextlib.contextmanager
    def own(self):
        """A folder with all of it, and what is started there; at the end nothing of it is left."""
        running = []
        with tempfile.TemporaryDirectory(prefix="fedplt-effects-", dir=self.folder.parent) as own:
            shutil.copytree(self.folder, own, dirs_exist_ok=True)
            try:
                yield pathlib.Path(own), running
            finally:
                federating.stop(running)

    @staticmethod
    def start(own, running, name, words):
        """Its output goes to NAME.said and NAME.complained."""
        running.append(subprocess.Popen(words, cwd=own, stdin=subprocess.DEVNULL, stdout=open(own / f"{name}.said", "w"),
                                        stderr=open(own / f"{name}.complained", "w")))
        return running[-1]

    def lead(self, own, running, program, document):
        """The coordinator, and its address once it has one; None where it ended before."""
        document = {"federation": "heart", "folder": "heart", "listen": "127.0.0.1:0", "status": "off", "once": "yes",
                    "roster": self.names, **document}
        (own / "heart/federation.yaml").write_text(json.dumps(document))
        leader = self.start(own, running, "lead", [program, "coordinator", "heart/federation.yaml"])
        while True:
            over = leader.poll() is not None
            port = re.search(r"listening on port (\d+)", (own / "lead.said").read_text())
            if port or over:
                return leader, port and f"https://127.0.0.1:{port.group(1)}"
            time.sleep(0.005)

    def take_part(self, own, running, program, name, settings, words=()):
        (own / name / "site.yaml").write_text(json.dumps({"folder": name, **settings}))
        return self.start(own, running, name, [program, "agent", f"{name}/site.yaml", *words])


# sites that agree to whatever a coordinator proposes
POLICY = {"federations": ["heart"], "epsilon": "off", "participants": 1, "disclosure": "off",
          "allow": ["facts", "measure", "score", "information"]}


class Led(Federation):
    """Every attempt is a run of other settings, those of federation.yaml."""

    def __init__(self, folder):
        super().__init__(folder, [f"agent-{i}" for i in range(4)])
        federating.run("data", "generate", "all.csv", "--agents", "4", "--rows", "40", "--unequal", "0.5", cwd=folder)
        federating.divide(folder)
        (folder / "heart/heart.schema.yaml").write_text(federating.SCHEMA)

    def attempt(self, program, context):
        with self.own() as (own, running):
            return self.go(own, running, program, context)

    def keep(self, program, context):
        """A run of which the folder keeps the state."""
        running = []
        try:
            return self.go(self.folder, running, program, context)
        finally:
            federating.stop(running)

    def go(self, own, running, program, context):
        leader, address = self.lead(own, running, program, sections(context))
        for i, name in enumerate(self.names if address else []):
            self.take_part(own, running, program, name, {"coordinator": address, "data": f"site{i}.csv", "once": "yes",
                                                         "proxy": "off", "policy": POLICY})
        status = self.wait(own, leader)
        complained = (own / "lead.complained").read_text() if status != ENDLESS else f"took more than {LONGEST} s"
        said = told((own / "lead.said").read_text(), "measured|done|closed|checked|proposal|refused|finished")
        outcome = Outcome(subprocess.CompletedProcess([], status, said, complained), own / "heart/out")
        outcome.files = results(own / "heart")
        return outcome


    @staticmethod
    def wait(own, leader):
        """How the coordinator ended, or that it waits: for an agent that refused, or for all to hear that nothing came of it."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            over = leader.poll()
            lead = (own / "lead.said").read_text()
            if over is not None:
                return over
            if "Z refused" in lead or "Z finished" in lead and "Z done" not in lead:
                return WAITS
            time.sleep(0.01)
        return ENDLESS


class Site(Federation):
    """Every attempt is an agent with other settings, `near`, in a run with another agent, `far`."""

    # of a run: what federation.yaml has besides, and the data of the other agent
    KINDS = {
        "plain": ({}, "b.csv"), "sparse": ({"lead.features": "3"}, "rows.libsvm"),
        "declared": ({"lead.schema": "one.schema.yaml"}, "b.csv"),
        "private": ({"lead.schema": "one.schema.yaml", "privacy.epsilon": "2"}, "b.csv"),
        "simulated": ({"lead.schema": "one.schema.yaml", "privacy.epsilon": "2", "privacy.noise": "simulated"}, "b.csv"),
    }

    def __init__(self, folder, files):
        super().__init__(folder, ["near", "far"])
        shutil.copy(files / "one.schema.yaml", folder / "heart")

    def near(self, own, running, program, address, way, settings):
        """The agent: its settings in site.yaml, or as flags."""
        settings = {"coordinator": address, **settings}
        if way == "flags":
            words = [f"--{name}={value}" for name, value in settings.items()]
            return self.take_part(own, running, program, "near", {}, words)
        document = {}
        for name, value in settings.items():
            section, _, short = name.rpartition(".")
            (document.setdefault(section, {}) if section else document)[short] = value
        return self.take_part(own, running, program, "near", document)

    @staticmethod
    def wait(own, agent, leader, known):
        """How the agent ended, or that it waits: for an address, for another run, for a coordinator that gave up. `known`
        of what the coordinator says was said before."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            over = agent.poll() is not None
            said, lead = (own / "near.said").read_text(), (own / "lead.said").read_text()[known:]
            if over and "done after" in said:
                leader.wait(timeout=LONGEST)
            if over:
                return agent.returncode
            if re.search(r'Z network|"network"', said) or "Z finished" in lead and "Z done" not in lead:
                return WAITS
            if re.search(r'Z (refused|done)|"(refused|done)"', said) or "Z refused" in lead:
                try:
                    return agent.wait(timeout=2)
                except subprocess.TimeoutExpired:
                    return WAITS
            time.sleep(0.01)
        return ENDLESS

    def agreed(self, own, running, program, address):
        """The hash that an agent is told to name if it agrees."""
        settings = {"data": "../files/a.csv", "once": "yes", "proxy": "off"}
        asks = self.near(own, running, program, address, "file", settings)
        asks.wait(timeout=LONGEST)
        return re.search(r"--plan ([0-9a-f]{64})", (own / "near.said").read_text()).group(1)

    def attempt(self, program, trusted, context):
        """`trusted` leads and is the other agent; the context begins with the kind of the run and where settings stand."""
        kind, way = context[""]
        settings = {name: value for name, value in context.items() if name}
        more, far = self.KINDS[kind]
        train = {"algorithm": "fed-plt", "rounds": "2"}
        with self.own() as (own, running):
            leader, address = self.lead(own, running, trusted, sections({**train, **more}))
            assert address, (own / "lead.complained").read_text()
            self.take_part(own, running, trusted, "far", {"coordinator": address, "data": f"../files/{far}", "once": "yes",
                                                          "proxy": "off", "policy": POLICY})
            if settings.get("plan") == "ASKED":
                settings["plan"] = self.agreed(own, running, trusted, address)
            known = len((own / "lead.said").read_text())
            agent = self.near(own, running, program, address, way, settings)
            status = self.wait(own, agent, leader, known)
            return self.outcome(own, status, address)

    @staticmethod
    def outcome(own, status, address):
        near = (own / "near.said").read_text()
        lead = told((own / "lead.said").read_text(), "measured|done|closed|refused|finished")
        said = re.sub(r"(?m)^[\dTZ:-]+ +|[0-9a-f]{16}\.\.\.|[0-9a-f]{64}|\"time\": *\"[^\"]*\"", "",
                      f"{near}\n{lead}".replace(address, ""))
        complained = (own / "near.complained").read_text().replace(address, "")
        idle = re.search(r"refused +(.* has no effect .*)", near)
        if idle:  # by what it was asked for: as if it had been told at the start
            status, complained = 2, idle.group(1)
        outcome = Outcome(subprocess.CompletedProcess([], status, said, complained), own / "heart/out")
        outcome.files = {f"{side}/{path}": text for side in ("heart", "near")
                         for path, text in results(own / side).items()}
        return outcome
