#!/usr/bin/python3
"""Tables that are not text: SQLite, Excel workbooks, files of SPSS, Stata and SAS, ODBC. Every source gives the bits of the
same table as CSV; damaged and hostile files get a sentence. With a server and pspp: tests/whole/databases. Speaks TAP.

usage: tests/cli/doors.py PROGRAM
"""
import csv
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import zipfile

from cases import Skip, case, run_cases

PROGRAM = os.path.abspath(sys.argv[1])
TABLES = pathlib.Path(__file__).resolve().parent.parent / "golden/tables"
DRIVER = "/usr/lib/x86_64-linux-gnu/odbc/libsqlite3odbc.so"
HEAD = ["id", "site", "age", "chol", "sex", "cp", "disease"]
COLUMNS = ("--label", "disease", "--site", "site", "--id", "id", "--categories", "auto,cp")


def run(folder, *words, status=0, **environment):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=folder, text=True, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr[-600:]}"
    return done


def needs(folder, name):
    sources = json.loads(run(folder, "version", "--json").stdout)["sources"]
    if f"{name} (not built in)" in sources:
        raise Skip(f"{name} is not built in")


def people(count=150, seed=1, digits=99, zero=0.0):
    """Doubles of so many digits, a zero, a value that is missing, texts with commas, quotes and accents."""
    draw = random.Random(seed)
    for i in range(count):
        age = None if i % 40 == 7 else zero if i == 3 else round(draw.uniform(20, 90), digits)
        sex = draw.choice(["f", 'm, "male"', "divers é"])
        yield [i + 1, draw.choice(["north", "south"]), age, round(draw.gauss(200, 40) / 3e5, digits), sex, draw.randrange(1, 4),
               draw.choice(["yes", "no"])]


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(HEAD)
        out.writerows(["" if x is None else repr(x) if isinstance(x, float) else x for x in row] for row in rows)


def write_sqlite(path, rows):
    rows = list(rows)
    with sqlite3.connect(path) as base:
        for table, key in (("patients", " primary key"), ("loose", "")):
            base.execute(f"create table {table}(id integer{key}, site text, age real, chol real, sex text, cp integer,"
                         " disease text)")
            base.executemany(f"insert into {table} values(?,?,?,?,?,?,?)", random.Random(2).sample(rows, len(rows)))
    base.close()


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def write_xlsx(path, rows, sheet=None, extra=None):
    """A workbook by hand: numbers in 17 digits, shared and inline strings; `sheet` instead of the rows' XML."""
    shared = {}

    def cell(row, column, value):
        place = f'r="{chr(65 + column)}{row}"'
        if value is None:
            return ""
        if not isinstance(value, str):
            return f"<c {place}><v>{value!r}</v></c>"
        if column % 2:
            return f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f'<c {place} t="s"><v>{shared.setdefault(value, len(shared))}</v></c>'

    lines = [f'<row r="{i}">' + "".join(cell(i, j, x) for j, x in enumerate(row)) + "</row>"
             for i, row in enumerate([HEAD, *rows], 1)]
    strings = "".join(f"<si><r><t>{escape(text[:1])}</t></r><r><t>{escape(text[1:])}</t></r><rPh><t>x</t></rPh></si>"
                      for text in shared)
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    parts = {
        "xl/workbook.xml": f'<workbook {main} xmlns:r="r"><sheets><sheet name="first" r:id="a"/>'
                           '<sheet name="notes &amp; more" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="b" Target="/xl/second.xml"/>'
                                      '<Relationship Id="a" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet {main}><numFmts><numFmt numFmtId="164" formatCode="[Red]dd\\.mm\\.yyyy;&quot;d&quot;"/>'
                         '<numFmt numFmtId="165" formatCode="&quot;day&quot; 0.00"/></numFmts><cellStyleXfs><xf numFmtId="14"/>'
                         '</cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/>'
                         '<xf numFmtId="165"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f"<sst {main}>{strings}</sst>",
        "xl/worksheets/sheet1.xml": sheet or f"<worksheet {main}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        "xl/second.xml": f"<worksheet {main}><sheetData/></worksheet>",
        **(extra or {})}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def converted(folder, data, *settings):
    """What the readers make of a table: every bit, as the program writes it."""
    run(folder, "data", "convert", data, "out.csv", "--force", *settings)
    return (folder / "out.csv").read_bytes()


def same_bits(folder, data, settings=COLUMNS, of="d.csv"):
    settings = [*settings, "--missing", "drop"]
    wanted, found = converted(folder, of, *settings), converted(folder, data, *settings)
    assert wanted == found, f"{data}: {found[:300]} instead of {wanted[:300]}"
    assert wanted.count(b"\n") > 25


@case
def a_table_of_sqlite_gives_the_bits_of_csv_in_the_order_of_its_key(folder):
    write_csv(folder / "d.csv", people())
    write_sqlite(folder / "d.db", people())
    (folder / "q.sql").write_text("select id, site, age, chol, sex, cp, disease from loose;\n")
    for address in ("table=patients", "table=main.patients", "table=loose&order-by=id",
                    "query=select * from loose&order-by=id", "query-file=q.sql&order-by=id",
                    "query=select%20*%20from loose where 1 or sex like 'x%25'&order-by=id,site"):
        same_bits(folder, f"sqlite:d.db?{address}")
    for settings in (("--separator", "semicolon"), ("--separator", "tab")):
        run(folder, "data", "convert", "sqlite:d.db?table=patients", "out.csv", "--force", *COLUMNS, *settings, "--missing", "drop")


@case
def train_predict_and_evaluate_take_every_source(folder):
    needs(folder, "xlsx")
    write_csv(folder / "d.csv", people())
    write_sqlite(folder / "d.db", people())
    write_xlsx(folder / "d.xlsx", people())
    kept = {}
    for name, data in (("csv", "d.csv"), ("sqlite", "sqlite:d.db?table=patients"), ("xlsx", "d.xlsx")):
        run(folder, "train", "--data", data, *COLUMNS, "--missing", "drop", "--rounds", "20", "--out", name, "--pictures", "no")
        model = json.loads((folder / name / "model.json").read_text())
        run(folder, "predict", name, data, "--missing", "drop", "--out", "p.csv")
        kept[name] = (model["weights"], model["names"] if "names" in model else 0, (folder / "p.csv").read_text(),
                      run(folder, "evaluate", name, data, "--missing", "drop", "--json").stdout.replace(data, ""))
    for name in ("sqlite", "xlsx"):
        for wanted, found in zip(kept["csv"], kept[name]):
            assert wanted == found, (name, wanted, found)


@case
def the_order_of_rows_must_be_settled_by_a_unique_key(folder):
    write_sqlite(folder / "d.db", people())
    for address, sentence in (
            ("table=loose", "the order of the rows is not settled: add &order-by=KEY"),
            ("query=select * from patients", "the order of the rows is not settled"),
            ("table=loose&order-by=cp", "rows 1 and 2 have the same key cp (1)"),
            ("query=select age from loose&order-by=id", "order-by: there is no column 'id' in the result"),
            ("query=select age as id from loose&order-by=id", "the key id has no value here"),
            ("table=nowhere&order-by=id", "no such table: nowhere"), ("", "the address says no table"),
            ("table=loose&query=select 1&order-by=id", "a table and a query"), ("tabel=x", "there is no parameter 'tabel'"),
            ("table=loose&order-by=", "the parameter 'order-by' has no value"),
            ("query=delete from loose&order-by=id", "syntax error"),
            ("query=select id, zeroblob(3) b from loose&order-by=id", "d.db?query=select id, zeroblob(3) b from"
             " loose&order-by=id:1: column 'b': a BLOB")):
        assert sentence in run(folder, "data", "inspect", f"sqlite:d.db?{address}", status=2).stderr, address
    assert "unable to open" in run(folder, "data", "inspect", "sqlite:no.db?table=x", status=2).stderr
    assert "file is not a database" in run(folder, "data", "inspect", f"sqlite:{__file__}?table=x", status=2).stderr
    assert "say which table: sqlite:FILE?table=NAME" in run(folder, "data", "inspect", "d.db", status=2).stderr


@case
def a_password_is_never_part_of_an_address(folder):
    for address in ("postgresql://me:geheim@host/db?table=t", "postgresql://host/db?password=geheim&table=t",
                    "postgres:///db?table=t&sslpassword=geheim", "odbc:Driver=x;PWD=geheim?table=t",
                    "odbc:DSN=x; Password = geheim?table=t", "sqlite:d.db?pwd=geheim"):
        for words in (("data", "inspect", address), ("train", "--data", address, "--label", "x")):
            said = run(folder, *words, status=2)
            assert "the address has a password" in said.stderr and "geheim" not in said.stderr + said.stdout, said.stderr


@case
def a_workbook_gives_the_bits_of_csv(folder):
    needs(folder, "xlsx")
    write_csv(folder / "d.csv", people(zero=-0.0))
    write_xlsx(folder / "d.xlsx", people(zero=-0.0))
    os.rename(folder / "d.xlsx", folder / "renamed")  # its bytes tell what it is
    same_bits(folder, "renamed")
    same_bits(folder, "renamed?sheet=first")
    assert "the table is empty" in run(folder, "data", "inspect", "renamed?sheet=notes%20%26 more", status=2).stderr
    assert "it has: first, notes & more" in run(folder, "data", "inspect", "renamed?sheet=x", status=2).stderr


@case
def cells_of_a_workbook_are_dates_switches_errors_and_formulas(folder):
    needs(folder, "xlsx")
    head = '<row r="2"><c r="A2" t="str"><v>day</v></c><c r="C2" t="str"><v>b</v></c><c r="D2" t="str"><v>y</v></c></row>'
    rows = ('<row r="3"><c r="A3" s="1"><v>36526</v></c><c r="B3" s="2"><v>59</v></c><c r="C3" t="b"><v>1</v></c><c r="D3"><v>0'
            '</v></c></row><row r="7"><c r="A7" s="1"><v>61.999999</v></c><c r="B7" s="3"><v>2.5</v></c><c r="C7" t="b"><v>0</v>'
            '</c><c r="D7"><v>1</v></c></row><row r="8"><c r="A8" t="e"><v>#N/A</v></c><c r="C8"><f>1+1</f></c><c r="D8"><v>1</v>'
            '</c></row>')
    write_xlsx(folder / "d.xlsx", [], sheet=f"<worksheet><sheetData>{head}{rows}</sheetData></worksheet>")
    said = run(folder, "data", "inspect", "d.xlsx", "--label", "y", status=2)
    for part in ("2000-01-01 1, 1900-03-02 1", "1900-02-28 1", "1 cell with an error such as #N/A is read as missing",
                 "1 formula without a stored result is read as missing", "d.xlsx:3: column 'day': '2000-01-01' is a date"):
        assert part in said.stdout + said.stderr, (part, said)
    (folder / "wide.xlsx").write_bytes(b"")
    write_xlsx(folder / "wide.xlsx", [], sheet=f'<worksheet><sheetData>{head}<row r="9"><c r="F9"><v>1</v></c></row>'
               '</sheetData></worksheet>')
    assert "wide.xlsx:9: there is a value in column 6, but the first row names 4" in \
        run(folder, "data", "inspect", "wide.xlsx", status=2).stderr


@case
def damaged_and_hostile_workbooks_get_a_sentence(folder):
    needs(folder, "xlsx")
    write_xlsx(folder / "good.xlsx", people())
    whole = (folder / "good.xlsx").read_bytes()
    (folder / "cut.xlsx").write_bytes(whole[:len(whole) // 2])
    (folder / "bytes.xlsx").write_bytes(whole[:900] + bytes(400) + whole[1300:])
    with zipfile.ZipFile(folder / "other.xlsx", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    sheets = {"bomb": " " * (80 << 20), "long": f'<row r="1"><c t="str"><v>{"x" * (1 << 20)}</v></c></row>',
              "columns": '<row r="1">' + "<c><v>1</v></c>" * 20000 + "</row>", "open": "<row><c>",
              "index": '<row r="1"><c t="s"><v>77</v></c></row>', "number": '<row r="1"><c><v>1,5</v></c></row>',
              "order": '<row r="4"/><row r="2"/>', "rows": '<row r="2000000"><c><v>1</v></c></row>', "outside": "<c><v>1</v></c>"}
    for name, text in sheets.items():
        write_xlsx(folder / f"{name}.xlsx", [], sheet=f"<worksheet><sheetData>{text}</sheetData></worksheet>")
    write_xlsx(folder / "laughs.xlsx", [], sheet='<!DOCTYPE a [<!ENTITY b "bbbb">]><worksheet>&b;</worksheet>')
    write_xlsx(folder / "target.xlsx", [], extra={"xl/_rels/workbook.xml.rels": "<Relationships/>"})
    for name, sentence in {"cut": "cannot be opened", "bytes": "damaged", "other": "is no Excel workbook", "bomb": "packed more",
                           "long": "more than 65536 bytes", "columns": "at most 16384 columns", "open": "damaged",
                           "index": "no text number '77'", "number": "not a number: '1,5'", "order": "row is number '2'",
                           "rows": "row is number '2000000'", "outside": "must follow one another", "laughs": "document type",
                           "target": "the sheet has no part"}.items():
        said = run(folder, "data", "inspect", f"{name}.xlsx", status=2).stderr
        assert sentence in said and f"{name}.xlsx" in said, (name, said)


@case
def files_of_statistics_programs_give_the_bits_of_csv(folder):
    needs(folder, "readstat")
    settings = ("--label", "disease", "--site", "site", "--id", "id", "--categories", "auto,answer", "--dates", "days")
    for name, of in (("clinic.sas7bdat", "plain.csv"), ("clinic.xpt", "plain.csv"), ("clinic.sav", "labelled.csv"),
                     ("clinic.dta", "labelled.csv")):
        of = TABLES / of
        same_bits(folder, TABLES / name, settings, of=of)
    codes = converted(folder, f"{TABLES}/clinic.sav?labels=no", "--label", "disease", "--missing", "drop", "--dates", "days",
                      "--site", "site", "--columns", "sex")
    assert codes.splitlines()[1].split(b",")[2] in (b"1", b"2"), codes[:80]
    for name in ("clinic.sas7bdat", "clinic.xpt", "clinic.sav", "clinic.dta"):
        bytes_ = (TABLES / name).read_bytes()
        for share in (4, 2, 1.2):
            (folder / "cut").write_bytes(bytes_[:int(len(bytes_) / share)])
            run(folder, "data", "inspect", "cut", "--label", "disease", status=2)


@case
def damaged_files_of_statistics_programs_get_a_sentence(folder):
    needs(folder, "readstat")
    draw = random.Random(5)
    nameless = bytearray((TABLES / "clinic.sav").read_bytes())
    nameless[200] ^= 0xff  # in the name of the first column
    (folder / "nameless.sav").write_bytes(nameless)
    said = run(folder, "data", "inspect", "nameless.sav", "--label", "none", status=2).stderr
    assert "nameless.sav: the file is damaged: column 1 has no name" in said, said
    table = (TABLES / "clinic.sav").read_bytes()
    (folder / "unnamed.sav").write_bytes(table.replace(b"AGE=age", b"AGE\xfbage"))
    said = run(folder, "data", "inspect", "unnamed.sav", "--label", "none", status=2).stderr
    assert 'it may be damaged' in said and 'Error parsing string "ID=id?AGE?age' in said, said
    for name in ("clinic.sas7bdat", "clinic.xpt", "clinic.sav", "clinic.dta"):
        whole = (TABLES / name).read_bytes()
        for i in range(25):
            damaged = bytearray(whole[:draw.randrange(len(whole))] if i % 5 == 0 else whole)
            for _ in range(draw.randrange(1, 4)):
                if damaged:
                    damaged[draw.randrange(min(len(damaged), 2048))] = draw.randrange(256)
            (folder / name).write_bytes(damaged)
            done = subprocess.run([PROGRAM, "data", "inspect", name, "--label", "none"], cwd=folder, text=True,
                                  capture_output=True, timeout=120)
            assert done.returncode in (0, 2) and (done.returncode == 0 or done.stderr), (name, i, done.returncode, done.stderr)


@case
def pandas_and_openpyxl_write_what_is_read(folder):
    needs(folder, "xlsx")
    needs(folder, "readstat")
    try:
        import pandas
        import openpyxl
    except ImportError as absent:
        raise Skip(str(absent))
    write_csv(folder / "d.csv", ([*row[:2], row[2] and round(row[2], 3), round(row[3], 9), *row[4:]] for row in people()))
    frame = pandas.read_csv(folder / "d.csv", float_precision="round_trip")
    frame.to_excel(folder / "d.xlsx", index=False)
    same_bits(folder, "d.xlsx")
    for version in (114, 117, 118, 119):
        plain = frame.assign(sex=frame.sex.str.replace(" é", "")) if version < 118 else frame
        plain.to_csv(folder / "plain.csv", index=False)
        plain.assign(sex=pandas.Categorical(plain.sex)).to_stata(folder / "d.dta", write_index=False, version=version)
        same_bits(folder, "d.dta", of="plain.csv")


@case
def odbc_gives_the_bits_of_csv(folder):
    needs(folder, "odbc")
    if not os.path.exists(DRIVER):
        raise Skip("SQLite's ODBC driver is not there")
    write_csv(folder / "d.csv", people(digits=12))  # the driver itself keeps 15
    write_sqlite(folder / "d.db", people(digits=12))
    (folder / "odbc.ini").write_text(f"[clinic]\nDriver={DRIVER}\nDatabase={folder}/d.db\n")
    os.environ["ODBCINI"] = str(folder / "odbc.ini")
    (folder / "word").write_text("x\n")
    (folder / "word").chmod(0o600)
    for address in ("odbc:clinic?table=patients", "odbc:clinic?query=select * from loose&order-by=id",
                    f"odbc:Driver={DRIVER};Database={folder}/d.db?table=loose&order-by=id",
                    "odbc:clinic;UID=me?table=patients&password-file=word"):
        same_bits(folder, address)
    (folder / "word").chmod(0o644)
    assert "chmod 600" in run(folder, "data", "inspect", "odbc:clinic?table=patients&password-file=word", status=2).stderr
    assert "no such table" in run(folder, "data", "inspect", "odbc:clinic?table=x&order-by=id", status=2).stderr
    assert "ODBC says" in run(folder, "data", "inspect", "odbc:nowhere?table=x&order-by=id", status=2).stderr


@case
def a_row_that_is_bad_is_named_by_its_number(folder):
    write_sqlite(folder / "d.db", people())
    with sqlite3.connect(folder / "d.db") as base:
        base.execute("update patients set age = 'old', sex = 'f' where id = 5")
    base.close()
    said = run(folder, "train", "--data", "sqlite:d.db?table=patients", "--label", "disease", "--id", "id", "--missing", "drop",
               "--ignore", "sex", "--site", "site", status=2).stderr
    assert "table=patients:5: column 'age': 'old' is not a number" in said, said
    write_sqlite(folder / "e.db", people())
    run(folder, "data", "inspect", "sqlite:e.db?table=patients", "--header", "no", status=2)


@case
def a_private_run_knows_the_records_of_a_database_again(folder):
    write_sqlite(folder / "d.db", people())
    rows = "".join(f"  {name}: {{type: number, bounds: {low}..{high}, missing: neutral-row}}\n" for name, low, high in
                   (("age", 0, 100), ("chol", 0, 0.01), ("cp", 1, 3)))
    (folder / "schema.yaml").write_text("columns:\n" + rows + "  id: {type: ignore}\n  sex: {type: ignore}\n"
                                        "  site: {type: ignore}\n  disease: {type: label, classes: [no, yes], missing: neutral-row, other: neutral-row}\n")
    words = ("train", "--data", "sqlite:d.db?table=patients", "--schema", "schema.yaml", "--privacy.epsilon", "1",
             "--privacy.delta", "1e-5", "--ledger", "ledger.db", "--pictures", "no")
    run(folder, *words, "--out", "first")
    said = run(folder, "privacy", "ledger", "ledger.db").stdout
    assert "\nd  " in said, said


if __name__ == "__main__":
    sys.exit(run_cases("doors"))
