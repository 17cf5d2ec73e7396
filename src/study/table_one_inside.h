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

/* What a site lets out: settled by fplt__one_release(), or as the site sent it. */
typedef struct fplt__one_site {
    size_t minimum;    /* of a count; 0 or 1: nothing is withheld */
    int is_small;      /* fewer rows than the minimum: all of it is withheld */
    int is_stratified; /* its strata are shown: each has no rows, or enough */
} fplt__one_site;

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
    fplt__one_site *site;    /* owned: sites.count, number 0 unused */
    unsigned char *has_sums; /* owned: fplt__one_sums_at(), whether sums of the numbers are shown */
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

/* An empty table with the number 0 of sites and strata; texts of the settings are borrowed. */
fplt_status fplt__one_begin(const fplt_describe_settings *settings, fplt_description **table,
                            fplt_error *error);
/* The number of a column by its name, added where it is new. */
fplt_status fplt__one_add_column(fplt_description *table, fplt__span name, uint32_t *number,
                                 fplt_error *error);
/* The levels that are declared of the column `by` are strata, whether rows have them or not. */
fplt_status fplt__one_declare_strata(fplt_description *table, const fplt__declared *by,
                                     fplt_error *error);
/* How a schema has the values of a column taken. */
fplt__one_kind fplt__one_declared_kind(const fplt__declared *declared);

/* Settles kinds and levels, after all rows; then which counts are released. */
fplt_status fplt__one_settle(fplt_description *table, fplt_error *error);
fplt_status fplt__one_release(fplt_description *table, fplt_error *error);
/* Room for what the sites release, all of it withheld. */
fplt_status fplt__one_make_released(fplt_description *table, fplt_error *error);
/* Sentences about what is withheld; nothing where no site has a minimum above 1. */
fplt_status fplt__one_note_withheld(fplt_description *table, fplt_error *error);
/* Rows and columns of the table of counts of a column (number j) at a site. */
void fplt__one_cross_size(const fplt_description *table, uint32_t j, uint32_t site, size_t *rows,
                          size_t *columns);

/* Where has_sums has a column, site and stratum. */
static inline size_t fplt__one_sums_at(const fplt_description *table, uint32_t j, uint32_t site,
                                       uint32_t stratum)
{
    return ((size_t)j * table->sites.count + site) * table->strata.count + stratum;
}

#endif
