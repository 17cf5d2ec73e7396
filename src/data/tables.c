/* The settings of this module as tables. */
#include <math.h>

#include "fedplt/data.h"

const fplt_setting fplt_read_table[] = {
    {"data", FPLT_TEXT, FPLT_LIST | FPLT_REQUIRED, NULL, 0, 0, NULL,
     "file to read; several: one agent a file", 0, 0},
    {"format", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm|npy",
     "format of the file; auto: by its name, then its content", 0, 0, .needs = "data"},
    {"schema", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "YAML file that declares the columns: types, bounds, levels, classes, missing values", 0, 0,
     .needs = "data"},
    {"bounds", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "LOW..HIGH instead of a schema: all columns but label and site are numbers within; needs "
     "labels",
     0, 0, .needs = "data"},
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column of the label, name or number from 1; none: there are no labels", 0, 0,
     .needs = "data"},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that says which agent has the row (CSV); by default `site` if there; or none", 0, 0,
     .needs = "data"},
    {"labels", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL, "what a label means, such as yes=1,no=-1",
     0, 0, .needs = "data"},
    {"features", FPLT_INTEGER, 0, NULL, 1, 4294967295.0, NULL,
     "number of features, where a LIBSVM file shows fewer", 0, 0},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "the first line of a CSV file names the columns",
     0, 0, .needs = "data"},
    {"missing", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|drop|mean|median|most-frequent|constant",
     "missing values (empty, ?, NA): refuse the file, leave their rows out, or fill them with what "
     "the training rows of all agents have",
     0, 0, .needs = "data"},
    {"missing-value", FPLT_REAL, 0, "0", -HUGE_VAL, HUGE_VAL, NULL,
     "what missing constant fills with", 0, 0, .needs = "missing=constant"},
    {"columns", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns that are features (CSV); by default all that are nothing else", 0, 0,
     .needs = "data"},
    {"ignore", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "columns that are not looked at (CSV)", 0, 0,
     .needs = "data"},
    {"id", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column that names the rows (CSV): no feature, and passed through by predict", 0, 0,
     .needs = "data"},
    {"row-weight", FPLT_TEXT, 0, NULL, 0, 0, NULL, "column that says how much a row counts (CSV)",
     0, 0, .needs = "data"},
    {"categories", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns to turn into one column a level; auto: those that hold words", 0, 0, .needs = "data"},
    {"drop-first-level", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "no column for the first level of each category", 0, 0, .needs = "categories"},
    {"task", FPLT_CHOICE, 0, "auto", 0, 0, "auto|binary|classes|regression",
     "two classes, more, or numbers", 0, 0},
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
     "what planted makes; the other generators have their own", 0, 0},
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
