/* Tables of the settings of this module. */
#include <math.h>

#include "fedplt/data.h"
#include "data/tables.h"

const fplt_setting fplt__read_table[] = {
    {"data", FPLT_TEXT, FPLT_LIST | FPLT_REQUIRED, NULL, 0, 0, NULL,
     "file to read, or the address of a table (sqlite:FILE?table=NAME, docs/data.md); with "
     "several, "
     "each is one agent",
     0, 0},
    {"format", FPLT_CHOICE, 0, "auto", 0, 0, "auto|csv|libsvm|npy|fplt",
     "format of the file; auto: chosen by the file name, then by the content", 0, 0,
     .needs = "data;!schema"},
    {"schema", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "YAML file that declares the columns: types, bounds, levels, classes, missing values", 0, 0,
     .needs = "data"},
    {"bounds", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "LOW..HIGH, range of all columns except label and site, instead of a schema; requires labels",
     0, 0, .needs = "data;!schema"},
    {"label", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "label column, by name or by number from 1; none: no labels", 0, 0,
     .needs = "data;!schema,label=none"},
    {"site", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column with the agent of each row (CSV); default: `site` if the file has it; none: no column",
     0, 0, .needs = "data;!schema,site=none"},
    {"labels", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "values of the labels, for example yes=1,no=-1", 0, 0, .needs = "data;!schema"},
    {"features", FPLT_INTEGER, 0, NULL, 1, 4294967295.0, NULL,
     "number of features, if a LIBSVM file contains fewer, or more than 50,000,000", 0, 0},
    {"largest-file", FPLT_REAL, FPLT_ABOVE, NULL, 0, 1048576, NULL,
     "maximum size of a file in GiB; default: 1024, or 1 if the size is unknown (a pipe)", 0, 0,
     .needs = "data"},
    {"separator", FPLT_CHOICE, 0, "auto", 0, 0, "auto|comma|tab|semicolon|bar",
     "field separator of a CSV file; auto: the first of these that occurs in the first line", 0, 0,
     .needs = "data"},
    {"decimal", FPLT_CHOICE, 0, "point", 0, 0, "point|comma",
     "decimal sign of the numbers in a CSV file", 0, 0, .needs = "data"},
    {"dates", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|days|years",
     "dates in feature columns of a CSV file (2020-12-31, 31.12.2020): refuse them, or convert "
     "them to days since 1970-01-01 or to years",
     0, 0, .needs = "data;!schema;!bounds"},
    {"header", FPLT_SWITCH, 0, "yes", 0, 0, NULL, "the first line of a CSV file names the columns",
     0, 0, .needs = "data;!schema"},
    {"missing", FPLT_CHOICE, 0, "refuse", 0, 0, "refuse|drop|mean|median|most-frequent|constant",
     "missing values (empty, ?, NA, N/A, NaN, NULL, -): refuse the file, drop the rows, or fill "
     "them with the mean, median or most frequent value of the training rows of all agents, or "
     "with a constant",
     0, 0, .needs = "data;!schema;!bounds"},
    {"missing-value", FPLT_REAL, 0, "0", -HUGE_VAL, HUGE_VAL, NULL,
     "value that replaces missing values with missing constant", 0, 0, .needs = "missing=constant"},
    {"missing-bounds", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "bounds of columns of numbers, such as age=18..100,visits=0..30: missing median is found on "
     "cells between them, missing most-frequent among the whole numbers between them, as a "
     "federation does; default: from the values themselves",
     0, 0, .needs = "missing=median|most-frequent"},
    {"missing-cells", FPLT_INTEGER, 0, "1000", 1, 100000, NULL,
     "cells of equal width between the bounds of a column for missing median", 0, 0,
     .needs = "missing=median;missing-bounds"},
    {"missing-codes", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "further codes for missing values, for example -9 or . (CSV); none: numbers that look like "
     "codes are values",
     0, 0, .needs = "data"},
    {"columns", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "feature columns (CSV); default: all columns without another role", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"ignore", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "columns to ignore (CSV)", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"id", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "column with row identifiers (CSV): not a feature; predict copies it to its output", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"row-weight", FPLT_TEXT, 0, NULL, 0, 0, NULL, "column with the weight of each row (CSV)", 0, 0,
     .needs = "data;!schema;!bounds"},
    {"categories", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "columns to encode as one feature per level; auto: columns that contain words; auto,NAME: "
     "these and NAME",
     0, 0, .needs = "data;!schema;!bounds"},
    {"drop-first-level", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "omit the feature of the first level of each category", 0, 0,
     .needs = "categories;!schema;!bounds"},
    {"task", FPLT_CHOICE, 0, "auto", 0, 0, "auto|binary|classes|regression",
     "binary or multi-class classification, or regression", 0, 0,
     .needs = "data,generator=planted;!schema;!bounds"},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__generate_table[] = {
    {"generator", FPLT_CHOICE, 0, "paper", 0, 0, "paper|iid|planted|quadratic",
     "model of the synthetic data", 0, 0, .needs = "!data"},
    {"agents", FPLT_INTEGER, 0, "100", 1, 4294967295.0, NULL, "number of agents", 0, 0},
    {"features", FPLT_INTEGER, 0, "5", 1, 4294967295.0, NULL, "number of features", 0, 0},
    {"rows", FPLT_INTEGER, 0, "250", 1, 1e15, NULL, "rows of each agent", 0, 0, .needs = "!data"},
    {"unequal", FPLT_REAL, FPLT_BELOW, "0", 0, 1, NULL,
     "relative spread u of the number of rows: from rows (1-u) to rows (1+u)", 0, 0,
     .needs = "!data"},
    {"spread", FPLT_REAL, 0, "1", 0, HUGE_VAL, NULL,
     "standard deviation of the agents' means (paper, iid) or minimisers (quadratic)", 0, 0,
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
     "task of generator planted; the other generators have a fixed task", 0, 0,
     .needs = "generator=planted"},
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL, "seed of the random number streams",
     0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__partition_table[] = {
    {"partition", FPLT_CHOICE, 0, NULL, 0, 0, "contiguous|shuffled|skewed",
     "division of the rows among agents, instead of by site or file", 0, 0},
    {"agents", FPLT_INTEGER, 0, "10", 1, 4294967295.0, NULL, "number of agents", 0, 0},
    {"alpha", FPLT_REAL, FPLT_ABOVE, "0.5", 0, HUGE_VAL, NULL,
     "Dirichlet parameter of partition skewed: small values give unequal agents", 0, 0,
     .needs = "partition=skewed"},
    {"seed", FPLT_INTEGER, 0, "0", 0, 9007199254740992.0, NULL, "seed of the random number streams",
     0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__transform_table[] = {
    {"standardise", FPLT_CHOICE, FPLT_AUTO, "no", 0, 0, "no|yes|scale|schema",
     "scale columns to mean 0 and standard deviation 1; scale: standard deviation only, which "
     "keeps zeros; schema: by the declared centre and scale",
     0, 0, "scale if the data are sparse, otherwise yes"},
    {"formula", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "terms of the model over the columns as in R, for example \"disease ~ age * sex + poly(chol, "
     "2) "
     "+ C(cp)\"",
     0, 0, .needs = "drop-first-level=no"},
    {"site-effects", FPLT_CHOICE, 0, "none", 0, 0, "none|fixed",
     "fixed: an intercept for every site; each site but the first is one more coefficient", 0, 0,
     .needs = "standardise=auto|no|yes|scale;radius=0;!privacy.epsilon;!privacy.tau"},
    {"radius", FPLT_REAL, 0, "0", 0, HUGE_VAL, NULL,
     "maximum norm of a row: longer rows are scaled down; 0: no limit", 0, 0},
    FPLT_SETTINGS_END,
};
