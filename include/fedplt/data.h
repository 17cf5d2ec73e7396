/* Data sets: rows of numbers with a label each, grouped by the agent they belong to. */
#ifndef FEDPLT_DATA_H
#define FEDPLT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/settings.h"
#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Consecutive rows, borrowed from a data set. Exactly one of `dense` and `start` is set. */
typedef struct fplt_rows {
    size_t count, features;
    const double *dense;    /* row-major, `features` numbers a row */
    const size_t *start;    /* CSR: row r has entries start[r] .. start[r + 1] - 1 of ... */
    const uint32_t *column; /* ... column (0-based, increasing in a row) and */
    const double *value;
    const double *label;  /* -1 and +1 for two classes, 0, 1, ... for more, the target itself in
                             regression; in survival the time, negative where it is censored */
    const double *weight; /* how much a row counts, above 0; NULL: all alike */
    const double *offset; /* known part of a row's linear predictor; NULL: none */
} fplt_rows;

typedef enum fplt_task {
    FPLT_TASK_BINARY,
    FPLT_TASK_CLASSES, /* three classes or more */
    FPLT_TASK_REGRESSION,
    FPLT_TASK_SURVIVAL /* times until an event, some of them censored */
} fplt_task;

/* Whether labels are classes. */
FPLT_API int fplt_task_classifies(fplt_task task);

/* binary, classes, regression, ... */
FPLT_API const char *fplt_task_name(fplt_task task);

typedef struct fplt_dataset fplt_dataset;
typedef struct fplt_schema fplt_schema; /* what the columns mean: fedplt/schema.h */

/* Copies `rows`; agent i has the next agent_rows[i] of them. */
FPLT_API fplt_status fplt_dataset_from_rows(const fplt_rows *rows, fplt_task task,
                                            const size_t *agent_rows, uint32_t agents,
                                            fplt_dataset **dataset, fplt_error *error);
/* The same without a copy: the arrays must stay as they are until `release` (or NULL) is called with
 * `context`, once, by fplt_dataset_destroy; it is not called where this fails. */
FPLT_API fplt_status fplt_dataset_borrow(const fplt_rows *rows, fplt_task task,
                                         const size_t *agent_rows, uint32_t agents,
                                         void (*release)(void *context), void *context,
                                         fplt_dataset **dataset, fplt_error *error);
/* Gives names (copied) to all features, agents and classes; NULL: they keep those they have. There
 * are fplt_dataset_outputs classes, in the order of fplt_dataset_class_name. */
FPLT_API fplt_status fplt_dataset_name(fplt_dataset *dataset, const char *const *features,
                                       const char *const *agents, const char *const *classes,
                                       fplt_error *error);
/* Releases the data set with its names, and calls the `release` of borrowed rows; NULL is legal.
 * Objectives made from the data set stay valid: they hold copies. */
FPLT_API void fplt_dataset_destroy(fplt_dataset *dataset);

/* Sizes of the data set, in constant time: fplt_dataset_rows counts the rows of all agents,
 * fplt_dataset_features the features of a row (after categories became columns),
 * fplt_dataset_agents the agents; fplt_dataset_task says what the labels are. Thread-safe. */
FPLT_API size_t fplt_dataset_rows(const fplt_dataset *dataset);
FPLT_API size_t fplt_dataset_features(const fplt_dataset *dataset);
FPLT_API uint32_t fplt_dataset_agents(const fplt_dataset *dataset);
FPLT_API fplt_task fplt_dataset_task(const fplt_dataset *dataset);
/* 2 for two classes, the number of classes for more, 1 in regression and survival. */
FPLT_API uint32_t fplt_dataset_outputs(const fplt_dataset *dataset);
/* The rows of one agent, 0 to fplt_dataset_agents() - 1 (not checked), without a copy: the arrays
 * belong to the data set. Constant time; thread-safe. */
FPLT_API fplt_rows fplt_dataset_shard(const fplt_dataset *dataset, uint32_t agent);
/* All rows, agent after agent. */
FPLT_API fplt_rows fplt_dataset_all(const fplt_dataset *dataset);

/* Names, borrowed from the data set, of features (fplt_dataset_feature_name), agents
 * (fplt_dataset_agent_name) and classes (fplt_dataset_class_name); NULL where they are not known
 * or the number is past the last. Class 0 is the label -1 of two classes and class 1 the label +1. */
FPLT_API const char *fplt_dataset_feature_name(const fplt_dataset *dataset, size_t feature);
FPLT_API const char *fplt_dataset_agent_name(const fplt_dataset *dataset, uint32_t agent);
FPLT_API const char *fplt_dataset_class_name(const fplt_dataset *dataset, uint32_t index);

/* The place of row number `row` of all in the file it was read from, from 1, the header not counted; 0
 * where it was not read. */
FPLT_API size_t fplt_dataset_row_number(const fplt_dataset *dataset, size_t row);
/* What stands in its id column; NULL: there is none. */
FPLT_API const char *fplt_dataset_row_id(const fplt_dataset *dataset, size_t row);
/* For each row of the agent the number of its person, counted from 0; NULL where persons are not
 * known. */
FPLT_API const double *fplt_dataset_persons(const fplt_dataset *dataset, uint32_t agent);
/* Rows of the files that were left out because a value is missing: their numbers, counted from 0 over all
 * files, in order. Known of a data set as it was read. */
FPLT_API const size_t *fplt_dataset_left_out(const fplt_dataset *dataset, size_t *count);
/* The schema the data were read by, kept by the data set; NULL: none. */
FPLT_API const fplt_schema *fplt_dataset_schema(const fplt_dataset *dataset);

/* Whether the rows are those of a file that is mapped into memory. */
FPLT_API int fplt_dataset_is_mapped(const fplt_dataset *dataset);

/* Synthetic data. N(m, C) is normal; agent i draws from a stream of its own, keyed by (seed, run,
 * i), so its rows do not depend on how many other agents there are.
 *   paper      mean_i ~ N(0, spread^2 I); each row: label b = -1 or +1 evenly,
 *              a = b mean_i + N(0, I)
 *   iid        the same with one mean common to all agents
 *   planted    truth ~ N(0, I) common to all; a ~ N(0, I);
 *              binary: label = sign(a.truth + noise * logistic);
 *              classes: one truth a class, label = argmax_c a.truth_c + noise * Gumbel;
 *              regression: label = a.truth + noise * N(0, 1)
 *   quadratic  regression: A = sqrt(q) U diag(sqrt(lambda)) V', with random orthonormal U (q x n)
 *              and V (n x n), a minimiser m_i ~ N(0, spread^2 I), labels A m_i + noise * N(0, I).
 *              The Hessian A'A/q of (1/q) sum (a.x - label)^2/2 then has the eigenvalues lambda:
 *              the smallest is `lowest`, the largest `highest`, the others lie log-uniformly
 *              between (uniformly on 0 .. `highest` when `lowest` is 0). Needs q >= n. */
typedef struct fplt_generate_settings {
    const char *name; /* paper, iid, planted, quadratic */
    uint32_t agents;
    size_t features;
    size_t rows;              /* of each agent */
    const size_t *agent_rows; /* instead of `rows`: one number an agent (borrowed), or NULL */
    double unequal; /* 0, or u < 1: an agent's rows are uniform on rows (1-u) .. rows (1+u) */
    double spread, noise, lowest, highest;
    fplt_task task;   /* planted only: the others have their own */
    uint32_t classes; /* planted with FPLT_TASK_CLASSES */
    uint64_t seed;
    uint32_t run; /* the number of the Monte Carlo run */
} fplt_generate_settings;

/* The paper's problem: 100 agents, 5 features, 250 rows, spread 1. */
FPLT_API fplt_generate_settings fplt_generate_defaults(void);
/* Makes a synthetic data set. The settings are borrowed for the call; `dataset` is released with
 * fplt_dataset_destroy, and NULL on failure. FPLT_BAD_VALUE for an unknown name or a number out of
 * range, FPLT_NO_MEMORY. The same settings give the same bits on every number of threads. */
FPLT_API fplt_status fplt_dataset_generate(const fplt_generate_settings *settings,
                                           fplt_dataset **dataset, fplt_error *error);
/* What exists: name number `index` and one line of help; NULL past the last. */
FPLT_API const char *fplt_generator_list(size_t index, const char **help);

/* Reading. Every failure is a sentence that names the file and the line. `-` is standard input; what
 * gzip packed is unpacked, told by its first bytes.
 *   csv     RFC 4180 (quotes, embedded commas, newlines and quotes; LF or CRLF; a UTF-8 byte order
 *           mark is skipped), header row; blanks around an unquoted field do not count. Dense; only
 *           where one-hot columns would need many times the room of the file, CSR.
 *   libsvm  `label index:value ...`, indices from 1, increasing; # begins a comment. CSR.
 *   npy     versions 1 and 2, two dimensions in either order: floating point of 4 or 8 bytes, integers
 *           of any width, bool; any byte order. Dense.
 *   fplt    what fplt_dataset_write made: everything a data set has. The file is mapped: it opens at
 *           once, and its pages are shared. Told by its first bytes. One file only. While the data set
 *           is in use the file must not be made shorter; replacing it does no harm.
 * Labels. With `labels`, or with class names of an existing model, a label must be one of them
 * (compared as text, then as numbers). Without, labels are numbers, or all of them words: two
 * distinct ones become -1 and +1, the smaller -1; more become 0, 1, ... in sorted order; in
 * regression the number itself counts. Task auto: two distinct labels are binary, 3 to
 * 100 whole ones are classes, decimals are regression, anything else must be said. */
typedef struct fplt_read_settings {
    const char *format; /* NULL or auto: by extension, then by content; csv, libsvm, npy, fplt */
    /* CSV: name or number (from 1) of the column, NULL: the column `label`. NPY: its number, NULL:
     * the last. none: there are no labels; they read as 0 and the task as regression. */
    const char *label;
    /* CSV: name or number of the column that says which agent has the row, NULL: the column `site`
     * if there is one; none: no such column. */
    const char *site;
    /* "yes=1,no=-1": text of the label = class value (in regression: number); the values are taken
     * in sorted order. NULL: none. */
    const char *labels;
    size_t features; /* LIBSVM: 0: the highest index there is. Elsewhere checked unless 0 */
    int no_header;   /* CSV: the first line is data; the columns are called 1, 2, ... */
    int drop_missing; /* CSV: leave out rows with a missing value (empty, ?, NA, N/A, NaN, NULL, -); else refuse */
    const char *categories; /* CSV: columns (names, separated by commas) to turn into one column a
                               level, `name=level`, levels sorted; auto: every column that holds
                               something else than numbers; auto,a,b: these and a and b; NULL: none */
    int drop_first_level;   /* of each category, so that the columns of a category never sum to 1 */
    const char *task;       /* NULL or auto, binary, classes, regression */
    /* Of an existing model, borrowed, or NULL: the classes in their order, and the features that
     * the data set must have, in their order. CSV columns are then found by name in any order,
     * others are left out; `name=level` makes the column `name` a category. A level that the model
     * does not know is answered by `unknown_level`. */
    const char *const *class_names;
    uint32_t class_count;
    const char *const *feature_names;
    size_t feature_count;
    /* Borrowed, or NULL: what the columns mean. It then stands for all of the above but `label` and
     * `site`, which may be none. */
    const fplt_schema *schema;
    int leave_out; /* columns that the schema does not declare: 0 refused, 1 not looked at */
    const char *
        separator; /* CSV: comma, tab, semicolon, bar; NULL or auto: the first of them that is in the
                              first line */
    size_t largest; /* bytes of a file at most; 0: 2^40, of what has no size (a pipe) 2^30 */
    int set_aside; /* CSV: columns `label` and `site` are no features, although there is no label or site */
    /* CSV, names separated by commas, or NULL: the only columns that are features; columns that are
     * not looked at. */
    const char *columns, *ignore;
    const char *row_weight; /* CSV: column of how much a row counts, above 0; NULL: all alike */
    const char *id;         /* CSV: column whose texts fplt_dataset_row_id gives back; NULL: none */
    int id_if_there;        /* a file without that column is legal */
    /* Missing features are NaN in the rows, to be filled by fplt_transform_fit and _apply. */
    int keep_missing;
    unsigned threads; /* that read; 0: one a core. The data set does not depend on it */
    /* fplt: whether the numbers of the rows are finite is not looked at, so that pages are not touched
     * before they are needed; fplt_objective_create refuses those that are not. */
    int unchecked;
    /* Borrowed, or NULL: of all this only what was asked for, where the rest is that of an existing model. What
     * does not apply to a file is refused if it was asked for. */
    const struct fplt_read_settings *asked;
    /* CSV: decimal sign of numbers: NULL or point, or comma. With comma a number with a point is refused. */
    const char *decimal;
    /* CSV: values, separated by commas, that stand for a missing one beside those of drop_missing; they are
     * compared as texts, then as numbers. NULL: none, and numbers that look like such codes (-9 among numbers
     * of at least 0) are refused; none: they are not. */
    const char *missing_codes;
    /* Of an existing model, borrowed, or NULL: `column=level` of the levels that have no feature. */
    const char *const *reference_levels;
    size_t reference_count;
    /* A level that an existing model does not know: NULL or refuse; reference: as the one without a feature;
     * missing: as a missing value. */
    const char *unknown_level;
    const char *dates; /* CSV: dates among features: NULL or refuse; days since 1970-01-01; years */
    /* How many values a schema clipped or replaced is not logged: with a promise of privacy nothing that is printed
     * may depend on a record. */
    int silent;
} fplt_read_settings;

/* Everything NULL or 0: CSV with columns `label` and `site`, or LIBSVM, or NPY. */
FPLT_API fplt_read_settings fplt_read_defaults(void);

/* Is told now and then how many bytes of a text file have been read. */
typedef void (*fplt_reading)(void *context, const char *file, size_t done, size_t size);
/* NULL (the default): nobody is told. Set it before other threads use the library. */
FPLT_API void fplt_read_watch(fplt_reading watch, void *context);

/* One file: its agents are the sites in order of first appearance, rows regrouped without changing
 * their order within a site; without a site column there is one agent. Several files: each is one
 * agent, and all must have the same features. */
FPLT_API fplt_status fplt_dataset_read(const char *const *paths, size_t count,
                                       const fplt_read_settings *settings, fplt_dataset **dataset,
                                       fplt_error *error);

/* Writes a data set (format: csv, libsvm, npy, fplt; NULL: by the extension of the path), numbers with 17
 * digits, or as they are, so that reading gives the same bits. CSV has a column `label`, and a column `site` when
 * there are several agents or their names are known; LIBSVM and NPY do not hold agents or names;
 * FPLT holds everything. Labels are written as the numbers they are in memory. The file appears whole or not at all. */
FPLT_API fplt_status fplt_dataset_write(const fplt_dataset *dataset, const char *path,
                                        const char *format, fplt_error *error);

/* What exists: name number `index` and one line of help; NULL past the last. */
FPLT_API const char *fplt_format_list(size_t index, const char **help);

/* Rows of every class together count alike: each row's weight is multiplied by rows/(classes x rows of
 * its class), over all agents. Classification only. */
FPLT_API fplt_status fplt_dataset_balance(fplt_dataset *dataset, fplt_error *error);

/* New data set with some of the agents, in the given order. */
FPLT_API fplt_status fplt_dataset_pick(const fplt_dataset *dataset, const uint32_t *agents,
                                       uint32_t count, fplt_dataset **picked, fplt_error *error);

/* New division of all rows among agents. Within an agent the rows keep their order.
 *   contiguous  consecutive rows; the first rows mod agents have one more than the others
 *   shuffled    the same sizes, rows drawn at random
 *   skewed      for each class, the agents' shares of its rows are Dirichlet(alpha, ..., alpha); an
 *               agent left without rows gets one from those with most. Classification only. */
typedef struct fplt_partition_settings {
    const char *name; /* contiguous, shuffled, skewed */
    uint32_t agents;
    double alpha; /* skewed: small is very unequal */
    uint64_t seed;
} fplt_partition_settings;

/* contiguous, 10 agents, alpha 0.5 */
FPLT_API fplt_partition_settings fplt_partition_defaults(void);
/* Makes a new data set with the rows divided anew; the old one is unchanged and may be destroyed.
 * FPLT_BAD_VALUE for an unknown name, 0 agents, more agents than rows, or alpha not above 0;
 * FPLT_UNSUPPORTED for more than 2^32 - 1 rows. `partitioned` is NULL on failure. */
FPLT_API fplt_status fplt_dataset_partition(const fplt_dataset *dataset,
                                            const fplt_partition_settings *settings,
                                            fplt_dataset **partitioned, fplt_error *error);
/* What exists: name number `index` and, where `help` is not NULL, one line of help; NULL past the
 * last. */
FPLT_API const char *fplt_partition_list(size_t index, const char **help);

/* Holds out round(fraction q_i) rows of each agent, drawn at random; an agent keeps at least one.
 * Agents without held-out rows are absent from `test`; when that is all of them, FPLT_BAD_VALUE. */
FPLT_API fplt_status fplt_dataset_split(const fplt_dataset *dataset, double fraction, uint64_t seed,
                                        fplt_dataset **train, fplt_dataset **test,
                                        fplt_error *error);

/* The same where the data set's agents are number `first`, first + 1, ... of a federation: each has
 * the rows held out that it would have among all. */
FPLT_API fplt_status fplt_dataset_split_from(const fplt_dataset *dataset, uint32_t first,
                                             double fraction, uint64_t seed, fplt_dataset **train,
                                             fplt_dataset **test, fplt_error *error);

/* What was done to the columns and rows, so that the same can be done to other data: first a missing
 * a_j becomes fill_j, then a_j <- (a_j - mean_j) / scale_j, then rows longer than `radius` are
 * shortened to it. */
typedef struct fplt_transform {
    size_t features;
    double *mean;  /* owned; NULL: nothing is subtracted */
    double *scale; /* owned; NULL: nothing is divided; never 0 */
    double radius; /* 0: rows keep their length */
    double *fill;  /* owned; NULL: nothing is missing */
} fplt_transform;

typedef struct fplt_transform_settings {
    /* no; yes: mean 0 and deviation 1; scale: divide by the deviation only, which keeps zeros (the
     * only one for CSR). Deviation over all rows of all agents, divided by their number; 1 for a
     * constant column. schema: subtract the declared centres and divide by the declared scales. */
    const char *standardise;
    double radius; /* 0, or the norm that no row exceeds */
    /* What a missing value becomes, from the values of all agents that are there: mean, median (of an
     * even number the middle of two), most-frequent (of several the smallest); of a category always
     * its most frequent level. constant: `fill_value`, and no level of a category. NULL: nothing is
     * missing. */
    const char *fill;
    double fill_value;
} fplt_transform_settings;

/* no, 0 */
FPLT_API fplt_transform_settings fplt_transform_defaults(void);
/* Finds the transform on `dataset` without changing it. */
FPLT_API fplt_status fplt_transform_fit(const fplt_dataset *dataset,
                                        const fplt_transform_settings *settings,
                                        fplt_transform *transform, fplt_error *error);
/* Changes the rows in place, borrowed ones after copying them, once a row is to be changed; before
 * anything has borrowed the data set. After shortening, the norm
 * as computed in double precision is at most `radius`, never a rounding error above. */
FPLT_API fplt_status fplt_transform_apply(const fplt_transform *transform, fplt_dataset *dataset,
                                          fplt_error *error);
/* How many values of a feature and an agent were missing before fplt_transform_apply filled them in. */
FPLT_API size_t fplt_dataset_filled(const fplt_dataset *dataset, uint32_t agent, size_t feature);
/* Releases what the struct owns; a zeroed struct is legal. */
FPLT_API void fplt_transform_clear(fplt_transform *transform);

typedef struct fplt_description {
    size_t rows, features, nonzeros;
    uint32_t agents, outputs;
    fplt_task task;
    int sparse;
    size_t fewest_rows, most_rows; /* of an agent */
    double largest_norm;           /* of a row */
    double lowest_label, highest_label;
} fplt_description;

/* Counts and extremes of a data set. Reads every row, so it takes time proportional to the data.
 * No memory belongs to the result. Thread-safe. */
FPLT_API fplt_description fplt_dataset_describe(const fplt_dataset *dataset);
/* Rows of class number `index` (of two classes: 0 is -1); 0 in regression. */
FPLT_API size_t fplt_dataset_class_rows(const fplt_dataset *dataset, uint32_t index);

/* What the columns of CSV files hold, before anything is refused but what is no table: a line for every column over all
 * rows, then one for each site (the site column, or the file where there are several). */
typedef struct fplt_survey fplt_survey;
typedef struct fplt_survey_line {
    const char *column, *site; /* belong to the survey; site NULL: all rows */
    size_t rows, missing, numbers, words;
    double mean,
        deviation; /* of the numbers, divided by their number less 1; NaN where there are too few */
    double quantile[5]; /* least, quarters, largest, as R's default; NaN: no numbers */
    const char *levels; /* the most frequent words with their counts; belongs to the survey */
} fplt_survey_line;
/* Reads the files by decimal, missing_codes, separator, no_header and site of the settings, which must outlive the
 * call only. */
FPLT_API fplt_status fplt_survey_create(const char *const *paths, size_t count,
                                        const fplt_read_settings *settings, fplt_survey **survey,
                                        fplt_error *error);
/* Line number `index`; returns 0 past the last. */
FPLT_API int fplt_survey_get(const fplt_survey *survey, size_t index, fplt_survey_line *line);
/* A sentence about a likely mistake, with the remedy: number `index`, NULL past the last. */
FPLT_API const char *fplt_survey_problem(const fplt_survey *survey, size_t index);
/* Releases the survey and every text in its lines; NULL is legal. */
FPLT_API void fplt_survey_destroy(fplt_survey *survey);

/* The settings as tables, for files and flags: reading (fplt_read_table), generating
 * (fplt_generate_table), dividing (fplt_partition_table), transforming (fplt_transform_table).
 * Constant; each ends with FPLT_SETTINGS_END. */
FPLT_API extern const fplt_setting fplt_read_table[];
FPLT_API extern const fplt_setting fplt_generate_table[];
FPLT_API extern const fplt_setting fplt_partition_table[];
FPLT_API extern const fplt_setting fplt_transform_table[];

#ifdef __cplusplus
}
#endif
#endif
