#!/usr/bin/python3
"""Whether the column `needs` of the settings' tables says enough, and not too much. Speaks TAP.

usage: tests/cli/effects.py PROGRAM CARELESS [--all|--every] [--only COMMAND] [--setting NAME] [--show]

For every command, in many contexts (sets of flags that the program takes), every setting of the command's table is
set to other values than it has there. Accepted without any difference in what the run says, writes and returns is a
finding: the setting has no effect and should be refused. Refused as having no effect, although CARELESS (the same
program without that check) makes a difference of it, is one too. The echo of the setting itself in records of
parameters is no difference. Coordinators and agents are real ones on loopback: federation.yaml with its sections, and a
site's settings in site.yaml and as flags, also beside private proposals. --all takes every context, and of train every
setting beside every value of another one (--every: in every context, for hours); otherwise it is a few contexts, in
which every row of the tables is seen, and CARELESS is left out; without --only and --setting one row in three is drawn by
FEDPLT_TESTS or by the clock (FEDPLT_TESTS=all: every row). --only and --setting take a part of them, --show prints every answer.
Run from the root of the source tree.
"""
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib

from cases import SEED, is_drawn
from outcomes import ENDLESS, Led, Site, attempt

WORDS = sys.argv[1:]
PROGRAM, CARELESS = (os.path.abspath(word) for word in WORDS[:2])


def option(name):
    return WORDS[WORDS.index(name) + 1] if name in WORDS else None


# Values to try for what is no choice and no switch; every such setting must be here. Paths are in the folder of files.
VALUES = {
    "data": ["other.csv"], "agents": ["2", "7"], "features": ["2", "9"], "schema": ["narrow.schema.yaml"],
    "bounds": ["-50..50"], "label": ["x1", "none"], "site": ["none", "x2"], "labels": ["1=-1,-1=1", "1=7"],
    "largest-file": ["1e-9"], "missing-codes": ["1,2,0"], "missing-value": ["3"], "missing-bounds": ["x1=-9..9"], "missing-cells": ["3"], "random-intercept": ["x3"], "quadrature-points": ["1"], "columns": ["x2"], "ignore": ["x2"], "id": ["x2"],
    "row-weight": ["weight", "x3"], "site-intercept": ["1.5"], "formula": ["~ x1 * x2", "~ . + I(x1^2)"], "categories": ["x3", "x1"], "alpha": ["5"], "holdout": ["0.4"], "radius": ["0.3"],
    "rows": ["9"], "unequal": ["0.5"], "spread": ["3"], "noise": ["3"], "lmin": ["0.3"], "lmax": ["3"],
    "classes": ["4"], "eps": ["0.2"], "huber-delta": ["0.1"], "predictor-bound": ["0.1"], "clip": ["0.05"],
    "h-weight": ["0.3"], "h-weight2": ["0.3"], "h-low": ["-0.01"], "h-high": ["0.01"], "h-radius": ["0.02"],
    "h-group": ["2"], "gamma": ["0.01"], "gamma-decay": ["0.5"], "encoding": ["fixed16"], "grid-bits": ["3"], "epochs": ["2", "7"], "batch": ["3"], "tau": ["0.3"], "memory": ["1"],
    "local-tolerance": ["10", "0.01"], "uncoordinated": ["each.csv"], "active-share": ["0.8"], "active": ["1"],
    "trace": ["trace.csv"], "seed": ["5"], "rounds": ["2", "9"], "tolerance": ["1e3", "1e-30"],
    "change": ["1e3"], "eval-every": ["2", "0", "3"], "threads": ["1", "2"], "start-scale": ["3"],
    "start-model": ["start.json"], "t-gradient": ["3"], "t-communication": ["3"],
    "rho": ["0.07"], "anderson-memory": ["1"], "pairs": ["1"], "first-step": ["0.01"], "coordinator-step": ["0.01"],
    "penalty": ["7"], "strong-convexity": ["0.001"], "beta": ["0.03"], "eta": ["0.03"], "p": ["0.9"], "chi": ["0.1"],
    "s": ["2", "3"], "mu": ["3"], "rank": ["1"],
    "privacy.epsilon": ["3"], "privacy.delta": ["1e-3"], "privacy.group": ["2"], "privacy.tau": ["0.7"],
    "privacy.colluders": ["2"], "privacy.quorum": ["3"],
    "privacy.rows": ["0.5"], "ledger": ["OWN/ledger.db"], "ledger-account": ["mine"], "privacy.budget": ["100"], "sign": ["site.key"],
    "checkpoint": ["OWN/state"], "checkpoint-every": ["2"], "resume": ["state"], "out": ["OWN/elsewhere"],
    "algorithms": ["fedprox,fedlin"], "parameters": ["fed-plt.rho=0.07"], "runs": ["3"], "points": ["3"],
    "tune-rounds": ["60"], "show": ["2"], "picture": ["OWN/drawn.svg"], "show-rounds": ["5"], "threshold": ["0.9"],
    "level": ["0.5"], "reference": ["x1=2"], "to": ["OWN/other.html"], "title": ["A title"], "test-share": ["0.5"], "resamples": ["20"],
    "grid": ["0.2,2"], "folds": ["3"], "fold-file": ["own-folds.csv"], "sensitivity": ["1"], "records": ["40"], "dimension": ["9"], "delta": ["1e-3"],
    "orders": ["3"], "batch-rate": ["0.2"], "epsilon": ["1"], "most-epochs": ["3"], "most-rounds": ["9"],
    "most": ["30"], "canary-agent": ["1"], "canary-record": ["1"], "confidence": ["0.9"], "epsilons": ["2"],
    "repeats": ["3"], "model": ["start.json"], "trust": ["site.pub"], "seeds": ["2"], "write": ["OWN/paper.md"],
    "folder": ["nowhere"], "run": ["1"], "minimum": ["1", "20"],
    "privacy.spare": ["0", "9"], "lead.federation": ["lung"], "lead.roster": ["agent-0,agent-1"],
    "lead.schema": ["heart.schema.yaml", "nowhere.yaml"], "lead.train": ["rounds=3"], "lead.privacy": ["epsilon=3"],
    "lead.folder": ["nowhere"], "lead.out": ["elsewhere"],
    "lead.columns": ["x5,x4,x3,x2,x1"], "lead.label": ["x1"], "lead.classes": ["0,1"], "lead.levels": ["x1=a\\,b"],
    "lead.features": ["5"], "lead.model": ["name=mine,version=1,dimension=3,digest=" + "0" * 64],
    "coordinator": ["https://127.0.0.1:1"], "proxy": ["http://127.0.0.1:1"], "plan": ["0" * 64],
    "policy.federations": ["lung"], "policy.algorithms": ["fedavg"], "policy.rounds": ["1"], "policy.participants": ["3"],
    "policy.epsilon": ["0.01", "off"], "policy.delta": ["1e-12"], "policy.allow": ["facts", "measure"],
    "peers": ["agent-1=ed25519:" + "0" * 64], "policy.colluders": ["2"],
    "policy.start-models": ["0" * 64], "policy.data": ["0" * 64], "policy.models": ["0" * 64], "policy.models-off": ["0" * 64], "policy.approved": ["rho=7"], "audit-days": ["4000"], "merge": ["mine"], "into": ["yours"],
}


# What a setting is tried with in one command.
OTHERWISE = {
    ("privacy epsilon", "records"): ["40,90"], ("privacy epsilon", "sensitivity"): ["1"],
    ("privacy epsilon", "gamma"): ["0.2"], ("privacy calibrate", "gamma"): ["0.2"],
    ("privacy curve", "gamma"): ["0.2"], ("theory", "picture"): ["none"],
    # beyond where steps of 0.3 contract
    **{(f"privacy {command}", "lmax"): ["8"] for command in ("epsilon", "calibrate", "curve")},
    ("privacy audit", "weights"): ["agents"],  # with privacy rows count alike unless told otherwise
    ("evaluate", "grid"): ["10", "100"],
    ("agent", "data"): ["own.csv"], ("agent", "schema"): ["narrow.schema.yaml", "one.schema.yaml"],
}
FILES = {"data", "schema", "uncoordinated", "trace", "start-model", "sign", "resume", "model", "trust"}


# What needs no difference, each with its reason. A pair of a setting and of what must be among the words.
EXEMPT = {
    "threads": "the bits are the same for any number",
    "kernel": "may give the same bits, and says which it was",
    "engine": "the bits are the same in any number of processes",
    "seed": "whoever asks for reproducible randomness may do so where nothing is random",
    "peers": "pins of secure aggregation, which these runs of two sites do not have: tests/whole/peers",
    "policy.colluders": "likewise", "policy.peers": "likewise",
    "policy.exclusion": "about secure aggregation that goes on without a member: tests/whole/members",
    "policy.models": "digests of custom costs, and none of these runs has one: tests/unit/federation/custom.c",
    "policy.models-off": "digests of custom costs, and none of these runs has one: tests/unit/federation/custom.c",
    "policy.data": "the digest of a schema that is approved, and none of these has it: tests/whole/disclosure",
    "checkpoint": "for a run that is interrupted, and none of these is",
    "resume": "the bits are those of the run that was not interrupted",
    "strict": "the status of a run that did not converge, and some do",
    "missing": "what to do with gaps, and the files have none but one, which is tried",
    "dates": "what to do with dates, and the files have none", "unknown-level": "what to do with levels, and the files have none that is new",
    "force": "what to do with a file that is there, and none is",
    "quiet": "no progress, which only a terminal sees",
    "ledger-account": "the name of an account, which an agent has in runs with privacy only",
    "audit-days": "for entries that are years old, and none is",
    "merge": "accounts of an older version, and none is there", "into": "likewise",
    "declare": "what an older ledger does not say, and none is older",
    "lead.run": "the number of a run is its name",
    "lead.listen": "an address, which the agents know", "lead.status": "an address, and nobody looks",
    "lead.log": "how the same is told", "lead.log-level": "which of the same is told", "lead.sandbox": "which system calls are refused, and none of them is made", "sandbox": "likewise", "lead.once": "to wait for nobody, when the run is over",
    "lead.deadline": "for agents that do not come, and all do", "lead.quorum": "for agents that do not come, and all do", "lead.repair": "for a run that is halted, and none is",
    "lead.window": "how many large updates come at once, and none is large",
}
# The same for a run that had converged before.
CONVERGED = {"rounds", "change", "eval-every", "criterion-at"}
# The same where a command or a context makes it so: the setting, what must stand in the context (after ! must not), the
# reason, and where else it does have an effect, which is tried: a command, what is added to its context, the other value.
HERE = [
    ("weights", "one.", "one agent has all rows", "compare", {}, "agents"),
    ("train: chi", "one.", "one agent has nobody to agree with", "train", {"algorithm": "tamuna"}, "0.1"),
    ("train: s", "one.", "one agent has nobody to agree with", "train", {"algorithm": "tamuna"}, "2"),
    ("train: s", "'fixed'", "two are active, and all of them send", "train", {"algorithm": "tamuna"}, "2"),
    ("train: intercept", "died.csv", "proportional hazards have none", "train", {}, "yes"),
    ("train: beta", "one.", "one agent has nobody to agree with", "train", {"algorithm": "led"}, "0.03"),
    ("train: change", "'huber'", "a step that a line search cuts short is no end", "train", {}, "1e3"),
    ("weights", "rows.libsvm", "one agent has all rows", "compare", {}, "agents"),
    ("tune: precision", None, "below the digits of numbers near 0", "tune", {"data": "far.csv", "standardise": "no"}, "float32"),
    ("theory: precision", None, "below the digits of numbers near 0", "theory", {"data": "far.csv", "standardise": "no"}, "float32"),
    ("tune: public", "lmin", "a promise that is kept where there are no data", "tune", {"data": "own.csv"}, "yes"),
    ("tune: h", "!by", "seen in the criterion at the start only, where it is not relative",
     "tune", {"data": "own.csv", "relative": "no"}, "l1"),
    ("tune: clip", "!by", "seen in the criterion at the start only, where it is not relative",
     "tune", {"data": "own.csv", "relative": "no"}, "0.05"),
    ("t-gradient", "auto", "auto may choose epochs by it, or a method without any", "train", {"epochs": "auto"}, "100"),
    ("t-communication", "auto", "auto may choose epochs by it, or a method without any", "train", {"epochs": "auto"}, "1e3"),
    ("privacy tradeoff: weights", None, "hardly moves the accuracy on so few rows",
     "privacy tradeoff", {"rows": "150", "features": "9", "unequal": "0.9"}, "agents"),
    ("privacy tradeoff: precision", None, "hardly moves the accuracy on so few rows",
     "privacy tradeoff", {"generator": "planted", "task": "regression", "loss": "huber"}, "float32"),
    ("privacy calibrate: most-epochs", "'best'", "a bound that the best may not reach",
     "privacy calibrate", {"best": "yes", "gamma": "0.01"}, "3"),
    ("privacy calibrate: most-rounds", "'best'", "a bound that the best may not reach",
     "privacy calibrate", {"best": "yes", "records": "1000000"}, "1"),
    ("privacy calibrate: epsilon", "'tau'", "some noise is enough for any number of rounds",
     "privacy calibrate", {"tau": "0.1"}, "1"),
    ("compare: relative", "'quiet'", "no target is shown, and the rounds run out before it", "compare", {"data": "own.csv"}, "no"),
    ("agent: policy.allow", "simulated", "what may leave in runs without privacy, and this one is not", "agent", {}, "facts"),
    ("agent: policy.coordinator", "private", "about runs without privacy, and this one is not", "agent", {}, "untrusted"),
    ("agent: policy.start-models", "private", "where a run may start, and this one starts at zero", "agent", {}, "0" * 64),
    ("agent: policy.start-models", "simulated", "where a run may start, and this one starts at zero", "agent", {}, "0" * 64),
    ("agent: policy.approved", "simulated", "numbers of a proposal, and this one gives none", "agent", {}, "rho=7"),
    ("agent: missing-codes", "private", "a schema says what becomes of them, and noise hides it", "data inspect", {}, "1,2,0"),
    ("coordinator: lead.check", "'auto'", "auto may become a method that mirrors nothing", "coordinator",
     {"algorithm": "fed-plt"}, "yes"),
    ("coordinator: criterion-at", "fedlin", "agents without a model of their own have that of all", "coordinator",
     {"algorithm": "fed-plt"}, "mean"),
    ("compare: criterion-at", "fed-newton", "agents without a model of their own have that of all",
     "compare", {"data": "own.csv"}, "mean"),
]
# What may be refused although it makes a difference: the setting, what must stand in the context, and the reason.
REFUSED = [
    ("runs", None, "the mean of equal runs of theory differs from one by rounding"),
    ("missing", None, "a model of generated rows would fill what they never lack"),
    ("theory: tau", None, "noise that the solver does not add"),
    ("train: privacy.epsilon", "'rounds': '0'", "nothing is run that could be private: only words would differ"),
    ("train: privacy.tau", "'rounds': '0'", "likewise"),
    ("train: uncoordinated", "'rounds': '0'", "it would only change the method of which nothing is run"),
    ("validate: holdout", None, "the last training is of all rows"),
]


# Groups of the settings of train that say how a model is found; the others say of what, and what becomes of it.
METHOD = {"cost", "common cost h", "algorithm", "local training", "participation", "run", "privacy"}


# The defaults with a promise, and those of data of your own then.
PROMISED = {"weights": "rows"}
DECLARED = {"intercept": "yes", "standardise": "schema"}
# Of the section privacy of a proposal, beside those that train has.
PLEDGE = {"privacy.spare": ("COUNT", "auto", None), "privacy.start": ("WORD", "zero", ["zero", "released"])}


class Table:
    """A command's settings, by its help."""

    def __init__(self, command, words=()):
        self.rows, self.groups = {}, {}
        if command == "coordinator":  # the proposal, and what stands beside it in the file
            self.add("train", words)
            self.add(command, (), "lead.")
            self.rows.update(PLEDGE)
            self.groups.update(dict.fromkeys(PLEDGE, "privacy"))
        else:
            self.add(command, words)

    def add(self, command, words, before=""):
        text = subprocess.run([PROGRAM, *command.split(), *words, "--help"], text=True, capture_output=True,
                              check=True).stdout
        group = ""
        for heading, name, wants, about in re.findall(
                r"^(?:(\w.*)|  --([\w.-]+)(?: (\S+))?((?:  .*|)(?:\n {30}.*)*))$", text, re.M):
            group = heading or group
            if heading:
                continue
            name = before + name
            self.groups[name] = group
            about = " ".join(about.split())
            default = re.search(r"\[([^\[\]]*)\]$", about)
            choices = None
            if wants and "|" in wants:
                choices = wants.split("|")
            elif wants == "WORD":
                choices = re.search(r"\(([^()]*)\)(?: \[[^\[\]]*\])?$", about).group(1).split(", ")
            self.rows[name] = (wants, default and default.group(1).split("; with --data")[0], choices)

    def knows(self, command, name):
        wants, _, choices = self.rows[name]
        return not wants or choices or name in VALUES or (command, name) in OTHERWISE

    def values(self, command, name, now):
        """Other values than `now`, or than the default where that is None."""
        wants, default, choices = self.rows[name]
        now = default if now is None else now
        if not wants:
            return ["no" if now == "yes" else "yes"]
        return [word for word in OTHERWISE.get((command, name)) or choices or VALUES[name] if word != now]


def preferred(said):
    """The defaults that a run prints because the data are your own."""
    block = re.search(r"(?m)^defaults for.*\n((?:  .*\n)*)", said)
    return dict(line.split()[:2] for line in block.group(1).splitlines()) if block else {}


def flags(context):
    words = []
    for name, value in context.items():
        words += value if name == "" else [f"--{name}", value] if value is not None else [f"--{name}"]
    return words


def located(name, value):
    return ",".join(f"../files/{one}" for one in value.split(",")) if name in FILES and value not in ("none", "yes", "no") else value


def difference(first, second):
    """Where two outcomes begin to differ."""
    for one, other in itertools.zip_longest(first, second, fillvalue="nothing"):
        at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        if one != other:
            return f"{one[max(at - 40, 0):at + 40]!r} is then {other[max(at - 40, 0):at + 40]!r}"
    return ""


def stands(where, context):
    if where is None:
        return True
    return f"'{where[1:]}'" not in context if where[0] == "!" else where in context


def is_listed(rows, command, context, name):
    return any(word in (name, f"{command}: {name}") and stands(where, repr(context)) for word, where, *_ in rows)


def is_exempt(command, context, name, base):
    if name in EXEMPT:
        return name != "missing" or "gaps" not in repr(context)
    if name in CONVERGED and (": converged after" in base.said or '"outcome": "converged"' in str(base.files)):
        return True
    return is_listed(HERE, command, context, name)


class Search:
    def __init__(self, files, show, whole, every):
        self.files, self.show, self.whole, self.every = files, show, whole or every, every
        self.founded, self.founding = {}, threading.Lock()  # federations
        self.shown = {}  # of every setting what it was tried beside
        self.shared = set(Table("train").rows)
        self.findings, self.bad, self.runs, self.seen = 0, [], 0, set()
        self.statistics = preferred(self.attempt("train", {"data": "own.csv"}).said)
        assert "intercept" in self.statistics, self.statistics

    def attempt(self, command, context, program=PROGRAM):
        self.runs += 1
        if command == "coordinator":
            return self.federation(command, Led).attempt(program, context)
        context = {name: located(name, value) if isinstance(value, str) else value for name, value in context.items()}
        if command == "agent":
            return self.federation(command, Site, self.files).attempt(program, PROGRAM, context)
        return attempt(program, self.files, command, flags(context))

    def federation(self, command, kind, *words):
        with self.founding:
            if command not in self.founded:
                self.founded[command] = kind(self.files.parent / command, *words)
            return self.founded[command]

    def differs(self, one, other, name, shaky):
        first, second = one.signature(name), other.signature(name)
        if not shaky:
            return first != second
        strip = lambda parts: [re.sub(r"[\d.e+-]*\d", "#", part) for part in parts]
        return strip(first) != strip(second)

    def judge(self, command, context, name, table):
        """One setting in one context: None where all is well, or what is wrong."""
        idle, answers = [], []
        if command == "coordinator" and name in EXEMPT:
            return None
        if not table.knows(command, name):
            return f"{name} has no value to try in tests/cli/effects.py"
        base, shaky = self.bases[id(context)], self.shaky[id(context)]
        own = command == "coordinator" or "paper" in table.rows and "data" in context and "paper" not in context
        private = {"privacy.epsilon", "privacy.tau"} & context.keys()
        statistics = self.statistics if own and not private else {**(DECLARED if own else {}), **(PROMISED if private else {})}
        unless = {"relative": "tolerance", "tolerance": "relative"}
        statistics = {key: value for key, value in statistics.items() if unless.get(key) not in context}
        for value in table.values(command, name, context.get(name, statistics.get(name))):
            changed = {**context, name: value}
            got = self.attempt(command, changed)
            if got.status == ENDLESS:
                return f"{name} {value} {got.complained}"
            refusal = got.status == 2 and "has no effect" in got.complained
            if refusal and not self.whole:
                answers.append((value, "refused", got.complained.strip()))
                break
            if refusal:
                careless = self.attempt(command, changed, CARELESS)
                own = re.search(r": (\S+) has no effect", got.complained)
                answers.append((value, "refused", got.complained.strip()))
                if own and own.group(1) == name and not shaky and not is_listed(REFUSED, command, context, name) and \
                        careless.status == 0 and self.differs(base, careless, name, False):
                    return f"{name} {value} is refused, but has an effect: {got.complained.strip()} " \
                        f"[{difference(base.signature(name), careless.signature(name))}]"
                if own and own.group(1) == name:
                    continue
                break  # another setting has lost its effect: this one has one
            if self.differs(base, got, name, shaky):
                answers.append((value, "effect", got.complained.strip()[:200]))
                break
            idle.append(value)
            answers.append((value, "NOTHING", ""))
        else:
            if idle and not is_exempt(command, context, name, base):
                return f"{name} {' or '.join(idle)} is taken and has no effect"
        if self.show:
            print("#  ", name, answers, flush=True)
        return None

    def elsewhere(self, contexts, row):
        """An exemption is for some contexts: the setting must have an effect in the one that it names."""
        word, _, _, command, more, value = row
        name = word.split(": ")[-1]
        context = {**contexts[command], **more}
        base, other = self.attempt(command, context), self.attempt(command, {**context, name: value})
        if base.status or not self.differs(base, other, name, False):
            line = f"{command} {' '.join(flags(context))}: {name} {value} has no effect there either"
            self.find(f"{line} {base.complained.strip()[:160]}")

    def find(self, line):
        print("#", line, flush=True)
        self.findings += 1

    def wanted(self, command, context, number, name, table):
        """A short search sees a setting of train in three contexts, and what others share with it in some commands."""
        if self.whole:
            return command != "train" or self.every or self.covers(context, name, table)
        if not is_drawn(3, command, name):
            return False
        if command != "train" and name not in self.shared:
            return True
        draw = zlib.crc32(f"{command} {name}".encode())
        return (draw + number) % 7 < 3 if command == "train" else draw % 5 == 0

    def covers(self, context, name, table):
        """Whether the context shows the setting something new: itself, for what says how agents train, where algorithm
        and solver are mixed; a value beside generated rows or files, with or without privacy; for what is far from it, the
        value alone."""
        side = lambda word: table.groups.get(word) in METHOD
        kind = ("data" in context, "privacy.epsilon" in context or "privacy.tau" in context)
        values = {(key, value, kind if side(key) == side(name) else None) for key, value in context.items()}
        if table.groups[name] in ("algorithm", "local training") and {"algorithm", "solver"} & context.keys():
            values.add((repr(context),))
        new = values - self.shown.setdefault(name, set())
        self.shown[name] |= new
        return bool(new)

    def explore(self, command, contexts, pool, only):
        """All settings in all contexts of a command."""
        self.bases, self.shaky = {}, {}
        bases = list(pool.map(lambda context: [self.attempt(command, context) for _ in range(2)], contexts))
        jobs = []
        for context, (one, two) in zip(contexts, bases):
            if one.status not in ((0,) if command == "agent" else (0, 1)):
                self.bad.append(f"{command} {' '.join(flags(context))}: {one.complained.strip()[:160]}")
                continue
            self.bases[id(context)] = one
            self.shaky[id(context)] = one.signature("") != two.signature("")
            extra = ["--algorithm", context["algorithm"]] if context.get("algorithm") else []
            table = Table(command, extra + (["--data", "x"] if "data" in context else []))
            for name in table.rows:
                if only == name or (only is None and self.wanted(command, context, contexts.index(context), name, table)):
                    jobs.append((context, name, table))
        if contexts and not self.bases:
            self.find(f"{command}: no context is taken: {self.bad[-1]}")
        for (context, name, table), found in zip(jobs, pool.map(lambda job: self.judge(command, *job), jobs)):
            self.seen.add((command, name))
            if found:
                shaky = " (random)" if self.shaky[id(context)] else ""
                self.find(f"{command} {' '.join(flags(context))}{shaky}: {found}")


# Files and contexts


def write_files(files):
    draw = random.Random(7)
    rows = [(site, draw.choice([-1, 1]), round(draw.gauss(site, 1), 3), round(draw.gauss(0, 2), 3),
             draw.randrange(1, 4), draw.randrange(1, 5)) for site in range(4) for _ in range(12 + site)]
    rows = [(s, b, round(x + b, 3), y, z, w) for s, b, x, y, z, w in rows]

    def write(name, header, lines):
        (files / name).write_text("\n".join([header, *(",".join(map(str, line)) for line in lines)]) + "\n")

    head = "site,label,x1,x2,x3,weight"
    write("own.csv", head, rows)
    write("own-folds.csv", "site,row,fold", [(site, r + 1, r % 2) for site in range(4) for r in range(12 + site)])
    write("other.csv", head, rows[5:])
    write("far.csv", head, [(s, b, 1e7 + x, *rest) for s, b, x, *rest in rows])
    write("one.csv", head[5:], [row[1:] for row in rows])
    write("a.csv", head[5:], [row[1:] for row in rows[:20]])
    write("b.csv", head[5:], [row[1:] for row in rows[20:]])
    write("numbers.csv", head, [(s, round(x - y + b / 3 + 0.01, 3), *rest) for s, b, x, y, *r in rows
                                for rest in [(x, y, *r)]])
    (files / "bare.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    write("counts.csv", head, [(s, z * w, *rest) for s, b, *rest in rows for z, w in [rest[2:]]])
    write("classes.csv", head, [(s, "abc"[z - 1], x, y, z, w) for s, b, x, y, z, w in rows])
    write("words.csv", head, [(s, b, x, y, "red green blue".split()[z - 1], w) for s, b, x, y, z, w in rows])
    write("gaps.csv", head, [(s, b, x, y if i % 9 else "", z, w) for i, (s, b, x, y, z, w) in enumerate(rows)])
    write("died.csv", "site,died,months,x1,x2,x3", [(s, (b + 1) // 2, z * w + 0.5, x, y, z) for s, b, x, y, z, w in rows])
    (files / "died.schema.yaml").write_text(
        "columns:\n  site: {type: site, names: [0, 1, 2, 3]}\n  died: {type: event, classes: [0, 1]}\n  months: {type: time, bounds: 0.1..99}\n"
        "  x1: {type: number, bounds: -9..9}\n  x2: {type: number, bounds: -9..9}\n  x3: {type: number, bounds: 0..9}\n")
    sites = (
        "columns:\n  site: {type: site, names: [0, 1, 2, 3]}\n  label: {type: label, classes: [-1, 1]}\n"
        "  x1: {type: number, bounds: -9..9}\n  x2: {type: number, bounds: -9..9}\n  x3: {type: number, bounds: 0..9}\n"
        "  weight: {type: number, bounds: 0..9}\n")
    (files / "sites.schema.yaml").write_text(sites)
    (files / "private.schema.yaml").write_text(sites.replace("9}", "9, missing: centre}").replace(
        "1]}", "1], missing: neutral-row, other: neutral-row}"))
    (files / "narrow.schema.yaml").write_text(sites.replace("-9..9", "-0.5..0.5"))
    one = sites.replace("  site: {type: site, names: [0, 1, 2, 3]}\n", "").replace("9}", "9, missing: centre}").replace(
        "1]}", "1], missing: neutral-row, other: neutral-row}")
    (files / "one.schema.yaml").write_text(one)
    write("near.csv", head[5:], [(b, x, y if i % 9 else "", z, w) for i, (s, b, x, y, z, w) in enumerate(rows[:20])])
    (files / "rows.libsvm").write_text("".join(f"{b} 1:{x} 3:{z}\n" for s, b, x, y, z, w in rows))
    (files / "each.csv").write_text("agent,epochs\n0,1\n1,3\n")
    (files / "trace.csv").write_text("0,1\n2\n1,3\n0\n" * 5)
    for words in (["data", "convert", "a.csv", "near.fplt"],
                  ["data", "convert", "a.csv", "declared.fplt", "--schema", "one.schema.yaml"], ["data", "convert", "own.csv", "own.fplt"], ["data", "convert", "one.csv", "one.npy"],
                  ["key", "create", "site"], ["key", "create", "another"],
                  ["train", "--data", "own.csv", "--eps", "1", "--quiet", "--out", "start"],
                  ["train", "--data", "numbers.csv", "--quiet", "--out", "regression"],
                  ["train", "--data", "own.csv", "--schema", "private.schema.yaml", "--privacy.epsilon", "8", "--rounds", "4",
                   "--ledger", "ledger.db", "--sign", "site.key", "--quiet", "--out", "private"],
                  ["train", "--agents", "4", "--rows", "12", "--features", "3", "--rounds", "4", "--quiet", "--out", "run",
                   "--tolerance", "0", "--checkpoint", "state", "--checkpoint-every", "2"]):
        subprocess.run([PROGRAM, *words, *(["--pictures", "no"] if words[0] == "train" else [])], cwd=files, check=True,
                       capture_output=True)
    shutil.copy(files / "start/model.json", files / "start.json")
    if {"--all", "--every"} & set(WORDS):
        federation = Led(files / "led")
        for number, rounds in ("1", "2"), ("2", "3"):
            federation.keep(PROGRAM, {"rounds": rounds, "algorithm": "fed-plt", "lead.run": number})


SMALL = {"agents": "4", "rows": "12", "features": "3", "unequal": "0.5", "rounds": "6", "pictures": "no"}
OWN = {"data": "own.csv", "rounds": "6", "pictures": "no"}
LOCAL = {**OWN, "algorithm": "fed-plt"}
PRIVATE = {**SMALL, "privacy.epsilon": "8", "privacy.noise": "simulated"}


def names(family):
    return json.loads(subprocess.run([PROGRAM, "list", "--json"], capture_output=True, check=True).stdout)[family]


def train_contexts(whole):
    quick = [
        SMALL, OWN, {**SMALL, "solver": "sgd", "participation": "bernoulli", "generator": "planted", "task": "classes"},
        {**LOCAL, "solver": "newton", "h": "elastic-net", "partition": "skewed", "paper": "yes"},
        {**OWN, "data": "rows.libsvm", "partition": "contiguous", "agents": "3", "algorithm": "fedavg", "participation": "fixed"},
        PRIVATE, {**OWN, "data": "numbers.csv", "algorithm": "fed-newton", "regulariser": "none", "loss": "huber"},
    ]
    if not whole:
        return quick
    more = [*quick]
    for algorithm in [*names("algorithms"), "auto"]:
        more += [{**OWN, "algorithm": algorithm}, {**SMALL, "algorithm": algorithm}]
        more += [{**SMALL, "algorithm": algorithm, "participation": "fixed"}]
        more += [{**LOCAL, "algorithm": algorithm, "solver": solver, **({"tau": "0.1"} if "noisy" in solver else {})}
                 for solver in names("solvers")]
        more += [{**LOCAL, "algorithm": algorithm, "p": "0.5"}] if algorithm in ("tamuna", "scaffnew") else []
        more += [{**LOCAL, "algorithm": algorithm, "h": "l1"}, {**OWN, "algorithm": algorithm, "data": "one.csv"},
                 {**PRIVATE, "algorithm": algorithm}]
    for solver in names("solvers"):
        more += [{**SMALL, "solver": solver, **({"tau": "0.1"} if "noisy" in solver else {}), "participation": "bernoulli"}]
    for h in names("prox"):
        more += [{**SMALL, "h": h}, {**OWN, "h": h}, {**SMALL, "h": h, "algorithm": "fedavg"}]
    for participation in names("participation"):
        extra = {"trace": "trace.csv"} if participation == "trace" else {}
        more += [{**SMALL, "participation": participation, **extra}, {**OWN, "participation": participation, **extra},
                 {**OWN, "data": "one.csv", "participation": participation}]
    for generator in names("generators"):
        more += [{**SMALL, "generator": generator}]
    for task in ("binary", "classes", "regression"):
        more += [{**SMALL, "generator": "planted", "task": task}]
    for name, values in (("regulariser", names("regularisers")), ("weights", ["rows", "agents"]), ("clip", ["1"]),
                         ("precision", ["float32"]), ("class-weight", ["balanced"]), ("holdout", ["0.3"]),
                         ("standardise", ["no", "yes", "scale", "auto"]), ("radius", ["1"]), ("intercept", ["yes", "no"]),
                         ("start", ["random", "prior"]), ("tolerance", ["0", "1e-2"]), ("relative", ["yes", "no"]),
                         ("change", ["1e-3"]), ("eval-every", ["0", "2"]), ("criterion-at", ["model", "mean"]),
                         ("checkpoint", ["OWN/state"]), ("json", ["yes"]), ("quiet", ["yes"]), ("strict", ["yes"]),
                         ("agents-models", ["yes"]), ("uncoordinated", ["each.csv"]), ("epochs", ["1", "auto"]),
                         ("loss", ["least-squares", "squared-hinge", "huber", "logistic"]), ("eps", ["0"]),
                         ("rounds", ["0", "200"])):
        for value in values:
            more += [{**SMALL, name: value}, {**OWN, name: value}, {**LOCAL, name: value}, {**PRIVATE, name: value}]
    more += [{**SMALL, "start": "model", "start-model": "start.json", "features": "4"},
             {**OWN, "start": "model", "start-model": "start.json"}, {**SMALL, "resume": "state"},
             {**OWN, "solver": "noisy", "tau": "0.1", "algorithm": "fed-plt", "start": "prior"}]
    for data, extra in (("counts.csv", {"loss": "poisson", "task": "regression"}), ("classes.csv", {}), ("words.csv", {"categories": "auto"}),
                        ("words.csv", {"categories": "x3", "drop-first-level": "yes"}), ("gaps.csv", {"missing": "drop"}),
                        ("gaps.csv", {"missing": "constant"}), ("gaps.csv", {"missing": "median"}), ("own.fplt", {}),
                        ("one.npy", {}), ("one.npy", {"partition": "shuffled"}), ("rows.libsvm", {}), ("a.csv,b.csv", {}),
                        ("own.csv", {"schema": "sites.schema.yaml"}), ("died.csv", {"schema": "died.schema.yaml"}),
                        ("own.csv", {"row-weight": "weight"}), ("own.csv", {"bounds": "-50..50", "labels": "1=1,-1=-1"}),
                        ("own.csv", {"columns": "x1,x2"}), ("own.csv", {"id": "x2"}), ("own.csv", {"format": "csv"}),
                        ("numbers.csv", {"task": "regression"}), ("numbers.csv", {"loss": "huber"}),
                        ("bare.csv", {"header": "no", "label": "2", "site": "1"}),
                        ("own.csv", {"partition": "contiguous"}), ("own.csv", {"partition": "shuffled"}),
                        ("own.csv", {"partition": "skewed"}), ("own.csv", {"paper": "yes"})):
        for method in ({}, {"algorithm": "fed-plt", "solver": "sgd"}, {"algorithm": "fedlin", "participation": "all"}):
            more += [{**OWN, "data": data, **extra, **method}]
    for threat in ("broadcast", "secagg", "secagg-sum", "final-y", "final-x", "paper"):
        more += [{**PRIVATE, "privacy.threat": threat}]
    schema = {"data": "own.csv", "schema": "private.schema.yaml", "rounds": "6", "pictures": "no", "privacy.noise": "simulated"}
    more += [{**schema, "privacy.epsilon": "8"}, {**schema, "privacy.tau": "0.1"}, {**SMALL, "privacy.tau": "0.1", "privacy.noise": "simulated"},
             {**PRIVATE, "participation": "fixed"}, {**PRIVATE, "privacy.diagnose": "yes"},
             {**PRIVATE, "ledger": "OWN/ledger.db"},
             {**schema, "privacy.epsilon": "8", "solver": "noisy-accelerated"}]
    return more


BRIEF = {"rounds": "20"}
FEW = {"agents": "3", "rows": "10", "features": "2", "unequal": "0.5"}


def other_contexts(whole):
    """Of every other command: its contexts, the first of which are those of a short search."""
    model, regression = "../files/start/model.json", "../files/regression/model.json"
    compare = {"algorithms": "fed-plt,fedavg", "runs": "2", "pictures": "no", **BRIEF}
    yield "compare", [{**compare, "data": "own.csv"}], [
        {**compare, **FEW}, {**compare, **FEW, "tune": "yes", "points": "2"}, {**compare, "data": "rows.libsvm"},
        {**compare, **FEW, "quiet": "yes"}, {**compare, **FEW, "solver": "sgd", "participation": "fixed"}, {**compare, **FEW, "algorithms": "fed-newton,fed-lbfgs"}]
    yield "tune", [{"data": "own.csv", "json": "yes"}], [
        {"lmin": "0.1", "lmax": "4"}, {**FEW, "json": "yes"}, {**FEW, "by": "experiment", "tune-rounds": "30"},
        {"data": "own.csv", "by": "both", "tune-rounds": "30"}, {"lmin": "0.1", "lmax": "4", "public": "yes"},
        {**FEW, "generator": "quadratic"}, {"lmin": "0.1", "lmax": "4", "algorithm": "fed-plt-anderson"}]
    yield "theory", [{"data": "own.csv", "show-rounds": "9", "json": "yes"}], [
        {"data": "own.csv", "show-rounds": "9"},
        {"lmin": "1", "lmax": "4"}, {**FEW, "show-rounds": "9"}, {"lmin": "1", "lmax": "4", "participation": "fixed", "active": "3"}, {**FEW, "show-rounds": "9", "picture": "none"},
        {**FEW, "solver": "noisy", "tau": "0.1", "runs": "2", "show-rounds": "9"}, {"lmin": "1", "lmax": "4", "solver": "noisy", "tau": "0.1"},
        {**FEW, "participation": "bernoulli", "show-rounds": "9"}, {**FEW, "generator": "quadratic", "show-rounds": "9"}]
    for command in ("predict", "evaluate"):
        yield command, [{"": [model, "../files/own.csv"]}], [
            {"": [regression, "../files/numbers.csv"]}, {"": [model, "../files/gaps.csv"], "missing": "drop"},
            {"": [model, "../files/own.csv"], "json": "yes"}, {"": [model, "../files/own.fplt"]},
            {"": ["../files/run/model.json", "../files/rows.libsvm"]}] + [
            {"": [model, "../files/own.csv"], "grid": "100"}] * (command == "evaluate")
    yield "summary", [{"": [model]}], [{"": [model, "../files/own.csv"], "refit": "yes"}, {"": [regression]},
                                       {"": [model, "../files/own.csv"]}, {"": ["../files/run/model.json"]},
                                       {"": [model], "json": "yes"}, {"": [model], "csv": "yes"}]
    yield "report", [{"": ["../files/start"], "to": "OWN/r.html"}], [
        {"": ["../files/start", "../files/own.csv"], "to": "OWN/r.html"}]
    yield "data generate", [{"": ["g.csv"], **FEW}], [
        {"": ["g.csv"], **FEW, "generator": g} for g in names("generators")[1:]] + [
        {"": ["g.csv"], **FEW, "generator": "planted", "task": t} for t in ("classes", "regression")] + [
        {"": ["g.fplt"], **FEW}, {"": ["g.libsvm"], **FEW}, {"": ["g.npy"], **FEW}]
    for command, target in (("data convert", ["c.fplt"]), ("data inspect", [])):
        yield command, [{"": ["../files/own.csv", *target]}], [
            {"": ["../files/rows.libsvm", *target]}, {"": ["../files/own.fplt", *target]}, {"": ["../files/one.npy", *target]},
            {"": ["../files/gaps.csv", *target], "missing": "drop"}, {"": ["../files/own.csv", *target], "partition": "shuffled"},
            {"": ["../files/words.csv", *target], "categories": "x3"}, {"": ["../files/numbers.csv", *target]},
            {"": ["../files/own.csv", *target], "schema": "sites.schema.yaml"}]
    yield "data schema", [{"": ["../files/own.csv"]}], [{"": ["../files/rows.libsvm"]}, {"": ["../files/own.fplt"]}]
    goal = {"rounds": "200", "relative": "yes", "eval-every": "1", "tolerance": "1e-8", "algorithm": "fed-plt", "json": "yes"}
    baseline = {**goal, "resamples": "10", "out": "OWN/b"}
    planted = {"generator": "planted", "task": "regression", **FEW}
    yield "baseline", [{**baseline, "data": "numbers.csv"}], [
        {name: value for name, value in {**baseline, "data": "numbers.csv", "algorithms": "fed-plt,fedavg"}.items()
         if name != "algorithm"},
        {**baseline, **planted}, {**baseline, "data": "numbers.csv", "epochs": "auto"}]
    validate = {**goal, "data": "own.csv", "folds": "2", "grid": "0.1,1"}
    left_out = {**goal, "data": "own.csv", "by": "sites", "grid": "0.1,1", "tolerance": "1e-5"}
    yield "validate", [validate], [{**validate, "out": "OWN/v"}, left_out, {**left_out, "epochs": "auto"},
                                   {**validate, "search": "h-weight", "h": "l1"}]
    yield "export", [{"": [model], "to": "csv"}], [{"": [model], "to": "onnx"}]
    mechanisms = [{**one, **two, **three} for one in ({}, {"proximal": "no"}, {"lattice": "no"})
                  for two in ({}, {"step-wise": "yes"}) for three in ({}, {"gamma": "0.3"})]
    chances = [{}, {"active-share": "0.5"}, {"batch-rate": "0.1"}, {"json": "yes"}]
    yield "privacy epsilon", [{"tau": "0.3"}], [
        {"tau": "0.3", **one, **other} for one in mechanisms for other in chances if one or other]
    yield "privacy calibrate", [{}], [
        {"threat": threat, **one, **other} for threat in ("transcript", "final-y", "final-x", "paper") for one in mechanisms
        for other in ({"rounds": "3"} if threat == "paper" else {}, {"tau": "0.03" if threat == "paper" else "0.1"}, {"best": "yes"})]
    yield "privacy curve", [{"tau": "0.3", "most": "20"}], [
        {"tau": "0.3", "most": "20", **other} for other in [*mechanisms[1:], {"json": "yes"}]]
    audit = {**FEW, "rounds": "2", "runs": "100", "privacy.epsilon": "4", "secure-noise": "no", "epochs": "2"}
    yield "privacy audit", [audit], [{**audit, "canary": "features"}]
    tradeoff = {**FEW, "rounds": "3", "repeats": "2", "epsilons": "1,4", "json": "yes"}
    yield "privacy tradeoff", [tradeoff], []
    yield "privacy verify", [{"": ["../files/private/privacy.json"]}], []
    promise = {"lead.schema": "heart.schema.yaml", "privacy.epsilon": "8", "privacy.noise": "simulated", "rounds": "6"}
    noisy = {name: value for name, value in {**promise, "privacy.tau": "0.1"}.items() if name != "privacy.epsilon"}
    yield "coordinator", [], [
        {"rounds": "6", "algorithm": "auto"}, {"rounds": "60", "algorithm": "fed-plt", "tolerance": "1e-9", "eval-every": "1"},
        {"rounds": "6", "participation": "bernoulli", "solver": "sgd", "tolerance": "1"},
        {"rounds": "6", "algorithm": "fedlin", "lead.schema": "heart.schema.yaml", "holdout": "0.3", "tolerance": "0"},
        promise, {**promise, "algorithm": "fed-plt", "participation": "bernoulli"}, noisy, {**promise, "algorithm": "led"},
        {**promise, "privacy.threat": "broadcast", "solver": "noisy-accelerated", "lead.quorum": "3"}]
    policy = {"policy.federations": "heart", "policy.epsilon": "off", "once": "yes", "proxy": "off"}
    asked = {"plan": "ASKED", "once": "yes", "proxy": "off"}
    budget = {**policy, "policy.epsilon": "2.3"}
    sites = [("plain", {**policy, "data": "a.csv"}), ("private", {**budget, "data": "a.csv"}),
             ("plain", {**policy, "data": "near.fplt"}), ("plain", {**asked, "data": "a.csv"}),
             ("plain", {**policy, "data": "near.csv", "missing": "drop"}), ("sparse", {**policy, "data": "rows.libsvm"}),
             ("declared", {**policy, "data": "a.csv"}), ("declared", {**policy, "data": "a.csv", "schema": "one.schema.yaml"}),
             ("private", {**asked, "data": "a.csv"}), ("simulated", {**policy, "data": "a.csv"}),
             ("private", {**budget, "data": "declared.fplt", "schema": "one.schema.yaml"})]
    ways = [[{"": [kind, way], **settings} for way in ("file", "flags")] for kind, settings in sites]
    yield "agent", ways[0][:1] + ways[1][1:], ways[0][1:] + ways[1][:1] + [context for way in ways[2:] for context in way]
    ledger = {"": ["../files/ledger.db"]}
    yield "privacy ledger", [ledger], [{**ledger, "json": "yes"}]
    yield "paper", [], [{"seeds": "1", "runs": "1", "points": "1"}]
    led = {"folder": "../files/led/heart"}
    yield "federation history", [], [led, {**led, "trace": "yes"}, {**led, "json": "yes"}]
    yield "pki list", [], [led]
    yield "list", [{"": ["solvers"]}], [{}]
    yield "version", [{}], []


def search(whole, every, only, setting, show):
    """What was found, contexts the program refuses, and how many runs it took."""
    with tempfile.TemporaryDirectory(prefix="fedplt-effects-") as folder:
        files = pathlib.Path(folder) / "files"
        files.mkdir()
        write_files(files)
        found = Search(files, show, whole, every)
        whole = whole or every
        examples = {}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for command, quick, more in itertools.chain([("train", train_contexts(whole), [])], other_contexts(whole)):
                examples[command] = (quick or more)[0]
                if only in (None, command):
                    found.explore(command, quick + (more if whole else []), pool, setting)
            if only is None and setting is None:
                list(pool.map(lambda row: found.elsewhere(examples, row),
                              [row for row in HERE if whole or is_drawn(3, *map(str, row))]))
        return found


def main():
    found = search("--all" in WORDS, "--every" in WORDS, option("--only"), option("--setting"), "--show" in WORDS)
    if {"--show", "--all", "--every"} & set(WORDS):
        for line in found.bad:
            print("# no context:", line)
    print(f"# {found.runs} runs, {len(found.seen)} settings of commands")
    print(f"# FEDPLT_TESTS={SEED}")
    print("1..1")
    print("not ok" if found.findings else "ok", "1 - every setting that is taken has an effect")
    return found.findings > 0


if __name__ == "__main__":
    sys.exit(main())
