/* The inside of a Table 1: for the files that read, count and write it. */
#ifndef FPLT_STUDY_TABLE_ONE_INSIDE_H
#define FPLT_STUDY_TABLE_ONE_INSIDE_H

#include "data/schema.h"
#include "data/summary.h"
#include "study/columns.h"
#include "study/notes.h"
#include "study/table_one.h"

/* How the values of a column are taken. */
typedef enum fplt__one_kind {
    FPLT__ONE_OPEN,    /* numbers while there is no word */
    FPLT__ONE_NUMBERS, /* declared: a word is a missing value with a schema, refused otherwise */
    FPLT__ONE_LEVELS,  /* every value is a level */
    FPLT__ONE_ASIDE    /* not looked at */
} fplt__one_kind;

typedef struct fplt__one_column {
    fplt__one_kind kind;
    fplt__bins grid;
    const fplt__declared *declared; /* NULL: no schema */
    fplt__lookup levels;            /* of a category */
    uint32_t *order;                /* owned: the levels as they are shown */
    /* of a table of two columns: their numbers, and the levels of the second (those of the first are `levels`) */
    uint32_t crossed[2];
    fplt__lookup others;
    uint32_t *other_order; /* owned */
} fplt__one_column;

/* Rows of one site and stratum. */
typedef struct fplt__one_group {
    uint32_t site, stratum; /* stratum 0: all rows of the site */
    size_t rows;
    fplt__summary *column; /* owned: one for each column */
    size_t capacity;
} fplt__one_group;

/* Columns come first, then the tables of two columns, whose values are pairs of words. */
struct fplt_description {
    fplt_describe_settings settings;
    fplt__lookup names, sites, strata; /* number 0 of the last two is everything, and has no name */
    fplt__one_column *column;          /* owned */
    size_t column_capacity;
    uint32_t crosses;       /* the first columns are tables of two columns */
    fplt__one_group *group; /* owned */
    size_t groups, group_capacity;
    uint32_t *order; /* owned: the strata as they are shown, from 1 */
    uint32_t *shown; /* owned: columns that are shown, in order */
    size_t shown_count;
    fplt__crosstab *
        *released; /* owned: for every column and site, sites.count each; NULL: nothing of it */
    fplt__notes notes;
    /* of the file at hand */
    const fplt__source *source;
    const char *path;
    size_t files;
    uint32_t *at; /* owned: number of each of its columns */
    uint32_t columns, site_column, by_column, file_site;
};

/* The group of a site and stratum; NULL: it has no rows. */
const fplt__one_group *fplt__one_group_of(const fplt_description *table, uint32_t site,
                                          uint32_t stratum);
/* A column of a group; NULL: no rows. */
const fplt__summary *fplt__one_summary(const fplt_description *table, uint32_t column,
                                       uint32_t site, uint32_t stratum);
/* The same, made where it is not there; moves the array of groups. */
fplt_status fplt__one_find_group(fplt_description *table, uint32_t site, uint32_t stratum,
                                 fplt__one_group **group, fplt_error *error);
/* Rows of a pair: the two words with this sign between them; a missing value is FPLT__ONE_NONE. */
#define FPLT__ONE_BETWEEN '\x1f'

/* Settles kinds and levels, after all rows; then which counts are released. */
fplt_status fplt__one_settle(fplt_description *table, fplt_error *error);
fplt_status fplt__one_release(fplt_description *table, fplt_error *error);
/* Whether the rows of a site's strata are all enough to be shown. */
int fplt__one_is_stratified(const fplt_description *table, uint32_t site);

#endif
