/* The settings of this module as tables. */
#include <math.h>

#include "fedplt/data.h"

const fplt_setting fplt_read_table[] = {
    {"data", FPLT_TEXT, FPLT_LIST | FPLT_REQUIRED, NULL, 0, 0, NULL,
     "file to read; several: one agent a file", 0, 0},
    {"format", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm|npy|fplt",
     "format of the file; auto: by its name, then its content", 0, 0, .needs = "data;!schema"},
    {"schema", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "YAML file that declares the columns: types, bounds, levels, classes, missing values", 0, 0,
     .needs = "data"},
    {"bounds", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "LOW..HIGH instead of a schema: all columns but label and site are numbers within; needs "
     "labels",
     0, 0, .needs = "data;!schema"},
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the label, name or number from 1; none: there are no labels", 0, 0,
     .needs = "data;!schema,label=none"},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that says which agent has the row (CSV); by default `site` if there; or none", 0, 0,
     .needs = "data;!schema,site=none"},
    {"labels", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL, "what a label means, such as yes=1,no=-1",
     0, 0, .needs = "data;!schema"},
    {"features", FPLT_INTEGER, 0, NULL, 1, 4294967295.0, NULL,
     "number of features, where a LIBSVM file shows fewer, or more than 50,000,000", 0, 0},
    {"largest-file", FPLT_REAL, FPLT_ABOVE, NULL, 0, 1048576, NULL,
     "GiB that a file may have; by default 1024, and 1 where it has no size (a pipe)", 0, 0,
     .needs = "data"},
    {"separator", FPLT_CHOICE, 0, "auto", 0, 0, "auto|comma|tab|semicolon|bar",
     "between the fields of a CSV file; auto: the first of them that is in its first line", 0, 0,
     .needs = "data"},
    {"decimal", FPLT_CHOICE, 0, "point", 0, 0, "point|comma",
     "decimal sign of the numbers in a CSV file", 0, 0, .needs = "data"},
    {"dates", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|days|years",
     "dates in feature columns of a CSV file (2020-12-31, 31.12.2020): refuse them, or take them "
     "as days since 1970-01-01 or as years",
     0, 0, .needs = "data;!schema;!bounds"},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "the first line of a CSV file names the columns",
     0, 0, .needs = "data;!schema"},
    {"missing", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|drop|mean|median|most-frequent|constant",
     "missing values (empty, ?, NA, N/A, NaN, NULL, -): refuse the file, leave their rows out, or "
     "fill them with what "
     "the training rows of all agents have",
     0, 0, .needs = "data;!schema;!bounds"},
    {"missing-value", FPLT_REAL, 0, "0", -HUGE_VAL, HUGE_VAL, NULL,
     "what missing constant fills with", 0, 0, .needs = "missing=constant"},
    {"missing-codes", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "further values that stand for a missing one, such as -9 or . (CSV); none: there are none, "
     "although numbers look like codes",
     0, 0, .needs = "data"},
    {"columns", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns that are features (CSV); by default all that are nothing else", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"ignore", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "columns that are not looked at (CSV)", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"id", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that names the rows (CSV): no feature, and passed through by predict", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"row-weight", FPLT_TEXT, 0, NULL, 0, 0, NULL, "column that says how much a row counts (CSV)",
     0, 0, .needs = "data;!schema;!bounds"},
    {"categories", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns to turn into one column a level; auto: those that hold words; auto,NAME: those and "
     "NAME",
     0, 0, .needs = "data;!schema;!bounds"},
    {"drop-first-level", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "no column for the first level of each category", 0, 0, .needs = "categories;!schema;!bounds"},
    {"task", FPLT_CHOICE, 0, "auto", 0, 0, "auto|binary|classes|regression",
     "two classes, more, or numbers", 0, 0, .needs = "data,generator=planted;!schema;!bounds"},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt_generate_table[] = {
    {"generator", FPLT_CHOICE, 0, "paper", 0, 0, "paper|iid|planted|quadratic",
     "formula of synthetic data", 0, 0, .needs = "!data"},
    {"agents", FPLT_INTEGER, 0, "100", 1, 4294967295.0, NULL, "number of agents", 0, 0},
    {"features", FPLT_INTEGER, 0, "5", 1, 4294967295.0, NULL, "number of features", 0, 0},
    {"rows", FPLT_INTEGER, 0, "250", 1, 1e15, NULL, "rows of each agent", 0, 0, .needs = "!data"},
    {"unequal", FPLT_REAL, FPLT_BELOW, "0", 0, 1, NULL,
     "spread u of the agents' rows: rows (1-u) to rows (1+u)", 0, 0, .needs = "!data"},
    {"spread", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL,
     "deviation of the agents' means (paper, iid) or minimisers (quadratic)", 0, 0,
     .needs = "!data;generator=paper|iid|quadratic"},
    {"noise", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL,
     "scale of the noise in planted and quadratic labels", 0, 0,
     .needs = "!data;generator=planted|quadratic"},
    {"lmin", FPLT_REAL, 0, "0.1", 0, HUGE_VAL, NULL, "smallest eigenvalue (quadratic)", 0, 0,
     .needs = "!data;generator=quadratic"},
    {"lmax", FPLT_REAL, FPLT_ABOVE, "10", 0, HUGE_VAL, NULL, "largest eigenvalue (quadratic)", 0, 0,
     .needs = "!data;generator=quadratic"},
    {"classes", FPLT_INTEGER, 0, "3", 3, 1000000, NULL, "number of classes (planted, task classes)",
     0, 0, .needs = "!data;generator=planted;task=classes"},
    {"task", FPLT_CHOICE, 0, "binary", 0, 0, "binary|classes|regression",
     "what planted makes; the other generators have their own", 0, 0, .needs = "generator=planted"},
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL, "key of the random streams", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt_partition_table[] = {
    {"partition", FPLT_CHOICE, 0, NULL, 0, 0, "contiguous|shuffled|skewed",
     "how rows are divided among agents, instead of sites or files", 0, 0},
    {"agents", FPLT_INTEGER, 0, "10", 1, 4294967295.0, NULL, "number of agents", 0, 0},
    {"alpha", FPLT_REAL, FPLT_ABOVE, "0.5", 0, HUGE_VAL, NULL,
     "Dirichlet parameter of skewed: small is very unequal", 0, 0, .needs = "partition=skewed"},
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL, "key of the random streams", 0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt_transform_table[] = {
    {"standardise", FPLT_CHOICE, FPLT_AUTO, "no", 0, 0, "no|yes|scale|schema",
     "columns to mean 0 and deviation 1; scale: deviation only, which keeps zeros; schema: by "
     "declared centre and scale; auto: scale where the data are sparse, otherwise yes",
     0, 0, "scale where the data are sparse, otherwise yes"},
    {"radius", FPLT_REAL, 0, "0", 0, HUGE_VAL, NULL,
     "shorten rows whose norm is above this; 0: not", 0, 0},
    FPLT_SETTINGS_END,
};
