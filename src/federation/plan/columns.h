/* Names over the network. Sites add up sums column by column, so all must mean the same by column j and class k.
 * The proposal declares names or the first facts settle them; the plan states the common dictionary (wire/dictionary.h);
 * each site compares its file with it, puts its columns into the common order by name, and refuses differences. */
#ifndef FPLT_FEDERATION_COLUMNS_H
#define FPLT_FEDERATION_COLUMNS_H

#include "base/buffer.h"
#include "data/text.h"
#include "fedplt/settings.h"
#include "job/outline.h"
#include "wire/dictionary.h"
#include "wire/message.h"

/* ---- both sides (columns.c) ---- */

/* The keys columns, label, classes, levels and features of federation.yaml as the text of a dictionary, to be released
 * with fplt__free; NULL: nothing is declared. */
fplt_status fplt__columns_declare(const fplt_settings *leader, char **text, fplt_error *error);
/* What a proposal or plan says; `text` NULL: a dictionary of zeros. To be cleared. */
fplt_status fplt__columns_read(const char *text, fplt__dictionary *dictionary, fplt_error *error);
/* What a dictionary declares, as lines for a person. */
void fplt__columns_show(const char *text, fplt__buffer *lines);
/* Features (a number, or a level `name=level`) and classes by name, in the common order; none where they have no
 * names. To be cleared. */
fplt_status fplt__columns_features(const fplt__dictionary *dictionary, fplt__names *features,
                                   fplt_error *error);
fplt_status fplt__columns_classes(const fplt__dictionary *dictionary, fplt__names *classes,
                                  fplt_error *error);
size_t fplt__columns_count(const fplt__dictionary *dictionary); /* of the features */
/* Of each feature, in the same order: 0 a number, otherwise the number of its category from 1. */
void fplt__columns_groups(const fplt__dictionary *dictionary, uint32_t *group);
/* Sorts the levels of a column as the readers do: by value where all are numbers, otherwise by bytes. */
fplt_status fplt__columns_sort(fplt__dictionary_column *column, fplt_error *error);

/* ---- the coordinator (settling.c) ---- */

/* The dictionary of a run from what the members' files have. Declared words decide; otherwise columns are those that
 * most members have (the first on the roster where as many have others), in the order of the first such member;
 * levels are the union over all members whose levels overlap; classes are the set that has the words of most
 * members. Members that differ then refuse it. FPLT_BAD_DATA: there is none. */
fplt_status fplt__columns_settle(const fplt__dictionary *declared, const fplt__dictionary *own,
                                 uint32_t members, fplt__dictionary *common, fplt_error *error);

/* ---- an agent (reading.c, matching.c) ---- */

/* Reads a site's file as its settings say and as far as `declared` says what its columns are, all levels of
 * categories as features, and holds it against `declared`. `own`: what the file has, to be cleared. `abroad` as
 * below, empty where the coordinator may hear no more than that there is a fault. */
fplt_status fplt__columns_read_rows(fplt_settings *settings, const fplt__dictionary *declared,
                                    fplt_dataset **rows, fplt__dictionary *own,
                                    char abroad[FPLT__SENTENCE], fplt_error *error);

/* What the rows that were read by `settings` have, with the number of rows of each level; `header`: the columns of
 * their file, none where it is no CSV file. To be cleared. */
fplt_status fplt__columns_describe(const fplt_dataset *rows, const fplt_settings *settings,
                                   const fplt__lookup *header, fplt__dictionary *own,
                                   fplt_error *error);

/* What a file is held against. */
typedef struct fplt__columns_match {
    const fplt__dictionary *wanted; /* of the proposal, or common */
    const char *path;               /* of the file, for the sentences here */
    const char *whose;              /* "the proposal" or "the other sites" */
    int told;                       /* the names of the own columns have left the site */
    char *abroad; /* out: what the coordinator may hear of a refusal, FPLT__SENTENCE bytes */
} fplt__columns_match;

/* FPLT_BAD_DATA with the whole sentence where they differ. A word of the file is in `abroad` only if
 * FPLT__DICTIONARY_MIN_ROWS rows have it. */
fplt_status fplt__columns_check(const fplt__columns_match *match, const fplt__dictionary *own,
                                fplt_error *error);

#endif
