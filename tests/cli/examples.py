#!/usr/bin/python3
"""Runs every example of every command's help, and every command that a sentence advises. Speaks TAP.

usage: tests/cli/examples.py PROGRAM
Run from the root of the source tree.

An example must end with status 0. One that is still at work after a second is interrupted, and must then
end as interrupted commands do.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from cli import PROGRAM, ROOT, CASES, Place, case, commands, main

CASES.clear()
PATIENCE = 1.0
PATH = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"


def examples(command):
    """The lines of a command's help; those of the program where it is empty."""
    text = subprocess.run([PROGRAM, *command.split(), "--help"], text=True, capture_output=True, check=True).stdout
    lines = text.split("\nexamples\n")[1].split("\n\n")[0].splitlines()
    found = [line.strip() for line in lines if line.startswith("  ")]
    assert found, command
    return found


def follow(line, folder, **variables):
    """Runs a line as a person's shell would."""
    process = subprocess.Popen(["bash", "-c", line], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               env=dict(os.environ, PATH=PATH, **variables))
    at_work = False
    try:
        out, told = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        at_work = True
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, told = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"{line}: does not end")
    legal = (0, 130, -signal.SIGINT) if at_work else (0,)
    assert process.returncode in legal, f"{line}: status {process.returncode}: {told or out}"
    return out + told


def furnish(folder):
    """The files that examples speak of."""
    place = Place(folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "docs").mkdir()
    place.run("data", "generate", "hospitals.csv", "--agents", 4, "--features", 13, "--rows", 60)
    place.run("data", "schema", "hospitals.csv", "--out", "hospitals.schema.yaml")
    for name in ("new.csv", "test.csv"):
        shutil.copy(folder / "hospitals.csv", folder / name)
    for name in ("north.csv", "south.csv"):
        place.run("data", "generate", name, "--agents", 1, "--features", 13, "--rows", 60)
    place.run("data", "generate", "a9a.libsvm", "--agents", 1, "--features", 20, "--rows", 300)
    (folder / "a9a.libsvm").rename(folder / "a9a")
    place.run("data", "generate", "new.libsvm", "--agents", 1, "--features", 20, "--rows", 30)
    place.run("train", "--data", "a9a", "--agents", 5, "--out", "sparse", "--pictures", "no")
    (folder / "sparse/model.json").rename(folder / "model.json")
    place.run("train", "--data", "hospitals.csv", "--holdout", 0.3)
    place.write("estimates.csv", "site,term,estimate,std_error\na,dose,1,0.5\nb,dose,2,0.4\n")
    place.write("trial.csv", "site,dose,label\n" + "".join(f"{'ns'[i % 2]},{i % 7},{(i * i // 3) % 2}\n" for i in range(80)))
    place.run("train", "--data", "trial.csv", "--out", "trial")
    place.write("cohort.csv", "site,arm,age,days,died\n" + "".join(
        f"{'ns'[i // 3 % 2]},{'ab'[i % 2]},{40 + i * 7 % 31},{1 + i * 37 % 97},{'yes' if i * i % 5 else 'no'}\n" for i in range(90)))
    place.write("cohort.yaml", "columns:\n  site: site\n  arm: {type: category, levels: [a, b], base: a}\n"
                "  age: {type: number, bounds: 18..100}\n  days: {type: time, bounds: 1..2000}\n"
                "  died: {type: event, classes: [no, yes]}\n")
    place.run("train", "--data", "cohort.csv", "--schema", "cohort.yaml", "--out", "cohort")
    place.write("patients.csv", "arm,age\na,50\nb,64\n")
    return place


def with_promise(place):
    place.run("key", "create", "hospital")
    place.run("train", "--data", "hospitals.csv", "--schema", "hospitals.schema.yaml", "--privacy.epsilon", 2,
              "--sign", "hospital.key", "--ledger", "ledger.db")


FEDERATED = ("pki invite", "pki sign", "pki revoke", "pki list", "coordinator", "agent", "agent join",
             "agent approve", "agent approve-withdrawal", "agent backup", "agent identity", "agent log", "agent peers",
             "federation backup", "federation describe", "federation evaluate", "federation exclude", "federation log", "federation withdraw", "federation verify", "agent ledger", "agent request", "federation survival", "federation survival-test", "federation status", "federation check", "federation history",
             "federation pause", "federation resume", "federation end")
BEFORE = {"privacy verify": with_promise, "privacy ledger": with_promise}


@case
def every_example_of_the_help_runs(place):
    base = place.folder / "base"
    base.mkdir()
    furnish(base)

    def problems(command):
        folder = place.folder / (command.replace(" ", "-") or "all")
        shutil.copytree(base, folder, symlinks=True)
        if command in BEFORE:
            BEFORE[command](Place(folder))
        for line in examples(command):
            try:
                follow(re.sub(r"   .*", "", line) if not command else line, folder)
            except AssertionError as problem:
                yield str(problem)

    names = [name for name in ["", *commands()] if name not in FEDERATED]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # most of them wait to be interrupted
        found = list(pool.map(lambda name: list(problems(name)), names))
    assert not any(found), "\n".join(sum(found, []))


def free_ports():
    """The coordinator takes one, and the next for those who join."""
    for port in range(20000 + os.getpid() % 20000, 60000, 2):
        with socket.socket() as one, socket.socket() as two:
            try:
                one.bind(("127.0.0.1", port))
                two.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                pass


def start(line, folder, name):
    return subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=folder, stdin=subprocess.DEVNULL,
                            stdout=open(folder / f"{name}.log", "w"), stderr=subprocess.STDOUT,
                            start_new_session=True, env=dict(os.environ, PATH=PATH))


def waits_for(test, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if test():
            return True
        time.sleep(0.05)
    return False


def settle(folder, port, name, data):
    (folder / name / "site.yaml").write_text(json.dumps({
        "coordinator": f"https://127.0.0.1:{port}", "data": data, "proxy": "off",
        "policy": {"federations": ["heart"], "epsilon": "off", "participants": 1}}))


@case
def every_example_of_a_federation_runs(place):
    """One coordinator, one site that joins with a code and one whose request is signed."""
    folder, port = place.folder, free_ports()
    heart, running = folder / "heart", []
    for name in ("basel", "bern"):
        place.run("data", "generate", f"{name}.csv", "--agents", 1, "--rows", 50)
    place.run("pki", "init", "heart", "--address", f"127.0.0.1:{port}")
    (heart / "federation.yaml").write_text(json.dumps({
        "federation": "heart", "listen": f"127.0.0.1:{port}", "roster": ["basel", "bern"],
        "train": {"algorithm": "fed-plt", "rounds": 10 ** 6, "tolerance": 0}}))

    def each(command, where, **variables):
        return [follow(line, where, **variables) for line in examples(command)]

    try:
        code = each("pki invite", heart)[0].split()[0]
        for line in examples("coordinator"):
            running.append(start(line, heart, "coordinator"))
        assert waits_for(lambda: (heart / "coordinator.log").stat().st_size), "the coordinator says nothing"
        assert waits_for(lambda: subprocess.run([PROGRAM, "federation", "status", "--folder", "heart"], cwd=folder,
                                                capture_output=True).returncode == 0)
        for line in examples("agent join"):
            follow(f"no_proxy='*' {line}", folder, CODE=code)
        (folder / "bern").mkdir()
        for line in examples("agent request"):
            follow(line.replace("basel", "bern"), folder)
        shutil.copy(folder / "bern/agent.request", heart)
        each("pki sign", heart)
        shutil.copy(heart / "agent.pem", folder / "bern")
        agent = examples("agent")
        for name, line in zip(("basel", "bern"), agent):
            settle(folder, port, name, f"../{name}.csv")
            running.append(start(line, folder / name, "agent"))
        assert len(agent) == 2

        def state():
            return json.loads(each("federation status", folder)[0])
        assert waits_for(lambda: state().get("round", 0) > 2), (state(), (folder / "bern/agent.log").read_text())
        for command, where in (("pki list", heart), ("federation check", folder), ("federation pause", heart),
                               ("federation resume", heart), ("pki revoke", heart), ("federation end", heart)):
            each(command, where)
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
    each("federation history", folder)


def advised(text):
    return [line.strip() for line in text.split("\nnext\n")[1].splitlines()
            if line.startswith("  ") and not line.strip().startswith("(")]


@case
def what_comes_next_can_be_pasted(place):
    """Blanks and quotes in every name; other files than one; private; ended before it arrived."""
    for name in ("my data.csv", "its data.csv"):
        place.run("data", "generate", name, "--agents", 1, "--rows", 300, "--features", 3)
    place.run("data", "schema", "my data.csv", "--out", "my schema.yaml")
    one, quick = ["--data", "my data.csv"], ["--pictures", "no"]
    for words in (["train", *one, *quick, "--out", "it's one"],
                  ["train", *one, "--data", "its data.csv", "--site", "none", *quick],
                  ["train", *one, *quick, "--algorithm", "fed-plt", "--rounds", 2],
                  ["train", *one, *quick, "--schema", "my schema.yaml", "--privacy.epsilon", 2],
                  ["train", "--agents", 3, "--rows", 20, *quick],
                  ["tune", *one, "--by", "experiment", "--tune-rounds", 30, "--show", 3],
                  ["tune", "--lmin", 0.5, "--lmax", 5, "--t-communication", 100],
                  ["tune", "--generator", "quadratic", "--lmin", 1, "--lmax", 3, "--agents", 4],
                  ["summary", "it's one/model.json"],
                  ["summary", "it's one/model.json", "my data.csv"]):
        lines = advised(place.run(*words).stdout)
        assert lines, words
        for line in lines:
            follow(line, place.folder)
    through = subprocess.run([PROGRAM, "train", "--data", "-", "--pictures", "no"], cwd=place.folder, text=True,
                             stdin=open(place.folder / "my data.csv"), capture_output=True, check=True).stdout
    for line in advised(through):  # what came through a pipe is gone
        follow(line, place.folder)


@case
def an_interrupted_run_says_how_to_go_on(place):
    process = subprocess.Popen([PROGRAM, "train", "--agents", "4", "--rows", "30", "--rounds", "1000000",
                                "--tolerance", "0", "--eval-every", "0", "--checkpoint", "my state"],
                               cwd=place.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    follow(told.splitlines()[-1].strip(), place.folder)


@case
def commands_in_errors_run(place):
    for name in ("my data.csv", "its data.csv"):
        place.run("data", "generate", name, "--agents", 1, "--rows", 40, "--features", 3)
    for words in (["train", "--data", "my data.csv", "--data", "its data.csv", "--privacy.epsilon", 2],
                  ["privacy", "tradeoff", "--data", "my data.csv"],
                  ["privacy", "audit", "--data", "my data.csv", "--privacy.epsilon", 2],
                  ["privacy", "epsilon"]):
        told = place.run(*words, status=2).stderr
        lines = re.findall("`(fedplt [^`]*)`", told)
        assert len(lines) == 1, told
        follow(lines[0], place.folder)


if __name__ == "__main__":
    sys.exit(main())
