"""What tests of attacks by a curious operator share. The roster has two members: agent-0 is the site under attack, with the
policy of README.md, and agent-1 is the operator's own, whose rows are zero, so that sums over both are numbers of the site."""
import csv
import json
import re
import shutil
import subprocess
import time

import federating
from federating import PROGRAM, SECONDS, check, found, log, stop

federating.AGENTS = 2
federating.DISCLOSURE = "strict"
README_POLICY = {"rounds": 1000, "participants": 2}
ALLOW_ALL = ["facts", "measure", "score", "information", "evaluate", "describe"]
TRAIN = {"algorithm": "fedavg", "regulariser": "none", "weights": "agents", "intercept": "yes", "standardise": "no",
         "tolerance": "0", "rounds": "1", "epochs": "1", "eval-every": "0"}
FEATURES = 3


def patients(count):
    """Age, cholesterol, sex and diagnosis; ages differ."""
    return [[40 + 2 * i, 180 + (37 * i) % 101, i % 2, (1 if (7 * i) % 5 < 2 else -1)] for i in range(count)]


def write_rows(path, rows):
    with open(path, "w") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "chol", "sex", "label"])
        writer.writerows(rows)


def prepare(folder, train, policy=README_POLICY, rows=240, **settings):
    """240 rows of 3 columns: questions may cost 360 in all, those for standard errors besides where a case asks for them."""
    if "privacy" not in settings:
        settings = {"inform": "no", **settings}
    write_rows(folder / "site0.csv", patients(rows))
    write_rows(folder / "site1.csv", [[0, 0, 0, 1], [0, 0, 0, -1]])
    commands = found(folder, train, policy={**policy}, **settings)
    path = folder / "agent-1/site.yaml"  # the operator's own site lets everything leave
    document = json.loads(path.read_text())
    document["policy"]["allow"] = ALLOW_ALL
    document["policy"]["disclosure"] = "off"
    document["policy"].pop("start-models", None)
    path.write_text(json.dumps(document))
    return commands


def change(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_policy(folder, number=0, **changes):
    path = folder / f"agent-{number}/site.yaml"
    document = json.loads(path.read_text())
    document["policy"].update(changes)
    path.write_text(json.dumps(document))


def drop_policy(folder, name):
    path = folder / "agent-0/site.yaml"
    document = json.loads(path.read_text())
    del document["policy"][name]
    path.write_text(json.dumps(document))


def wait_for(folder, number, words):
    deadline = time.time() + SECONDS / 4
    while words not in log(folder, number):
        check(time.time() < deadline, words, "was never said:", log(folder, number)[-600:])
        time.sleep(0.01)


def launch(folder, commands, first=0):
    """Processes with logs from number `first` on; a coordinator listens before agents dial, which would wait a second."""
    running = []
    for number, command in enumerate(commands, first):
        running.append(subprocess.Popen([PROGRAM, *command], cwd=folder, stderr=subprocess.STDOUT,
                                        stdout=open(folder / f"{number}.log", "w")))
        if number == 0:
            wait_for(folder, 0, "live page")
    return running


def attempt(folder, commands):
    """One run: its model, or the sentence with which agent-0 refused it."""
    shutil.rmtree(folder / "heart/out", ignore_errors=True)
    running = launch(folder, commands)
    try:
        deadline = time.time() + SECONDS
        while time.time() < deadline:
            refusal = re.search(r"(?:refused +|trouble +)(?:agent-0: )?(.*)", log(folder, 0))
            if refusal:
                return None, refusal[1]
            if all(process.poll() is not None for process in running):
                break
            time.sleep(0.02)
        check([process.poll() for process in running] == [0, 0, 0], log(folder, 0)[-600:], log(folder, 1)[-600:])
    finally:
        stop(running)
    return json.loads((folder / "heart/out/model.json").read_text()), None


class Refused(Exception):
    """The sentence that the coordinator hears."""


def held(folder, commands):
    """The model of a run; Refused where agent-0 does not take part."""
    model, sentence = attempt(folder, commands)
    if sentence:
        raise Refused(sentence)
    return model


def attacks(attack, *words, inside=None):
    """An attack twice: refused under the default with these words, and `inside` in the site's own log; with the rules off it
    reads what it wants to read."""
    def case(folder):
        (folder / "strict").mkdir()
        try:
            attack(folder / "strict", README_POLICY)
            check(False, "the attack was not refused")
        except Refused as refused:
            for word in words:
                check(word in str(refused), word, "is not in:", refused)
            if inside:
                check(str(refused).endswith("disclosure"), "the coordinator heard:", refused)
                check(inside in log(folder / "strict", 1), inside, "is not in:", log(folder / "strict", 1)[-600:])
        (folder / "off").mkdir()
        read, record = attack(folder / "off", {**README_POLICY, "disclosure": "off"})
        check(read == record, "with the rules off the attack reads", read, "instead of", record)
    return case


def refuses(folder, commands, *words):
    model, sentence = attempt(folder, commands)
    check(model is None, "the run was held:", model and model["training"]["algorithm"])
    for word in words:
        check(word in sentence, word, "is not in:", sentence)
