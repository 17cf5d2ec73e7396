/* Workbooks of Excel by libzip and expat: the module `xlsx`, see data/door.h. */
#include <stdlib.h>

#include "xlsx/xlsx.h"

static const char *version(void)
{
    static char text[64];
    if (!*text)
        snprintf(text, sizeof text, "libzip %s, %s", zip_libzip_version(), XML_ExpatVersion());
    return text;
}

static fplt_status open_book(xlsx_book *book, fplt_error *error)
{
    int code = 0;
    zip_error_t why;
    book->archive = zip_open(book->request->place, ZIP_RDONLY, &code);
    if (book->archive)
        return FPLT_OK;
    zip_error_init_with_code(&why, code);
    fplt__door_fail(error, FPLT_BAD_DATA, book->request->name, 0,
                    "the workbook cannot be opened (%s): if it is damaged, open it in Excel or "
                    "LibreOffice and save it again",
                    zip_error_strerror(&why));
    zip_error_fini(&why);
    return FPLT_BAD_DATA;
}

static fplt_status read_door(const fplt__door_request *request, const fplt__door_host *host,
                             fplt_error *error)
{
    xlsx_book book = {.request = request};
    char part[600];
    fplt_status status;
    if (!(status = open_book(&book, error)) &&
        !(status = xlsx_find_sheet(&book, part, sizeof part, error)) &&
        !(status = xlsx_read_strings(&book, error)) && !(status = xlsx_read_styles(&book, error)))
        status = xlsx_read_sheet(&book, part, host, error);
    if (book.archive)
        zip_discard(book.archive);
    free(book.strings.at);
    free(book.string_end);
    free(book.is_date);
    return status;
}

extern const fplt__door fplt__door_table;
const fplt__door fplt__door_table = {sizeof(fplt__door), version, read_door};
