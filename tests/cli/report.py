#!/usr/bin/python3
"""`fedplt report`: the page beside what `evaluate` and `summary` say, hostile names, privacy, and what a
browser makes of it. Speaks TAP.

usage: tests/cli/report.py PROGRAM
"""
import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zlib

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
CHROMIUM = shutil.which("chromium")
HEART = pathlib.Path("../shared/data/heart_disease").resolve()
VOID = {"meta", "line", "polyline", "circle", "rect", "br"}


def run(folder, *words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
    return done


class Page(html.parser.HTMLParser):
    """Every element and its text; refuses what is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.tables, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def table(self, first):
        return next(t for t in self.tables if t[0][0] == first)

    def ids(self):
        return [a["id"] for _, a in self.elements if "id" in a]


def read_page(path):
    text = pathlib.Path(path).read_text()
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in ("script", "img", "link", "iframe", "object", "a"), tag
        assert not any(name in ("src", "href", "srcset") or name.startswith("on")
                       for name in attributes), (tag, attributes)
    assert "http" not in text.replace("http-equiv", ""), "an address on the page"
    assert "url(" not in text and "@import" not in text
    return page


def sites(folder, hostile=False):
    """Two sites, two columns; `hostile`: every name tries to get out of the text."""
    names = ["a", "b", "label", "site"]
    classes, places = ["0", "1"], ["north", "south"]
    if hostile:
        names[0] = "<script>document.title='taken'</script>"
        names[1] = "\"><img src=x onerror=\"document.title='taken'\">&amp;"
        places = ["</td><script>document.title='taken'</script>", "'\"<b>"]
        classes = ["<i>no</i>", "</style><script>document.title='taken'</script>"]
    with open(folder / "d.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for i in range(240):
            a, b = (i * 37 % 101) / 50 - 1, (i * 53 % 97) / 48 - 1
            noise = (i * 71 % 89) / 44 - 1
            writer.writerow([a, b, classes[a - b + noise > 0], places[i % 2]])
    return ["--labels", f"{classes[0]}=-1,{classes[1]}=1"] if hostile else []


def picture(file, folder, name, *flags):
    path = folder / name
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                           "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}", *flags,
                           f"--screenshot={path}", f"file://{file}"], capture_output=True,
                          timeout=60)
    assert path.exists(), done.stderr
    return path.read_bytes()


def dom(file, folder):
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                           f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000",
                           "--window-size=1200,900", "--dump-dom", f"file://{file}"],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout, done.stderr
    return done.stdout


def first_pixel(png):
    """Of an 8-bit picture: filters change nothing at the first pixel of the first line."""
    at, packed = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IDAT":
            packed += png[at + 8:at + 8 + size]
        at += size + 12
    return tuple(zlib.decompress(packed)[1:4])


@case
def the_page_says_what_the_other_commands_say(folder):
    sites(folder)
    run(folder, "train", "--data", "d.csv", "--holdout", "0.4", "--out", "out", "--pictures", "no")
    run(folder, "report", "out")
    page = read_page(folder / "out/report.html")
    assert {"trained", "quality", "coefficients", "convergence", "privacy", "parameters", "roc",
            "calibration", "curve"} <= set(page.ids())
    # a penalty leaves no intervals
    assert "intervals" not in page.ids() and "no tests and no intervals" in "".join(page.text)
    held = json.loads((folder / "out/held_out.json").read_text())
    table = page.table("site")
    assert [row[0] for row in table[1:]] == ["north", "south", "all"]
    auc = table[0].index("auc")
    for row, measured in zip(table[1:], held["sites"] + [held["all"]]):
        assert row[1] == str(measured["rows"]) and float(row[auc]) == round(measured["auc"], 4)
    summary = json.loads(run(folder, "summary", "out/model.json", "--json").stdout)
    shown = page.table("name")
    ratio = shown[0].index("odds_ratio")
    for row, line in zip(shown[1:], summary["coefficients"], strict=True):
        assert row[0] == line["name"]
        assert abs(float(row[ratio]) / line["odds_ratio"] - 1) < 1e-4
    reasons = {row[0]: row[2] for row in page.table("parameter")[1:]}
    assert "ridge" in reasons["eps"]
    record = json.loads((folder / "out/model.json").read_text())["training"]
    assert reasons["algorithm"] == record["algorithm_why"] and "Hessians" in reasons["algorithm"]
    assert record["local"]["gamma"]["least"] is None  # nobody takes a local step


@case
def estimates_without_the_penalty_stand_first(folder):
    """Those of `summary --refit`, with intervals; behind them the coefficients that the model predicts with."""
    sites(folder)
    run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no", "--eps", "0.1", "--quiet")
    run(folder, "report", "out", "d.csv", "--to", "p.html")
    page = read_page(folder / "p.html")
    refit = json.loads(run(folder, "summary", "out/model.json", "d.csv", "--refit", "--json").stdout)["coefficients"]
    shrunk = json.loads(run(folder, "summary", "out/model.json", "--json").stdout)["coefficients"]
    text = " ".join(page.text)
    places = [text.index(f"{lines[0]['coefficient']:.6g}") for lines in (refit, shrunk)]
    assert places == sorted(places) and "intervals" in page.ids() and "to be published" in text


@case
def given_data_are_measured_instead(folder):
    sites(folder)
    run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no", "--eps", "0")
    page_without = run(folder, "report", "out", "--to", "w.html") and read_page(folder / "w.html")
    assert "quality" not in page_without.ids() and "roc" not in page_without.ids()
    run(folder, "report", "out/model.json", "d.csv", "--to", "p.html", "--title", "Two & two",
        "--level", "0.9")
    page = read_page(folder / "p.html")
    assert "intervals" in page.ids() and "Two & two" in page.text and "240 rows of d.csv" in "".join(page.text)
    assert "odds ratio, 90 % interval" in page.text
    everything = json.loads(run(folder, "evaluate", "out/model.json", "d.csv", "--json").stdout)
    assert page.table("site")[-1][1] == "240"
    assert "makes the measures below too good" in " ".join(page.text) and "accuracy, training rows" in page.text
    assert float(page.table("site")[-1][3]) == round(everything["all"]["accuracy"], 4)
    assert [row[1:] for row in page.table("is \\ called")[1:]] == [
        [str(n) for n in line] for line in everything["confusion"]]
    # the curve ends in both corners of its frame
    points = [a["points"].split() for t, a in page.elements if t == "polyline"][0]
    assert points[0] == "66.0,296.0" and points[-1] == "326.0,26.0"


@case
def other_losses_have_pages(folder):
    for task in ("regression", "classes"):
        run(folder, "data", "generate", f"{task}.csv", "--generator", "planted", "--task", task,
            "--agents", "3", "--rows", "40")
        run(folder, "train", "--data", f"{task}.csv", "--task", task, "--out", task, "--holdout",
            "0.3", "--pictures", "no")
        run(folder, "report", task)
        page = read_page(folder / task / "report.html")
        assert ("r2" if task == "regression" else "auc") in page.table("site")[0]
        assert "roc" not in page.ids()
    run(folder, "train", "--rounds", "30", "--out", "paper", "--pictures", "no")
    run(folder, "report", "paper")
    assert "rho" in [row[0] for row in read_page(folder / "paper/report.html").table("parameter")]


@case
def columns_that_depend_on_each_other_have_a_page_too(folder):
    with open(folder / "d.csv", "w") as file:
        file.write("always,word,a,label\n")
        for i in range(60):
            file.write(f"3,{'uvw'[i % 3]},{i * 7 % 11},{i * 5 % 7 > 3:d}\n")
    for words, says in ((["--ignore", "word"], "constant or depend on the columns before them: always"),
                        (["--ignore", "always", "--categories", "word"], "depend on each other")):
        run(folder, "train", "--data", "d.csv", "--out", "out", "--pictures", "no", *words)
        run(folder, "report", "out")
        page = read_page(folder / "out/report.html")
        assert says in "".join(page.text), words
        assert ("std_error" in page.table("name")[0]) == (words[1] == "word")


@case
def names_stay_names(folder):
    labels = sites(folder, hostile=True)
    run(folder, "train", "--data", "d.csv", "--holdout", "0.3", "--out", "out", "--pictures", "no",
        *labels)
    run(folder, "report", "out", "--title", "<script>document.title='taken'</script>")
    page = read_page(folder / "out/report.html")
    assert page.table("name")[1][0] == "<script>document.title='taken'</script>"
    assert page.table("name")[2][0].endswith("&amp;")
    assert page.table("site")[1][0].startswith("</td><script>")


@case
def a_private_run_shows_what_its_promise_covers(folder):
    files = sorted(HEART.glob("processed.*.data"))
    if len(files) != 4:
        raise Skip("the heart disease data are not there")
    run(os.getcwd(), "train", "examples/private-heart.yaml", "--data", ",".join(map(str, files)),
        "--out", folder / "out", "--quiet")
    # what another run left behind must not be taken for this one's
    (folder / "out/convergence.csv").write_text("round\n")
    (folder / "out/held_out.json").write_text("{}")
    run(folder, "report", "out")
    page = read_page(folder / "out/report.html")
    text = " ".join(page.text)
    assert "quality" not in page.ids() and "curve" not in page.ids()
    certificate = json.loads((folder / "out/privacy.json").read_text())
    assert certificate["statement"] in text
    for sentence in certificate["assumptions"]:
        assert sentence in text
        text = text.replace(sentence, "")
    assert not re.search("std_error|accuracy|objective|criterion|odds", text), text
    # e^2 0.05 + 1e-5 is below 1 - e^-2 (1 - 1e-5 - 0.05)
    assert "in at most 36.9 of 100" in text, text
    for words in (["report", "out", files[0]], ["summary", "out/model.json"],
                  ["summary", "out/model.json", *files, "--refit"]):
        assert "trained with privacy" in run(folder, *words, status=2).stderr, words


@case
def what_is_no_run_is_refused(folder):
    run(folder, "report", "nothing", status=2)
    sites(folder)
    run(folder, "train", "--data", "d.csv", "--holdout", "0.4", "--out", "out", "--pictures", "no")
    assert "not written over" in run(folder, "report", "out", "d.csv", "--to", "d.csv",
                                     status=2).stderr
    (folder / "out/held_out.json").write_text("{\"all\": 3}")
    assert "evaluate --json" in run(folder, "report", "out", status=2).stderr
    (folder / "out/held_out.json").unlink()
    (folder / "out/convergence.csv").write_text("nonsense")
    assert "convergence.csv:1" in run(folder, "report", "out", status=2).stderr
    assert not (folder / "out/report.html").exists()


@case
def a_browser_shows_it(folder):
    if not CHROMIUM:
        raise Skip("chromium is not installed")
    labels = sites(folder, hostile=True)
    run(folder, "train", "--data", "d.csv", "--holdout", "0.4", "--out", "out", "--pictures", "no",
        "--eps", "0", *labels)
    run(folder, "report", "out")
    text = (folder / "out/report.html").read_text()
    # the page inside another one, as wide as a phone and as a desk; scripts may run there if they can
    freed = re.sub("<meta http-equiv[^>]*>", "", text)
    (folder / "frames.html").write_text(
        "<!doctype html><body><pre id=found></pre>" +
        "".join(f"<iframe width={width} height=800 srcdoc='{html.escape(freed)}'></iframe>"
                for width in (360, 1000)) +
        """<script>onload = () => { found.textContent = JSON.stringify(Array.from({length: frames.length}, (_, i) => frames[i]).map(f => ({
            title: f.document.title, scroll: f.document.documentElement.scrollWidth,
            scripts: f.document.scripts.length, images: f.document.images.length,
            charts: [...f.document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width),
            text: f.getComputedStyle(f.document.querySelector('svg text')).fontSize,
            stroke: f.getComputedStyle(f.document.querySelector('polyline')).stroke })))}</script>""")
    found = re.search("<pre id=\"found\">(.*?)</pre>", dom(folder / "frames.html", folder), re.S)
    phone, desk = json.loads(html.unescape(found[1]))
    for seen, width in ((phone, 360), (desk, 1000)):
        assert seen["title"] == "A model with the loss logistic", seen
        assert seen["scripts"] == 0 and seen["images"] == 0
        assert seen["scroll"] <= width, seen
        assert len(seen["charts"]) == 4 and min(seen["charts"]) > 250, seen
        assert seen["stroke"] not in ("none", ""), seen
    light = picture(folder / "out/report.html", folder, "light.png", "--window-size=800,900")
    assert first_pixel(light) == (255, 255, 255) and len(light) > 10000
    dark = picture(folder / "out/report.html", folder, "dark.png", "--window-size=800,900",
                   "--blink-settings=preferredColorScheme=0")
    assert first_pixel(dark) == (20, 26, 34), first_pixel(dark)


@case
def a_baseline_is_drawn_by_site_with_intervals(folder):
    """Places of points and bars are one scale of the numbers that --json prints; names are those of the sites."""
    names = ["north & south", "a very long name of a hospital that does not fit", "east"]
    (folder / "d.csv").write_text("site,label,x,z\n" + "".join(
        f"{names[i % 3]},{(i * 7 + i // 5) % 3 % 2},{(i * 13) % 17 - 8},{(i * i) % 11}\n" for i in range(150)))
    words = ("baseline", "--data", "d.csv", "--resamples", 20, "--seed", 3)
    cells = json.loads(run(folder, *words, "--json").stdout)["results"]
    run(folder, *words, "--out", "b")
    drawn = (folder / "b/baseline.svg").read_text()
    assert "north &amp; south</text>" in drawn
    assert ">a very long" in drawn and "\u2026</text>" in drawn and ">all</text>" in drawn and "<polyline" not in drawn
    circles = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([0-9.]+)" cy="([0-9.]+)"', drawn)]
    bars = re.findall(r'y1="([0-9.]+)" x2="[0-9.]+" y2="([0-9.]+)" stroke="#[0-9A-F]+" stroke-width="1.5"/>', drawn)
    uprights = [(float(a), float(b)) for a, b in bars if a != b]
    shown = [cell for cell in cells if cell["value"] is not None]
    assert len(circles) == len(shown) == len(uprights), (len(circles), len(shown), len(uprights))
    low, high = min(shown, key=lambda cell: cell["value"]), max(shown, key=lambda cell: cell["value"])
    at = {id(cell): y for cell, (_, y) in zip(shown, circles)}
    slope = (at[id(high)] - at[id(low)]) / (high["value"] - low["value"])
    for cell, (_, y), (first, second) in zip(shown, circles, uprights):
        for value, place in ((cell["value"], y), (cell["low"], first), (cell["high"], second)):
            assert abs(at[id(low)] + slope * (value - low["value"]) - place) < 0.3, (cell, value, place)


@case
def validated_measures_come_first_and_training_rows_are_marked(folder):
    sites(folder)
    shutil.copy(folder / "d.csv", folder / "e.csv")
    made = json.loads(run(folder, "validate", "--data", "d.csv,e.csv", "--site", "none", "--label", "label", "--ignore", "site", "--grid", "0.01,0.1",
                          "--out", "v", "--json").stdout)
    chosen = next(point for point in made["points"] if point["chosen"])
    run(folder, "report", "v")
    page = read_page(folder / "v/report.html")
    text = " ".join("".join(page.text).split())
    told = f"Cross-validated, 5 folds (rows of every site): auc {chosen['quality']:.4g}, loss {chosen['loss']:.4g}"
    assert told in text and f"AUC, cross-validated{chosen['quality']:.3f}" in text, text[:900]
    assert "training rows" not in text
    # another spelling of the second file, and a file that only begins like one
    run(folder, "report", "v", "./e.csv", "--site", "none")
    text = " ".join("".join(read_page(folder / "v/report.html").text).split())
    assert text.index(told) < text.index("On training rows") < text.index("Measured on 240 rows of e.csv."), text[:1500]
    shutil.copy(folder / "d.csv", folder / "d.csv.csv")
    run(folder, "report", "v", "d.csv.csv", "--site", "none")
    text = " ".join("".join(read_page(folder / "v/report.html").text).split())
    assert "On training rows" not in text and told in text
    # leaving sites out is said
    run(folder, "validate", "--data", "d.csv", "--label", "label", "--grid", "0.01", "--by", "sites", "--out", "w")
    run(folder, "report", "w")
    assert "2 folds (one site left out in turn)" in "".join(read_page(folder / "w/report.html").text)

@case
def analyses_beside_the_model_are_shown(folder):
    sites(folder)
    run(folder, "train", "--data", "d.csv", "--label", "label", "--site", "none", "--ignore", "site", "--out", "m", "--pictures", "no", "--quiet")
    run(folder, "report", "m")
    assert "Analyses over the network" not in "".join(read_page(folder / "m/report.html").text)
    tables = {"survival": "site   rows  events\n<b>basel  20  7", "evaluate": "auc 0.75", "survival-test": "GLOBAL  3.2"}
    for kind, text in tables.items():
        (folder / f"m/{kind}.txt").write_text(text)
    (folder / "m/other.txt").write_text("no analysis")
    run(folder, "report", "m")
    text = "".join(read_page(folder / "m/report.html").text)
    assert all(text.count(table) == 1 for table in tables.values()) and "no analysis" not in text, text[-3000:]
    assert text.index("auc 0.75") < text.index("basel  20") < text.index("GLOBAL  3.2")


if __name__ == "__main__":
    sys.exit(run_cases("report"))
