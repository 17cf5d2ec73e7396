#!/usr/bin/python3
"""Typical mistakes of new users: each is answered with status 2 and a sentence that has the remedy. Speaks TAP.

usage: tests/cli/mistakes.py PROGRAM

The list of ../shared/mistakes.txt has 84 command lines and a judgement of each answer: 0 (misleading or silent), 1 (says that something
is wrong), 2 (says what is wrong), 3 (says what is wrong and what to do). All of them are below; where the list is there, a case
checks that none is missing. Judged again:

    judgement              0    1    2    3   mean
    the list, version 0.1  5   13   23   43   2.24
    now                    0    0    9   75   2.89

Judged 2 are files that do not exist (--data, --resume, settings of train and agent), YAML that the parser rejects (indent, bracket),
`report` without arguments, `--participation 0.5` and `--json --quiet`: the sentence has the place and the reason, the user finds the rest.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
LIST = pathlib.Path("../shared/mistakes.txt").resolve()

# A command line, its status, and words that its answer must have.
REFUSED = [
    ("trian", "train"), ("Train", "train"), ("train --dat h.csv", "'data'"), ("train --data hh.csv", "hh.csv", "No such file"),
    ("train --data dir", "folder"), ("train h.csv", "fedplt train --data h.csv"), ("train --data", "--data needs a value"),
    ("train --data h.csv --eps", "--eps needs a value"), ("train --data h.csv --eps 0,01", "0,01", "number", "decimal sign is a point"),
    ("train --data h.csv --epoch 5", "step, pass", "'epochs'"),
    ("train --data h.csv --eps -1", "at least 0"), ("train --data h.csv --eps 10%", "10%", "number", "10 % is 0.1"),
    ("train --data h.csv --rounds 1e3", "whole number", "write 1000"), ("train --data h.csv --lambda 0.1", "'eps'"),
    ("train --data h.csv --C 1", "'eps'", "1/(C x rows)"), ("train --data h.csv --lr 0.1", "'gamma'", "step size"),
    ("train --data h.csv --learning-rate 0.1", "'gamma'"), ("train --data h.csv --epsilon 2", "'privacy.epsilon'"),
    ("train --data h.csv --algorithm fedplt", "fed-plt"), ("train --data h.csv --algorithm feadvg", "fedavg"),
    ("train --data h.csv --solver adam", "gradient"), ("train --data h.csv --loss logit", "here it is logistic"),
    ("train --data h.csv --loss hinge", "here it is squared-hinge"), ("train --data h.csv --algorithm FedAvg", "did you mean 'fedavg'"),
    ("train --data h.csv --active 2", "without participation fixed"), ("train --data h.csv --standardize yes", "'standardise'"),
    ("train --data h.csv --participation fixed --active 9", "from 1 to 2, the number of agents"),
    ("train --data h.csv --bounds -5..5 --labels -1,1 --privacy.epsilon 1e9", "key=value pairs", "yes=1,no=-1"),
    ("train --data h.csv --bounds -5..5 --labels -1=-1,1=1 --privacy.epsilon 1 --privacy.delta 2", "at most 0.1"),
    ("train indent.yaml", "indent.yaml:2", "not YAML"), ("train comma.yaml", "comma.yaml:2", "decimal sign is a point"),
    ("train nocolon.yaml", "nocolon.yaml:1", "'name: value'"), ("train tab.yaml", "tab.yaml:2", "indented with blanks"),
    ("train dup.yaml", "dup.yaml:3", "given twice"), ("train bracket.yaml", "bracket.yaml:3", "not YAML", "']'"),
    ("train --data three.csv --loss logistic", "two classes"), ("train --data three.csv --loss cox", "survival times", "type: time"),
    ("privacy epsilon", "add --tau"), ("privacy verify m/model.json", "no privacy certificate"), ("agent site.yaml", "site.yaml", "No such file"),
    ("coordinator", "federation.yaml"), ("pki invite a b", "at most 1 argument"), ("train --data h.csv --json=yes --quiet", "leave it out"),
    ("train --data h.csv --label outcome", "outcome", "the columns are"), ("train --data h.csv --site hospital", "hospital"),
    ("train --data h.csv --ignore x99", "x99"), ("train --data h.csv --participation 0.5", "bernoulli"),
    ("train --data h.csv --holdout 30", "below 1", "30 % is 0.3"), ("train --data h.csv --threads -1", "threads"),
    ("train --data h.csv --seed abc", "whole number"), ("train --data h.csv --resume nothing", "nothing"),
    ("train --data h.csv --privacy.epsilon 2", "schema"), ("train empty.yaml --out e", "empty.yaml", "no settings", "data:"),
    ("train missing.yaml", "missing.yaml"), ("train typo.yaml", "typo.yaml:2", "'eps'"), ("train flat.yaml", "flat.yaml:2", "privacy.epsilon"),
    ("train --data empty.csv", "empty"), ("train --data header.csv", "no rows"), ("train --data oneclass.csv", "one class"),
    ("train --data dup.csv", "dup.csv:1", "'a'", "a name of its own"), ("train --data ragged.csv", "ragged.csv:3", "fields"),
    ("train --data inf.csv", "inf.csv:3", "finite"), ("train --data quote.csv", "quote"), ("train --data x.pdf", "PDF", "CSV"),
    ("train --data raw.data", "raw.data:1", "--header no"), ("train --data gap.csv", "gap.csv:3: column 'a'", "--missing drop", "--missing median"),
    ("train --data words.csv", "words.csv:2: column 'a'", "--categories auto", "--ignore a"),
    ("predict h.csv m/model.json", "h.csv", "stands before the data"), ("evaluate m/model.json", "DATA"), ("report", "OUT"),
    ("train --data const.csv --out e", "every column is constant", "data inspect"), ("train --data h.csv --out h.csv", "--out"),
    ("train --data h.csv --out /proc/x", "/proc/x", "no folder can be made", "--out"),
    ("train --data mixed.data", "mixed.data:1", "--header no"), ("train --data h.csv --weights w", "'row-weight' meant"),
    ("train --data h.csv --event dead", "'schema'", "type: event"), ("train --data h.csv --time days", "type: time"),
    ("train -d h.csv", "two dashes"), ("agent join abc", "abc"), ("privacy", "usage"),
]
WORK = [("-h", "usage"), ("train --data h.csv --rounds 0", "rounds is 0: nothing was trained"), ("train -h", "[0.5; with --data 0.01]"), ("help train", "--eps"), ("help data inspect", "missing values"), ("-v", "fedplt"),
        ("train --data h.csv --label x1", "so the task is regression", "give task classes"), ("train --data three.csv --loss poisson --out e", "converged"),
        ("train --data h.csv --standardise auto --out e --quiet", ""), ("evaluate m h.csv", "accuracy"), ("summary m", "x1"), ("train --data=h.csv --out e --quiet", "")]


def write(folder):
    rows = "".join(f"{'ab'[i % 2]},{(i * 7 + i // 3) % 5 % 2},{(i % 11 - 5) / 2},{(i * i) % 13}\n" for i in range(60))
    files = {"h.csv": "site,label,x1,x2\n" + rows, "empty.yaml": "", "typo.yaml": "data: h.csv\nepss: 0.1\n",
             "flat.yaml": "data: h.csv\nepsilon: 2\n", "empty.csv": "", "header.csv": "label,a\n", "oneclass.csv": "label,a\n1,2\n1,3\n",
             "dup.csv": "label,a,a\n1,2,3\n", "ragged.csv": "label,a\n1,2\n0,2,3\n", "inf.csv": "label,a\n1,2\n0,inf\n",
             "quote.csv": "label,a\n1,\"2\n0,3\n", "x.pdf": "%PDF-1.4\n", "raw.data": "63.0,1.0,1.0\n67.0,1.0,4.0\n", "mixed.data": "63.0,male,1.0\n67.0,female,4.0\n",
             "gap.csv": "label,a\n1,2\n0,\n1,3\n", "words.csv": "label,a\n1,red\n0,blue\n", "const.csv": "label,a\n1,2\n0,2\n",
             "indent.yaml": "data: h.csv\n  eps: 0.1\n", "comma.yaml": "data: h.csv\neps: 0,01\n", "nocolon.yaml": "data h.csv\n",
             "tab.yaml": "data: h.csv\n\teps: 1\n", "dup.yaml": "data: h.csv\neps: 1\neps: 2\n", "bracket.yaml": "ignore: [a, b\n\n",
             "three.csv": "label,a\n" + "".join(f"{i % 3},{i % 7}\n" for i in range(30))}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "dir").mkdir()
    assert call(folder, "train --data h.csv --out m --quiet --pictures no").returncode == 0


def call(folder, line):
    return subprocess.run([PROGRAM, *shlex.split(line)], cwd=folder, text=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)


def answer(folder, line, status, words):
    done = call(folder, line)
    said = " ".join((done.stdout + done.stderr).split())
    if done.returncode != status:
        return f"fedplt {line}: status {done.returncode}: {said[:300]}"
    lacking = [word for word in words if word not in said]
    return f"fedplt {line}: {lacking} not in {said[:400]}" if lacking else None


@case
def every_mistake_is_answered_with_the_remedy(folder):
    write(folder)
    wrong = [answer(folder, line, 2, words) for line, *words in REFUSED] + [answer(folder, line, 0, words) for line, *words in WORK]
    assert not any(wrong), "\n# ".join(filter(None, wrong))


@case
def every_mistake_of_the_list_is_here(folder):
    if not LIST.exists():
        raise Skip("../shared/mistakes.txt is absent")
    listed = re.findall(r"^[0-3]  fedplt (.*)$", LIST.read_text(), re.M)
    here = {line for line, *_ in REFUSED + WORK}
    assert len(listed) == 84 and not set(listed) - here, set(listed) - here


sys.exit(run_cases("mistakes"))
