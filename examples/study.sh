#!/bin/sh
# One study over four sites, on one machine: a coordinator and four agents as processes, and every command of
# docs/tutorials/study.md. Made-up patients; nothing is left running.
#
# usage: examples/study.sh FOLDER [FEDPLT]
set -eu
[ $# -ge 1 ] || {
    sed -n '5s/^# //p' "$0" >&2
    exit 2
}
fedplt=$(command -v "${2:-fedplt}")
mkdir "$1"
cd "$1"
sites="north south east west"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

agents=""
stop_agents() {
    for pid in $agents; do kill -INT "$pid" 2>/dev/null || true; done
    for pid in $agents; do wait "$pid" 2>/dev/null || true; done
    agents=""
}
trap stop_agents EXIT

say() {
    printf '\n== %s\n' "$1"
}

# ---- the files of the sites, and what their columns are ----

python3 - <<'PATIENTS'
import csv
import math
import random

random.seed(5)
for place, patients, older in (("north", 1200, 0), ("south", 900, 4), ("east", 800, -3), ("west", 800, 7)):
    with open(place + ".csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow("patient,age,sex,pressure,smoker,disease,days,died".split(","))
        for number in range(patients):
            age, sex = random.gauss(58 + older, 9), random.choice(["female", "male"])
            pressure, smoker = random.gauss(135, 18), random.choice(["never", "past", "now", "never"])
            risk = 0.05 * (age - 58) + 0.7 * (sex == "male") + 0.02 * (pressure - 135) + 0.9 * (smoker == "now")
            disease = random.random() < 1 / (1 + math.exp(0.6 - risk))
            until, watched = random.expovariate(math.exp(0.6 * risk) / 900), random.uniform(100, 1500)
            table.writerow([f"{place[0]}{number}", round(age, 1), sex,
                            "" if random.random() < 0.12 else round(pressure), smoker,
                            "yes" if disease else "no", math.ceil(min(until, watched)),
                            "yes" if until < watched else "no"])
PATIENTS

columns="columns:
  patient: id
  age: {type: number, bounds: 18..100, missing: centre}
  sex: {type: category, levels: [female, male], base: female}
  pressure: {type: number, bounds: 80..220, missing: centre}
  smoker: {type: category, levels: [never, past, now], base: never}"
printf '%s\n' "$columns" "  disease: {type: label, classes: ['no', 'yes']}" "  days: ignore" "  died: ignore" >disease.yaml
printf '%s\n' "$columns" "  disease: ignore" "  days: {type: time, bounds: 1..1500}" \
    "  died: {type: event, classes: ['no', 'yes']}" >survival.yaml

# ---- the federation ----

say "a federation of four sites"
"$fedplt" pki init heart --address "127.0.0.1:$port" >/dev/null
for site in $sites; do "$fedplt" pki invite --folder heart "$site" >"$site.code"; done
lead="federation: heart
listen: 127.0.0.1:$port
roster: [north, south, east, west]
purpose: risk factors of the disease, and of death"
printf '%s\n' "$lead" "schema: ../disease.yaml" "validate: {folds: 5, grid: [0.001, 0.01, 0.1]}" "refit: yes" \
    >heart/disease.yaml
printf '%s\n' "$lead" "schema: ../survival.yaml" "run: 100" "out: deaths" "refit: yes" \
    "train: {loss: cox}" >heart/survival.yaml

start_agents() { # with the columns that the site agrees to
    for site in $sites; do
        printf '%s\n' "coordinator: https://127.0.0.1:$port" "data: ../$site.csv" "schema: ../$1" \
            "policy: {federations: [heart], rounds: 5000, epsilon: off}" >"$site/site.yaml"
        (cd "$site" && exec "$fedplt" agent site.yaml >>agent.log 2>&1) &
        agents="$agents $!"
    done
}

lead() { # a command of the coordinator, in its folder
    (cd heart && "$fedplt" "$@")
}

# ---- the study ----

say "the model: penalty by validation, then the refit without it"
lead coordinator disease.yaml --once >coordinator.log 2>&1 &
leader=$!
for site in $sites; do
    until "$fedplt" agent join "$(cat "$site.code")" --folder "$site" >join.log 2>&1; do # it may not listen yet
        kill -0 "$leader" 2>/dev/null || { cat coordinator.log >&2; exit 1; }
        sleep 0.2
    done
done
start_agents disease.yaml
wait "$leader"
cat heart/out/validation.txt
"$fedplt" summary heart/out/model.json

say "Table 1"
lead federation describe disease.yaml --by disease >table1.txt
tail -n 40 table1.txt

say "how well the model does at each site"
lead federation evaluate disease.yaml out/model.json >evaluate.txt
tail -n 25 evaluate.txt

say "survival: curves, the model, and its test"
stop_agents
start_agents survival.yaml
lead coordinator survival.yaml --once >survival.log 2>&1
"$fedplt" summary heart/deaths/model.json
lead federation survival survival.yaml --by sex >curves.txt
tail -n 25 curves.txt
lead federation survival-test survival.yaml deaths/model.json >test.txt
tail -n 15 test.txt

say "one page for the others"
stop_agents
"$fedplt" report heart/out --to disease.html --title "The disease at four hospitals"
"$fedplt" report heart/deaths --to deaths.html --title "Deaths at four hospitals"
