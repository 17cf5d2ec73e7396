/* Files that are no data files of this program: what they are, and how to make one of them. */
#include <string.h>

#include "data/source.h"

struct kind {
    const char *bytes;
    size_t length;
    const char *what, *remedy;
};

#define BEGINS(text) text, sizeof text - 1

static const struct kind kinds[] = {
    {BEGINS("PK\3\4"), "an Excel workbook or another ZIP archive",
     "save the sheet as 'CSV UTF-8' in Excel or LibreOffice and give that file"},
    {BEGINS("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "an old Excel workbook (.xls)",
     "save the sheet as 'CSV UTF-8' in Excel or LibreOffice and give that file"},
    {BEGINS("PAR1"), "a Parquet file",
     "convert it in Python: pandas.read_parquet(\"FILE\").to_csv(\"data.csv\", index=False); or in "
     "R: "
     "write.csv(arrow::read_parquet(\"FILE\"), \"data.csv\", row.names = FALSE)"},
    {BEGINS("<stata_dta>"), "a Stata file",
     "in Stata: export delimited using data.csv; or in Python: "
     "pandas.read_stata(\"FILE\").to_csv(\"data.csv\", index=False)"},
    {BEGINS("$FL2"), "an SPSS file", "in SPSS: save as type 'CSV'; or: pspp-convert FILE data.csv"},
    {BEGINS("$FL3"), "an SPSS file", "in SPSS: save as type 'CSV'; or: pspp-convert FILE data.csv"},
    {BEGINS("HEADER RECORD*******"), "a SAS transport file",
     "in SAS: proc export with dbms=csv; or in Python: "
     "pandas.read_sas(\"FILE\").to_csv(\"data.csv\", index=False)"},
    {BEGINS("%PDF"), "a PDF document", "export the table itself as CSV"},
    {BEGINS("SQLite format 3"), "an SQLite database", "say which table: sqlite:FILE?table=NAME"},
    {BEGINS("\x7f"
            "ELF"),
     "a program", "give a CSV file"},
    {BEGINS("RDX3"), "an R data file", "in R: write.csv(DATA, \"data.csv\", row.names = FALSE)"},
    {BEGINS("{\n"), "a JSON document", "give a CSV file"},
    {BEGINS("{\""), "a JSON document", "give a CSV file"},
    {BEGINS("<!DOCTYPE"), "a web page or an XML document", "export the table itself as CSV"},
    {BEGINS("<?xml"), "an XML document", "export the table itself as CSV"},
    {BEGINS("<html"), "a web page", "export the table itself as CSV"},
};

/* Versions 113 to 115 begin with their number and the byte order. */
static int is_old_stata(const char *text, size_t size)
{
    return size > 4 && (unsigned char)text[0] >= 0x71 && (unsigned char)text[0] <= 0x73 &&
           (text[1] == 1 || text[1] == 2) && text[2] == 1 && text[3] == 0;
}

/* 32 bytes of every SAS data set are the same; these are enough to tell. */
static int is_sas(const char *text, size_t size)
{
    static const char magic[] = "\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60";
    return size > 16 && memcmp(text, magic, 16) == 0;
}

fplt_status fplt__refuse_foreign(const fplt__source *source, fplt_error *error)
{
    const struct kind *found = NULL;
    if (source->is_table)
        return FPLT_OK;
    static const struct kind sas = {BEGINS(""), "a SAS data set",
                                    "in SAS: proc export with dbms=csv; or in Python: "
                                    "pandas.read_sas(\"FILE\").to_csv(\"data.csv\", index=False)"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        if (source->size >= kind->length && memcmp(source->text, kind->bytes, kind->length) == 0)
            found = kind;
        if (is_old_stata(source->text, source->size) && strcmp(kind->what, "a Stata file") == 0)
            found = kind;
    }
    if (is_sas(source->text, source->size))
        found = &sas;
    return found ? fplt__bad_data(error, source->name, 0, "this is %s, not a table of text: %s",
                                  found->what, found->remedy)
                 : FPLT_OK;
}

fplt_status fplt__refuse_encoding(const fplt__source *source, size_t line, unsigned char byte,
                                  fplt_error *error)
{
    const unsigned char *text = (const unsigned char *)source->text;
    int wide = source->size >= 2 &&
               ((text[0] == 0xff && text[1] == 0xfe) || (text[0] == 0xfe && text[1] == 0xff));
    if (wide)
        return fplt__bad_data(
            error, source->name, 0,
            "this file is in UTF-16, but UTF-8 is wanted: save it as 'CSV UTF-8', "
            "or convert it: iconv -f UTF-16 -t UTF-8 %.80s > utf8.csv",
            source->name);
    if (byte == 0)
        return fplt__bad_data(error, source->name, line,
                              "a NUL byte: this is not a text file; give a table saved as CSV");
    return fplt__bad_data(
        error, source->name, line,
        "byte 0x%02x is not UTF-8, the file has another encoding: save it as 'CSV "
        "UTF-8', or convert it: iconv -f LATIN1 -t UTF-8 %.80s > utf8.csv",
        byte, source->name);
}
