/* Documents of a study: text, CSV, JSON, HTML, LaTeX. */
#include "study/document.h"

#include "fedplt/memory.h"
#include "report/html.h"
#include "report/report.h"
#include "report/table.h"

void fplt__document_begin(fplt__document *to, const char *title)
{
    if (to->form != FPLT__FORM_HTML)
        return;
    fplt__buffer_add(&to->text, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>");
    fplt__html_text(&to->text, title);
    fplt__buffer_add(&to->text,
                     "</title>\n"
                     "<style>body{font-family:sans-serif}table{border-collapse:collapse}"
                     "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}"
                     ".n{text-align:right}</style>\n<h1>");
    fplt__html_text(&to->text, title);
    fplt__buffer_add(&to->text, "</h1>\n");
}

void fplt__document_heading(fplt__document *to, const char *heading)
{
    if (to->form == FPLT__FORM_HTML) {
        fplt__buffer_add(&to->text, "<h2>");
        fplt__html_text(&to->text, heading);
        fplt__buffer_add(&to->text, "</h2>\n");
    } else {
        fplt__buffer_format(&to->text, to->form == FPLT__FORM_LATEX ? "\n%% %s\n" : "\n%s\n",
                            heading);
    }
}

fplt_status fplt__document_show(fplt__document *to, const fplt_table *made, const char *heading,
                                fplt_error *error)
{
    char *text = NULL;
    fplt_table_form form = to->form == FPLT__FORM_HTML  ? FPLT_TABLE_HTML
                           : to->form == FPLT__FORM_CSV ? FPLT_TABLE_CSV
                                                        : FPLT_TABLE_ALIGNED;
    fplt_status status = to->form == FPLT__FORM_LATEX ? fplt__table_latex(made, &text, error)
                                                      : fplt_table_render(made, form, &text, error);
    if (!status && heading)
        fplt__document_heading(to, heading);
    if (!status)
        fplt__buffer_add(&to->text, text);
    fplt_free(text);
    return status;
}

fplt_status fplt__document_table(fplt__document *to, fplt_table *table, const char *heading,
                                 fplt_error *error)
{
    fplt_status status = fplt__document_show(to, table, heading, error);
    fplt_table_destroy(table);
    return status;
}

void fplt__document_note(fplt__document *to, const char *note, int first)
{
    if (to->form == FPLT__FORM_HTML) {
        fplt__buffer_add(&to->text, "<p>");
        fplt__html_text(&to->text, note);
        fplt__buffer_add(&to->text, "</p>\n");
    } else if (to->form == FPLT__FORM_LATEX) {
        fplt__buffer_format(&to->text, "%% %s\n", note);
    } else {
        fplt__buffer_format(&to->text, "%s%s.\n", first ? "\n" : "", note);
    }
}

fplt_status fplt__document_json(fplt__document *to, json_t *made, fplt_error *error)
{
    char *text;
    fplt_status status = fplt__json_write(made, &text, error);
    if (!status)
        fplt__buffer_format(&to->text, "%s\n", text);
    fplt_free(text);
    return status;
}

fplt_status fplt__document_take(fplt__document *from, fplt_status status, char **text,
                                fplt_error *error)
{
    *text = NULL;
    if (!status)
        return fplt__buffer_take(&from->text, text, error);
    fplt__buffer_clear(&from->text);
    return status;
}
