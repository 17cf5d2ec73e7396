/* Rows as the readers find them, and the data set that comes of them. */
#ifndef FPLT_DATA_BUILDER_H
#define FPLT_DATA_BUILDER_H

#include "base/buffer.h"
#include "base/file.h"
#include "data/declaration.h"
#include "data/dialect.h"
#include "data/left_out.h"
#include "data/levels.h"
#include "data/profile.h"
#include "data/source.h"
#include "fedplt/read.h"

/* How labels are taken while reading. */
typedef enum fplt__label_mode {
    FPLT__LABEL_NONE,   /* all 0 */
    FPLT__LABEL_NUMBER, /* regression */
    FPLT__LABEL_WORD    /* number of a distinct word; its meaning is settled at the end */
} fplt__label_mode;

typedef struct fplt__row {
    double label;
    uint32_t agent;
    uint32_t number; /* in its file, from 1 */
} fplt__row;

/* What a row may have besides features and label, in the order of the types of a schema. */
typedef enum fplt__extra {
    FPLT__EXTRA_WEIGHT,
    FPLT__EXTRA_OFFSET,
    FPLT__EXTRA_TIME,
    FPLT__EXTRA_EVENT,
    FPLT__EXTRA_PERSON,
    FPLT__EXTRA_ID,
    FPLT__EXTRAS
} fplt__extra;

/* Division of a long text into pieces that threads read. */
typedef struct fplt__piecewise {
    size_t size;      /* bytes of text that are read at once; 0: the whole file */
    unsigned threads; /* that read pieces */
    int used;         /* a file was not read whole */
    int is_part;      /* this builder has one piece, to be joined with those before it */
    int is_lent;      /* cells and entries are the memory of the whole, which does not grow */
} fplt__piecewise;

/* Labels as they are written. Invariant: origin has an element for each word. */
typedef struct fplt__labels {
    fplt__label_mode mode;
    int automatic; /* the task is not given */
    fplt__lookup words;
    fplt__origin *origin; /* owned: where each word appeared first */
    size_t origin_capacity;
} fplt__labels;

/* Numbers of dense rows, `width` for each. Invariant: count is a multiple of width between rows. */
typedef struct fplt__cells {
    double *value; /* owned, unless lent */
    size_t width, count, capacity;
} fplt__cells;

/* Numbers of sparse rows (CSR). Invariant: end[r] is the number of entries up to and including row r. */
typedef struct fplt__entries {
    size_t *end;      /* owned */
    uint32_t *column; /* owned, unless lent, as is value */
    double *value;
    size_t count, end_capacity, column_capacity, value_capacity;
} fplt__entries;

/* The columns of CSV files. */
typedef struct fplt__columns {
    fplt__lookup names;   /* of the features, in the order of the first file */
    fplt__column *column; /* owned: one for each name */
    size_t capacity;
    fplt__lookup categories;    /* columns that are categories */
    fplt__lookup ignored, only; /* columns that are left out; if there are any, the only features */
    size_t lost_levels;         /* categories whose level is missing, in all rows */
} fplt__columns;

/* Numbers of rows besides features and label. */
typedef struct fplt__extras {
    double *value[FPLT__EXTRAS]; /* owned: one for each row, or NULL */
    size_t capacity[FPLT__EXTRAS];
    fplt__lookup ids; /* texts of FPLT__EXTRA_ID */
} fplt__extras;

/* Persons of a schema and the number of rows that each has so far. */
typedef struct fplt__persons {
    fplt__lookup names;
    uint64_t *rows; /* owned */
    size_t capacity;
} fplt__persons;

/* Rows of all files, and what is known of the files. Rows are dense (cells) or, if `sparse`, entries. */
typedef struct fplt__builder {
    const fplt_read_settings *settings;
    size_t sources;           /* number of files */
    const char *first_source; /* set when the first file has fixed the features */
    size_t bytes;             /* of the file at hand */
    uint32_t number;          /* of the row that was read last, in its file */
    int sparse;
    size_t features; /* LIBSVM, NPY */

    fplt__row *row; /* owned */
    size_t rows, row_capacity;
    fplt__cells cells;
    fplt__entries entries;
    fplt__extras extras;
    fplt__left_out left_out; /* rows with missing values */

    fplt__lookup agents;
    fplt__persons persons;
    fplt__labels labels;
    fplt__columns columns;
    fplt__expected expected;
    fplt__declaration declared;
    fplt__dialect dialect; /* CSV: how values are written */
    fplt__profile profile; /* CSV: what was seen of the columns, for categories auto */
    fplt__piecewise pieces;
} fplt__builder;

fplt_status fplt__builder_init(fplt__builder *builder, const fplt_read_settings *settings,
                               size_t sources, fplt_error *error);
void fplt__builder_clear(fplt__builder *builder);

/* Checks the label of a row and turns it into the number that fplt__builder_row takes. */
fplt_status fplt__builder_label(fplt__builder *builder, const fplt__source *source, size_t line,
                                fplt__span text, double *label, fplt_error *error);
/* Makes room at once for what the rest of a text will bring, when one row of it took `row` bytes. */
fplt_status fplt__builder_reserve(fplt__builder *builder, size_t row, size_t rest,
                                  fplt_error *error);
fplt_status fplt__builder_row(fplt__builder *builder, double label, uint32_t agent,
                              fplt_error *error);
fplt_status fplt__builder_cells(fplt__builder *builder, double **cells, fplt_error *error);
fplt_status fplt__builder_entry(fplt__builder *builder, uint32_t column, double value,
                                fplt_error *error);

/* One more number of the row that comes next. */
fplt_status fplt__builder_extra(fplt__builder *builder, fplt__extra kind, double value,
                                fplt_error *error);

/* The row that comes next in the file is not taken; `site` may be empty where it is not known. */
fplt_status fplt__builder_leave_out(fplt__builder *builder, fplt__span site, fplt_error *error);
/* Behind the last line end of the text that is outside quotes; 0 where there is none. `quotes`: rows may have line ends between
 * quotes; `inside`: the text begins within quotes. */
size_t fplt__last_row_end(const char *text, size_t size, int quotes, int inside);
/* Texts in pieces (parts.c): rows up to the end of the first piece are read as they are, and those of the
 * other pieces at once, by `read` into builders of their own that are then joined in order. Whatever
 * goes wrong on this way says nothing: the file is then read again whole, where lines are counted. */
typedef fplt_status (*fplt__part_reader)(const void *context, const fplt__source *piece,
                                         fplt__builder *part, fplt_error *error);
/* The first piece, or all of a short text. `quotes`: rows may have line ends between quotes. */
fplt_status fplt__parts_head(const fplt__source *source, fplt__builder *builder, int quotes,
                             fplt__source *head, fplt_error *error);
/* What follows the head, whose rows are in the builder. */
fplt_status fplt__parts_read(const fplt__source *source, const fplt__source *head,
                             fplt__builder *builder, int quotes, fplt__part_reader read,
                             const void *context, fplt_error *error);
/* Whether rows with features that are levels of categories are kept dense, if the file has `cells` cells. */
int fplt__levels_are_dense(size_t rows, size_t features, size_t cells);

fplt_status fplt__builder_finish(fplt__builder *builder, fplt_dataset **dataset, fplt_error *error);

/* Settles the meaning of the words: one label value a word (in `value`, room for all), the task,
 * the outputs and class names of `dataset`. */
fplt_status fplt__labels_settle(const fplt__builder *builder, double *value, fplt_dataset *dataset,
                                fplt_error *error);

/* Where `word` appeared first is known from here on; label is its number, or its value once labels are
 * numbers. */
fplt_status fplt__builder_word(fplt__builder *builder, const char *source, size_t line,
                               fplt__span text, double *label, fplt_error *error);

/* More words than classes would have: where they are decimal numbers, labels are numbers from here on. */
fplt_status fplt__labels_turn(fplt__builder *builder, int *turned, fplt_error *error);

/* Whether every line is a row, whatever stands in it. */
int fplt__builder_is_lenient(const fplt__builder *builder);

/* The rows of an array of NumPy one by one, numbered from 1, as doubles: they need not be finite. */
typedef fplt_status fplt__npy_row(void *context, const double *row, size_t columns, size_t number,
                                  fplt_error *error);
fplt_status fplt__npy_visit(const fplt__source *source, fplt__npy_row *take, void *context,
                            fplt_error *error);
/* Of an array row after row: where its first row begins and the bytes of a row. FPLT_UNSUPPORTED for column after column. */
fplt_status fplt__npy_rows(const fplt__source *source, size_t *start, size_t *row,
                           fplt_error *error);
/* The header that the array would have with another number of rows, and its length. */
enum { FPLT__NPY_HEADER = 256 };
fplt_status fplt__npy_header(const fplt__source *source, size_t rows, char text[FPLT__NPY_HEADER],
                             size_t *length, fplt_error *error);
fplt_status fplt__npy_columns(const fplt__source *source, size_t *columns, fplt_error *error);

/* The rows of a CSV file one by one: first the names of the columns (numbers where there is no
 * header), then the fields of each row, as many as there are names. */
typedef struct fplt__csv_visitor {
    fplt_status (*columns)(void *context, const fplt__lookup *names, size_t line,
                           fplt_error *error);
    fplt_status (*row)(void *context, const fplt__field *fields, size_t line, fplt_error *error);
    void *context;
    const char *separator;        /* as in fplt_read_settings */
    const fplt__dialect *dialect; /* NULL: values are written as the readers take them */
    /* a row that is not one of the table: its line split at the separators; NULL: such rows are refused. Not NULL: every line
     * behind the header is a row, and the text may have any bytes. */
    fplt_status (*odd_row)(void *context, const fplt__field *fields, size_t count, size_t line,
                           fplt_error *error);
    size_t
        width; /* with odd_row and without a header: so many columns, whatever the first line has */
} fplt__csv_visitor;
fplt_status fplt__csv_visit(const fplt__source *source, int no_header,
                            const fplt__csv_visitor *visitor, fplt_error *error);

/* The rows of several CSV files: `file` comes before the columns of each. */
typedef struct fplt__csv_files {
    fplt_status (*file)(void *context, const char *path, const fplt__source *source,
                        fplt_error *error);
    fplt_status (*columns)(void *context, const fplt__lookup *names, size_t line,
                           fplt_error *error);
    fplt_status (*row)(void *context, const fplt__field *fields, size_t line, fplt_error *error);
    void *context;
} fplt__csv_files;
/* Reads by decimal, dates, missing_codes, separator and no_header of the settings; refuses other files than CSV. */
fplt_status fplt__csv_visit_files(const char *const *paths, size_t count,
                                  const fplt_read_settings *settings, const fplt__csv_files *files,
                                  fplt_error *error);
/* The same of `size` bytes of UTF-8 in memory, which messages call `name`. */
fplt_status fplt__csv_visit_text(const char *name, const char *text, size_t size,
                                 const fplt_read_settings *settings, const fplt__csv_files *files,
                                 fplt_error *error);

/* Refuses columns of numbers that look like codes for missing values, or like the numbers of the rows. */
int fplt__find_code(const double *value, size_t values, double *code, size_t *count);
fplt_status fplt__check_numbers(const fplt__builder *builder, fplt_error *error);

fplt_status fplt__csv_write(const fplt_dataset *dataset, fplt__file *file, fplt_error *error);
/* The names of the columns of a CSV file, in its order; numbers where it has no header. */
fplt_status fplt__csv_header(const char *path, const fplt_read_settings *settings,
                             fplt__lookup *names, fplt_error *error);

/* Whether columns of words become categories by themselves (`auto`, alone or before names); the names that are given,
 * or NULL. */
int fplt__finds_categories(const fplt_read_settings *settings);
const char *fplt__named_categories(const fplt_read_settings *settings);

/* A file format. */
typedef struct fplt__format {
    const char *name, *help, *extension;
    int columns; /* has named columns: site, categories and missing values mean something */
    /* optional: finds what needs to be known of all files before the first is read */
    fplt_status (*scan)(const fplt__source *source, fplt__builder *builder, fplt_error *error);
    fplt_status (*read)(const fplt__source *source, fplt__builder *builder, fplt_error *error);
    fplt_status (*write)(const fplt_dataset *dataset, fplt__file *file, fplt_error *error);
    /* instead of scan and read: the file is a data set; it keeps the source, and then leaves none */
    fplt_status (*open)(fplt__source *source, const fplt_read_settings *settings,
                        fplt_dataset **dataset, fplt_error *error);
} fplt__format;

extern const fplt__format fplt__format_csv, fplt__format_libsvm, fplt__format_npy,
    fplt__format_fplt;

/* The name of the format in which a file would be read. */
fplt_status fplt__format_of(const char *path, const fplt_read_settings *settings,
                            const char **format, fplt_error *error);

/* Reads one file from memory: `name` stands for the path. In pieces of about `piece` bytes; 0: whole. */
fplt_status fplt__dataset_read_pieces(const char *name, const void *bytes, size_t size,
                                      size_t piece, const fplt_read_settings *settings,
                                      fplt_dataset **dataset, fplt_error *error);
/* The same from a file by its name, of which no more than some pieces are in memory at once. */
fplt_status fplt__dataset_read_file(const char *path, size_t piece,
                                    const fplt_read_settings *settings, fplt_dataset **dataset,
                                    fplt_error *error);
/* From memory, in pieces of the usual size. */
fplt_status fplt__dataset_read_memory(const char *name, const void *bytes, size_t size,
                                      const fplt_read_settings *settings, fplt_dataset **dataset,
                                      fplt_error *error);

/* Tells who watches how many bytes of a source have been read: every some thousand rows, or every piece; never
 * two at once, and nothing by who has a piece only. */
enum { FPLT__ROWS_TOLD = 4096 };
void fplt__read_progress(const fplt__builder *builder, const fplt__source *source, size_t done);

#endif
