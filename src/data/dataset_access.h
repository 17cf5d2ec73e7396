/* Data sets as the modules above and the program use them, beside fedplt/data.h. */
#ifndef FPLT_DATA_DATASET_ACCESS_H
#define FPLT_DATA_DATASET_ACCESS_H

#include "fedplt/data.h"
#include "fedplt/schema.h"

/* Whether labels are classes. */
int fplt__task_classifies(fplt_task task);

/* The place of row number `row` of all in the file it was read from, from 1, the header not counted; 0
 * where it was not read. */
size_t fplt__dataset_row_number(const fplt_dataset *dataset, size_t row);

/* What stands in its id column; NULL: there is none. */
const char *fplt__dataset_row_id(const fplt_dataset *dataset, size_t row);

/* For each row of the agent the number of its person, counted from 0; NULL where persons are not
 * known. */
const double *fplt__dataset_persons(const fplt_dataset *dataset, uint32_t agent);

/* Rows of the files that were left out because a value is missing: their numbers, counted from 0 over all
 * files, in order. Known of a data set as it was read. */
const size_t *fplt__dataset_left_out(const fplt_dataset *dataset, size_t *count);

/* The schema the data were read by, kept by the data set; NULL: none. */
const fplt_schema *fplt__dataset_schema(const fplt_dataset *dataset);

/* Whether the rows are those of a file that is mapped into memory. */
int fplt__dataset_is_mapped(const fplt_dataset *dataset);

/* What exists: name number `index` and one line of help; NULL past the last. */
const char *fplt__generator_list(size_t index, const char **help);

/* Is told now and then how many bytes of a text file have been read. */
typedef void (*fplt__reading)(void *context, const char *file, size_t done, size_t size);

/* NULL (the default): nobody is told. Set it before other threads use the library. */
void fplt__read_watch(fplt__reading watch, void *context);

/* What exists: name number `index` and one line of help; NULL past the last. */
const char *fplt__format_list(size_t index, const char **help);
/* Sources of tables that are not text: name, form of the address, and the libraries behind it; *version is NULL where
 * its module is not there. NULL past the last. Loads the module. */
const char *fplt__door_list(size_t index, const char **about, const char **version);

/* Rows of every class together count alike: each row's weight is multiplied by rows/(classes x rows of
 * its class), over all agents. Classification only. */
fplt_status fplt__dataset_balance(fplt_dataset *dataset, fplt_error *error);
/* The two halves of it, for data sets that are one of several: the rows of each class (one number an output), and weights
 * from the rows of each class in all of them. */
fplt_status fplt__dataset_count_classes(const fplt_dataset *dataset, uint64_t *rows,
                                        fplt_error *error);
fplt_status fplt__dataset_balance_by(fplt_dataset *dataset, const uint64_t *rows,
                                     fplt_error *error);

/* New data set with some of the agents, in the given order. */
fplt_status fplt__dataset_pick(const fplt_dataset *dataset, const uint32_t *agents, uint32_t count,
                               fplt_dataset **picked, fplt_error *error);

/* What exists: name number `index` and, where `help` is not NULL, one line of help; NULL past the
 * last. */
const char *fplt__partition_list(size_t index, const char **help);

/* Deals the rows of agent number `agent` out into folds by the seed, as evenly as they go. */
void fplt__deal_folds(size_t rows, uint32_t agent, uint32_t folds, uint64_t seed, uint32_t *fold);

/* The same where the data set's agents are number `first`, first + 1, ... of a federation: each has
 * the rows held out that it would have among all. */
fplt_status fplt__dataset_split_from(const fplt_dataset *dataset, uint32_t first, double fraction,
                                     uint64_t seed, fplt_dataset **train, fplt_dataset **test,
                                     fplt_error *error);

/* How many values of a feature and an agent were missing before fplt_transform_apply filled them in. */
size_t fplt__dataset_filled(const fplt_dataset *dataset, uint32_t agent, size_t feature);

typedef struct fplt__description {
    size_t rows, features, nonzeros;
    uint32_t agents, outputs;
    fplt_task task;
    int sparse;
    size_t fewest_rows, most_rows; /* of an agent */
    double largest_norm;           /* of a row */
    double lowest_label, highest_label;
} fplt__description;

/* Counts and extremes of a data set. Reads every row, so it takes time proportional to the data.
 * No memory belongs to the result. Thread-safe. */
fplt__description fplt__dataset_describe(const fplt_dataset *dataset);

/* Rows of class number `index` (of two classes: 0 is -1); 0 in regression. */
size_t fplt__dataset_class_rows(const fplt_dataset *dataset, uint32_t index);

#endif
