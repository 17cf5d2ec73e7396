/* Data sets from files, and back.
 *
 * Threads and blocking: functions block on files; reading starts threads of its own (`threads`) and joins them before it
 * returns. Thread-safe: calls share nothing, but two that write one path leave the file of one of them.
 */
#ifndef FEDPLT_READ_H
#define FEDPLT_READ_H

#include <stddef.h>
#include <stdint.h>

#include "fedplt/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fplt_schema fplt_schema; /* what the columns mean: fedplt/schema.h */

/* Reading. Every failure is a sentence that names the file and the line. `-` is standard input;
 * files packed by gzip are recognised by their first bytes and unpacked.
 *   csv     RFC 4180 (quotes, embedded commas, newlines and quotes; LF or CRLF; a UTF-8 byte order
 *           mark is skipped), header row; blanks around an unquoted field do not count. Dense; only
 *           where one-hot columns would need many times the room of the file, CSR.
 *   libsvm  `label index:value ...`, indices from 1, increasing; # begins a comment. CSR.
 *   npy     versions 1 and 2, two dimensions in either order: floating point of 4 or 8 bytes, integers
 *           of any width, bool; any byte order. Dense.
 *   fplt    what fplt_dataset_write made: everything a data set has. The file is mapped: it opens at
 *           once, and its pages are shared. Recognised by its first bytes. One file only. While the data set
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
    size_t largest; /* bytes of a file at most; 0: 2^40, of a source without a size (a pipe) 2^30 */
    int set_aside; /* CSV: columns `label` and `site` are no features, although there is no label or site */
    /* CSV, names separated by commas, or NULL: the only columns that are features; columns that are
     * not looked at. */
    const char *columns, *ignore;
    const char *row_weight; /* CSV: column of how much a row counts, at least 0; NULL: all alike */
    const char *id;         /* CSV: column of texts that predictions are written with; NULL: none */
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
    /* for a model with effects of sites: intercept, before scaling, of sites that were not in the training, as a
     * number; NULL: such sites are answered by `unknown_level` */
    const char *site_intercept;
    /* CSV: column of the cluster that a row belongs to, for a random intercept; by a schema its column of type person has
     * this name. NULL: none */
    const char *cluster;
    int cluster_if_there; /* a file without that column is legal */
} fplt_read_settings;

/* Everything NULL or 0: CSV with columns `label` and `site`, or LIBSVM, or NPY. */
FPLT_API fplt_read_settings fplt_read_defaults(void);

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

#ifdef __cplusplus
}
#endif
#endif
