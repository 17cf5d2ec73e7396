/* The CSV reader: its state, and the steps from text to rows of a builder. */
#ifndef FPLT_DATA_CSV_READER_H
#define FPLT_DATA_CSV_READER_H

#include "data/builder.h"
#include "data/scan.h"

/* What a column of the file is; 0 and above: feature column of the builder. */
enum {
    FPLT__CSV_LABEL = -1,
    FPLT__CSV_SITE = -2,
    FPLT__CSV_LEFT_OUT = -3,
    FPLT__CSV_WEIGHT = -4,
    FPLT__CSV_ID = -5,
    FPLT__CSV_WANTED = -6,
    FPLT__CSV_CLUSTER = -7
};

/* Columns side by side that are alike: features that are also side by side in the builder, or one column of any
 * other kind. */
typedef struct fplt__csv_run {
    int role; /* of the first */
    uint32_t count;
} fplt__csv_run;

/* The place in the text, and the row that was read last. */
typedef struct fplt__csv_reader {
    const fplt__source *source;
    const char *at, *end;
    size_t line, row_line; /* of `at`; where the row began */
    char separator;
    fplt__field *field;
    size_t fields, field_capacity;
    char *unquoted; /* fields with doubled quotes; as large as the text, made when first needed */
    size_t unquoted_used;
    fplt__lookup names; /* of all columns of the file */
    int *role;
    int reserved; /* room was made for all rows */
    /* where there are no categories, rows of numbers can be read in one pass: all columns */
    fplt__csv_run *run;
    uint32_t runs;
    fplt__marks *marks;           /* borrowed: separators, line ends and quotes of the text */
    const fplt__dialect *dialect; /* borrowed; NULL: values are written as the readers take them */
    char *rewritten;              /* owned: fields of the row at hand that are */
    size_t rewritten_capacity;
    int lenient; /* every line is a row, whatever stands in it */
    int odd; /* the row at hand is not one of a table; its fields are what stands between separators */
} fplt__csv_reader;

/* Starts a reader at the names of the columns, which are numbers if `no_header`. `lenient`: takes any bytes, and as a row
 * every line; NULL: not so. fplt__csv_clear releases the reader,
 * after a failure too. */
fplt_status fplt__csv_begin(fplt__csv_reader *reader, const fplt__source *source, int no_header,
                            const char *separator, const fplt__csv_visitor *lenient,
                            fplt_error *error);
/* The same by the settings of a builder, and gives every column its role; features have role 0. */
fplt_status fplt__csv_begin_columns(fplt__csv_reader *reader, const fplt__source *source,
                                    fplt__builder *builder, fplt_error *error);
/* Gives every feature its number in the builder. The first file sets the features; later files must have the same. */
fplt_status fplt__csv_settle_columns(fplt__csv_reader *reader, fplt__builder *builder,
                                     fplt_error *error);
/* Reads the fields of the next row, as many as there are columns; none at the end of the text. */
fplt_status fplt__csv_next_row(fplt__csv_reader *reader, fplt_error *error);
void fplt__csv_clear(fplt__csv_reader *reader);

#endif
