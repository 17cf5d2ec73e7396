/* Sentences for the reader of a table. */
#include "study/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

fplt_status fplt__notes_add(fplt__notes *notes, fplt_error *error, const char *format, ...)
{
    char text[1600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fplt_status status = fplt__grow(&notes->text, &notes->capacity, notes->count + 1,
                                    sizeof *notes->text, "text", error);
    if (status || !(notes->text[notes->count] = fplt__strdup(text)))
        return status ? status : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a sentence");
    notes->count++;
    return FPLT_OK;
}

const char *fplt__notes_get(const fplt__notes *notes, size_t index)
{
    return index < notes->count ? notes->text[index] : NULL;
}

void fplt__notes_clear(fplt__notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        fplt__free(notes->text[i]);
    fplt__free(notes->text);
    *notes = (fplt__notes){NULL, 0, 0};
}
