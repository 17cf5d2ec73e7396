/* The inside of a data set, for the readers, generators, partitioners and transforms. */
#ifndef FPLT_DATA_DATASET_H
#define FPLT_DATA_DATASET_H

#include "fedplt/data.h"
#include "fedplt/generate.h"
#include "fedplt/partition.h"
#include "fedplt/read.h"
#include "fedplt/transform.h"

typedef struct fplt__span {
    const char *text;
    size_t length;
} fplt__span;

/* Texts in one block: the pointers first, the characters behind them. count 0: not known. */
typedef struct fplt__names {
    size_t count;
    const char **item; /* owned */
} fplt__names;

/* What an agent has, where its rows may be in another process. */
typedef struct fplt__census {
    size_t rows;
    double weight; /* of them all: their number where they have none */
} fplt__census;

/* The agents first .. end - 1 of `agents`. */
typedef struct fplt__portion {
    uint32_t agents, first, end;
} fplt__portion;

/* Part `number` of `count` parts of as many agents as can be: contiguous blocks. */
fplt__portion fplt__portion_make(uint32_t agents, unsigned number, unsigned count);
int fplt__portion_has(const fplt__portion *part, uint32_t agent);

/* Where a data set is one of several parts: what is folded over all rows, in the order of the agents, goes
 * from part to part. */
typedef struct fplt__relay {
    /* Whether all parts are ready; one that is not says so here or later, and takes and passes nothing. */
    fplt_status (*ready)(void *context, fplt_status status, fplt_error *error);
    void (*take)(void *context, void *bytes,
                 size_t size); /* from the part before, if there is one */
    void (*pass)(void *context, void *bytes,
                 size_t size); /* on; afterwards all have the last part's */
    void *context;
} fplt__relay;

struct fplt_dataset {
    fplt_task task;
    uint32_t agents, outputs;
    size_t rows, features;
    size_t *first; /* agent i has rows first[i] .. first[i + 1] - 1 */
    double *dense; /* either this ... */
    size_t *start; /* ... or these three */
    uint32_t *column;
    double *value;
    double *label;
    double *weight, *offset; /* NULL where rows have none */
    double *person;          /* numbers from 0, or NULL */
    double *number;          /* place in its file from 1, or NULL */
    fplt__names ids;         /* one a row, or none */
    uint32_t *group;  /* of each feature: 0 a number, else its category's; NULL: all numbers */
    size_t *left_out; /* numbers of rows of the files that were left out, or NULL */
    size_t left_out_count;
    struct fplt__clipped
        *clipped; /* owned: what a schema changed, of a file in memory; NULL: not counted here */
    size_t neutral_rows; /* that became the neutral row, counted likewise */
    fplt__names feature_names, agent_names;
    fplt__names class_names; /* in order of the class values */
    fplt__names
        references; /* `column=level` of each category that has no feature for its first level */
    fplt_schema *schema; /* kept, or NULL */
    size_t *
        filled; /* owned: missing values, agents x features, before a transform filled them; NULL: none */
    /* Where the rows of some agents are in other processes: of every agent, and the largest label there. An
     * agent that is not here has no rows in the arrays above. NULL: all are here. */
    fplt__census *census;
    double largest_label;
    /* What is borrowed is never written to. */
    int lent_values;           /* dense or value is the caller's */
    int lent_rest;             /* start, column, label, weight and offset are ... */
    int own_label, own_weight; /* ... but for these */
    int lent_beside;           /* person, number, group and left_out are */
    int new_site_is_reference; /* for a design with effects of sites */
    int passes;                /* rows are not needed once they are packed */
    void (*release)(void *);   /* told when nothing is borrowed any more, or NULL */
    void *release_context;
    const struct fplt__view *view; /* of the file that the rows are mapped from, or NULL */
    const char *path;              /* borrowed: its name */
};

/* For `entries` of fplt__dataset_create. */
#define FPLT__DENSE SIZE_MAX

/* Class values from 0 to below this. */
#define FPLT__CLASSES_MAX 1000000

/* Minimum number of outputs of a task: 2 for classes, 1 for numbers. */
uint32_t fplt__task_outputs(fplt_task task);

/* Room for everything but names, zeroed; features and classes are the caller's to fill. */
fplt_status fplt__dataset_create(size_t rows, size_t features, size_t entries, uint32_t agents,
                                 fplt_task task, fplt_dataset **dataset, fplt_error *error);

/* The same without the rows themselves. */
fplt_status fplt__dataset_create_empty(size_t rows, size_t features, uint32_t agents,
                                       fplt_task task, fplt_dataset **dataset, fplt_error *error);

/* Labels, weights and offsets of a data set that comes from `name`, and the number of its outputs. */
fplt_status fplt__dataset_check(const fplt_dataset *dataset, const char *name, fplt_error *error);
/* The place of the first number of the rows that is not finite: in the array of a dense data set, the row of a
 * sparse one; SIZE_MAX: all are. */
size_t fplt__dataset_not_finite(const fplt_dataset *dataset);
/* Of `count` numbers the first that is not finite; `count`: all are. */
size_t fplt__first_not_finite(const double *value, size_t count);
/* FPLT_BAD_DATA where the rows are mapped from a file that has changed since. */
fplt_status fplt__dataset_unchanged(const fplt_dataset *dataset, fplt_error *error);

/* Of a data set that passes: the numbers of rows first .. end - 1 were read for the last time. */
void fplt__dataset_passed(const fplt_dataset *dataset, size_t first, size_t end);
/* The dense rows, which are the data set's own, with room for `numbers`, at least as many as they have: the
 * caller's from here on, and the data set has none, nor their numbers. On failure it has all still. */
fplt_status fplt__dataset_take_dense(fplt_dataset *dataset, size_t numbers, double **dense,
                                     fplt_error *error);
/* Counts and names stay, rows and all that belongs to single rows but their weights go. */
void fplt__dataset_drop_rows(fplt_dataset *dataset);

/* Room for a weight or an offset a row, zeroed, unless it is there already. */
fplt_status fplt__dataset_add(const fplt_dataset *dataset, double **column, fplt_error *error);

/* New data set of the rows order[0], order[1], ... of `source`; agent i has the next agent_rows[i].
 * Feature and class names are kept; agents' names only when `same_agents`. */
fplt_status fplt__dataset_select(const fplt_dataset *source, const size_t *order,
                                 const size_t *agent_rows, uint32_t agents, int same_agents,
                                 fplt_dataset **dataset, fplt_error *error);

/* Columns before a transform. */
static inline size_t fplt__transform_inputs(const fplt_transform *transform)
{
    return transform->design ? transform->inputs : transform->features;
}

/* New data set over the rows of `source`, which stays as it is and outlives it; names and schema are
 * its own. */
fplt_status fplt__dataset_lend(const fplt_dataset *source, fplt_dataset **dataset,
                               fplt_error *error);

/* Takes rows of weight 0 away; in a data set that has all its rows. FPLT_BAD_DATA where an agent would have none. */
fplt_status fplt__dataset_drop_weightless(fplt_dataset **dataset, fplt_error *error);

/* Weights become the data set's own, zeroed where there were none. */
fplt_status fplt__dataset_own_weights(fplt_dataset *dataset, fplt_error *error);

/* New data set with all agents of `source` (which has all rows), and the rows of agents first .. end - 1
 * alone. */
fplt_status fplt__dataset_keep(const fplt_dataset *source, uint32_t first, uint32_t end,
                               fplt_dataset **kept, fplt_error *error);
/* Files that are read by a schema, which says how many agents there are and what they are called: only the
 * rows of part `number` of `count` are kept, and where each file is an agent only its files are opened. The
 * census is of the part alone. */
fplt_status fplt__dataset_read_part(const char *const *paths, size_t count,
                                    const fplt_read_settings *settings, unsigned number,
                                    unsigned parts, fplt_dataset **dataset, fplt_error *error);
/* fplt_transform_fit over all parts; NULL: the data set is all there is. Missing values are filled only in
 * one that is. */
fplt_status fplt__transform_fit(const fplt_dataset *dataset,
                                const fplt_transform_settings *settings, const fplt__relay *relay,
                                fplt_transform *transform, fplt_error *error);
/* The rows of an agent, of all agents, an agent's weight and the largest size of a label, here or
 * elsewhere. */
size_t fplt__dataset_count(const fplt_dataset *dataset, uint32_t agent);
size_t fplt__dataset_all_rows(const fplt_dataset *dataset);
double fplt__dataset_weight(const fplt_dataset *dataset, uint32_t agent);
double fplt__dataset_largest_label(const fplt_dataset *dataset);
/* Synthetic data of which the rows of agents first .. end - 1 alone are drawn. */
fplt_status fplt__dataset_generate_part(const fplt_generate_settings *settings, uint32_t first,
                                        uint32_t end, fplt_dataset **dataset, fplt_error *error);

/* The numbers of the rows become the data set's own, where they are borrowed. */
fplt_status fplt__dataset_own_values(fplt_dataset *dataset, fplt_error *error);

fplt_status fplt__names_make(const fplt__span *spans, size_t count, fplt__names *names,
                             fplt_error *error);
fplt_status fplt__names_copy(const fplt__names *from, fplt__names *names, fplt_error *error);
/* Counts the missing values into `filled`. */
fplt_status fplt__dataset_count_missing(fplt_dataset *dataset, fplt_error *error);
void fplt__names_clear(fplt__names *names);
/* The names of a schema's features; none with LIBSVM. To be cleared. */
fplt_status fplt__schema_feature_names(const fplt_schema *schema, fplt__names *names,
                                       fplt_error *error);

/* Divides the rows anew in place of the old division; consecutive rows stay where they are. */
fplt_status fplt__dataset_divide(fplt_dataset **dataset, const fplt_partition_settings *settings,
                                 fplt_error *error);

/* Groups rows by owner, keeping their order: order[] lists the rows agent after agent, and agent i
 * has positions first[i] .. first[i + 1] - 1. The owner of row r is `stride` bytes after that of
 * row r - 1. */
void fplt__group_rows(size_t *first, uint32_t agents, const uint32_t *owner, size_t stride,
                      size_t rows, size_t *order);
/* Whether rows stand agent after agent as they are; then first[] is as above. */
int fplt__rows_grouped(size_t *first, uint32_t agents, const uint32_t *owner, size_t stride,
                       size_t rows);

size_t fplt__row_entries(const fplt_dataset *dataset, size_t row);
double *fplt__row_values(const fplt_dataset *dataset, size_t row);

/* Gives a data set the features and classes that several sites have in common, both by name: features in the
 * order of `features`, those that it lacks are 0 in every row, others are left out; a class that a row has must be
 * among `classes`. Without names, or where a list is empty, that part stays as it is. Groups of levels are forgotten
 * where features change. The data set is the caller's to destroy on failure too. */
fplt_status fplt__dataset_conform(fplt_dataset *dataset, const fplt__names *features,
                                  const fplt__names *classes, fplt_error *error);

/* Where one level of a category is missing (NaN), all of its levels are: after features were added that the data set lacked.
 * group[j]: 0 a number, otherwise the category of feature j. FPLT_UNSUPPORTED: sparse rows lack such a feature. */
fplt_status fplt__dataset_spread_missing(fplt_dataset *dataset, const uint32_t *group,
                                         fplt_error *error);

/* Least and greatest of each column: features x 2. */
fplt_status fplt__dataset_ranges(const fplt_dataset *dataset, double *ranges, fplt_error *error);
/* Exact sums over the rows, each column in its unit, a power of two: of the values, or with a `mean` of
 * the squares about it. features words x 2. */
fplt_status fplt__dataset_moments(const fplt_dataset *dataset, const double *unit,
                                  const double *mean, uint64_t *words, fplt_error *error);

#endif
