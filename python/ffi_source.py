#!/usr/bin/python3
"""Writes the C source of the extension module from the public headers.

usage: ffi_source.py OUTPUT INCLUDE COMPILER...

The headers are preprocessed by the compiler that builds the library; what comes from INCLUDE is kept,
attributes are dropped, and cffi reads the rest: nothing is declared twice, and layouts come from the
compiler."""
import pathlib
import re
import subprocess
import sys

import cffi

# Public, but of no use from Python.
DROPPED = ("fplt_error_set", "fplt_error_prefix")

# The functions of an algorithm in Python (fedplt/algorithm.py); `slot` says which.
ALGORITHM = (
    "void fpltpy_algorithm_choose(int slot, const fplt_facts *facts, double *parameter)",
    "double fpltpy_algorithm_step(int slot, const fplt_facts *facts, const double *parameter)",
    "double fpltpy_algorithm_inverse_rho(int slot, const fplt_facts *facts, const double *parameter)",
    "void fpltpy_algorithm_begin(int slot, fplt_agent *agent, const double *start, const double *second)",
    "void fpltpy_algorithm_begin_coordinator(int slot, fplt_coordinator *coordinator, const double *start)",
    "void fpltpy_algorithm_plan(int slot, const fplt_coordinator *coordinator, fplt_round *round)",
    "int fpltpy_algorithm_broadcast(int slot, const fplt_coordinator *coordinator, const fplt_round *round,"
    " unsigned exchange, double *down)",
    "int fpltpy_algorithm_local(int slot, fplt_agent *agent, const fplt_round *round, unsigned exchange,"
    " const double *down, double *up, fplt_error *error)",
    "void fpltpy_algorithm_absorb(int slot, fplt_coordinator *coordinator, const fplt_round *round,"
    " unsigned exchange, const double *sum)",
    "void fpltpy_algorithm_finish(int slot, fplt_agent *agent, const fplt_round *round, const double *down)",
    "int fpltpy_algorithm_model(int slot, const fplt_coordinator *coordinator, double *x)",
)
SLOTS = 32  # algorithms in Python that may exist at the same time

# Called by the library, defined in Python (fedplt/_core.py and its users).
CALLBACKS = """
extern "Python" int fpltpy_tick(void *handle, const fplt_progress *progress);
extern "Python" int fpltpy_step(void *handle, size_t done, size_t total);
extern "Python" void fpltpy_log(fplt_log_level level, const char *sentence, void *context);
extern "Python" int fpltpy_value(void *handle, uint32_t agent, const double *x, double *value);
extern "Python" int fpltpy_gradient(void *handle, uint32_t agent, const double *x, double *gradient);
extern "Python" int fpltpy_value_gradient(void *handle, uint32_t agent, const double *x, double *value,
                                          double *gradient);
extern "Python" int fpltpy_hessian_times(void *handle, uint32_t agent, const double *x, const double *v,
                                         double *product);
extern "Python" int fpltpy_batch_gradient(void *handle, uint32_t agent, const double *x,
                                          const uint32_t *rows, size_t count, double *gradient);
extern "Python" int fpltpy_record_gradients(void *handle, uint32_t agent, const double *x,
                                        const uint32_t *rows, size_t count, double *gradients);
extern "Python" int fpltpy_hits(void *handle, uint32_t agent, const double *x, size_t *hits);
extern "Python" int fpltpy_solve(void *handle, fplt_local *local, double *w);
extern "Python" void fpltpy_finding(void *handle, int holds, const char *sentence);
extern "Python" void fpltpy_member(void *handle, const fplt_federation_member *member);
extern "Python" void fpltpy_event(void *handle, const fplt_federation_event *event);
extern "Python" int fpltpy_agree(void *handle, const char *proposal, const char *hash);
""" + "".join(f'extern "Python" {prototype};\n' for prototype in ALGORITHM)

# What is simpler, or quicker, in C.
TYPES = """
typedef struct fpltpy_watcher {
    void *handle;  /* of the Python object, for its callbacks */
    int every;     /* tell Python after every round, not only now and then */
    double period; /* seconds between looks at Python otherwise, where signals are noticed */
    double last;
    int stop;
} fpltpy_watcher;
typedef struct fpltpy_costs {
    void *handle;
    const size_t *records;
    const fplt_curvature *curvatures;
} fpltpy_costs;
"""
DECLARED = """
const char *fpltpy_given(void *context, const char *name);
int fpltpy_observe(void *context, const fplt_progress *progress);
int fpltpy_watch(void *context, size_t done, size_t total);
int fpltpy_stop(void *context);
size_t fpltpy_records(void *context, uint32_t agent);
void fpltpy_curvature(void *context, uint32_t agent, double *lowest, double *highest);
const fplt_solver *fpltpy_solver(int steps);
void fpltpy_algorithm_fill(int slot, fplt_algorithm *table);
""" + f"#define FPLTPY_SLOTS {SLOTS}\n"

HELPERS = """
#include <time.h>

/* Pairs of texts, ended by NULL. */
const char *fpltpy_given(void *context, const char *name)
{
    for (const char *const *pair = context; *pair; pair += 2)
        if (strcmp(pair[0], name) == 0)
            return pair[1];
    return NULL;
}

static int fpltpy_tick(void *handle, const fplt_progress *progress);
static int fpltpy_step(void *handle, size_t done, size_t total);
static int fpltpy_solve(void *handle, fplt_local *local, double *w);

int fpltpy_due(fpltpy_watcher *watcher)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (!watcher->every && seconds - watcher->last < watcher->period)
        return 0;
    watcher->last = seconds;
    return 1;
}

int fpltpy_observe(void *context, const fplt_progress *progress)
{
    fpltpy_watcher *watcher = context;
    if (!watcher->stop && fpltpy_due(watcher) && fpltpy_tick(watcher->handle, progress))
        watcher->stop = 1;
    return watcher->stop;
}

int fpltpy_watch(void *context, size_t done, size_t total)
{
    fpltpy_watcher *watcher = context;
    if (!watcher->stop && fpltpy_due(watcher) && fpltpy_step(watcher->handle, done, total))
        watcher->stop = 1;
    return watcher->stop;
}

int fpltpy_stop(void *context)
{
    return ((fpltpy_watcher *)context)->stop;
}

size_t fpltpy_records(void *context, uint32_t agent)
{
    return ((const fpltpy_costs *)context)->records[agent];
}

void fpltpy_curvature(void *context, uint32_t agent, double *lowest, double *highest)
{
    const fplt_curvature *curvature = &((const fpltpy_costs *)context)->curvatures[agent];
    *lowest = curvature->lowest;
    *highest = curvature->highest;
}

fplt_status fpltpy_run_solver(fplt_local *local, double *w, fplt_error *error)
{
    return fpltpy_solve(local->training.context, local, w)
               ? fplt_error_set(error, FPLT_FAILED, "the custom solver failed for agent %u",
                                local->problem.agent)
               : FPLT_OK;
}

const fplt_solver *fpltpy_solver(int steps)
{
    static const fplt_solver minimiser = {.size = sizeof(fplt_solver),
                                          .name = "python",
                                          .help = "local training in Python",
                                          .traits = FPLT_MINIMISER,
                                          .run = fpltpy_run_solver};
    static const fplt_solver plain = {.size = sizeof(fplt_solver),
                                      .name = "python",
                                      .help = "gradient steps in Python",
                                      .traits = FPLT_MINIMISER | FPLT_PLAIN_STEPS,
                                      .run = fpltpy_run_solver};
    return steps ? &plain : &minimiser;
}
"""


def trampolines():
    """The library's functions of an algorithm have no context: one set of them a slot."""
    lines = [f"#define FPLTPY_SLOTS {SLOTS}", *(f"static {prototype};" for prototype in ALGORITHM),
             "#define FPLTPY_SLOT(k) \\"]
    names = []
    for prototype in ALGORITHM:
        kind, name, words = re.match(r"(\w+) fpltpy_algorithm_(\w+)\(int slot, (.*)\)$", prototype).groups()
        names.append(name)
        passed = ", ".join(re.findall(r"(\w+)(?:,|$)", words))
        found = f"fpltpy_algorithm_{name}(k, {passed})"
        if kind == "int":
            kind, found = "fplt_status", f"(fplt_status){found}"
        lines.append(f"    static {kind} fpltpy_##k##_{name}({words}) {{ "
                     f"{'' if kind == 'void' else 'return '}{found}; }} \\")
    table = ", ".join(f".{name} = fpltpy_##k##_{name}" for name in names)
    lines += ["    static const fplt_algorithm fpltpy_##k##_table = {" + table + "};",
              *(f"FPLTPY_SLOT({k})" for k in range(SLOTS)),
              "static const fplt_algorithm *const fpltpy_tables[] = {"
              + ", ".join(f"&fpltpy_{k}_table" for k in range(SLOTS)) + "};",
              "static void fpltpy_algorithm_fill(int slot, fplt_algorithm *table)", "{",
              *(f"    table->{name} = fpltpy_tables[slot]->{name};" for name in names), "}"]
    return "\n".join(lines) + "\n"


def includes(include):
    """Every public header."""
    return "".join(f'#include "fedplt/{path.name}"\n' for path in sorted(pathlib.Path(include, "fedplt").glob("*.h")))


def declarations(include, compiler):
    """The preprocessed text of our own headers."""
    text = includes(include)
    done = subprocess.run([*compiler, "-E", "-I", include, "-x", "c", "-"], input=text, check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    root = str(pathlib.Path(include).resolve())
    kept, ours = [], False
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = str(pathlib.Path(marker.group(1)).resolve()).startswith(root)
        elif ours:
            kept.append(line)
    text = "\n".join(kept)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    for name in DROPPED:
        text = re.sub(r"[^;{}]*\b%s\([^;]*;" % name, "", text)
    return text


def main(output, include, *compiler):
    ffi = cffi.FFI()
    ffi.cdef(declarations(include, compiler))
    ffi.cdef(TYPES + CALLBACKS + DECLARED)
    ffi.set_source("fedplt._fedplt", includes(include) + TYPES + re.sub(r"(?m)^(?=\w.*\bfpltpy_\w+\(.*\)$)",
                                                            "static ", HELPERS) + trampolines())
    ffi.emit_c_code(output)


main(*sys.argv[1:])
