/* Lists of names, each in one block of memory. */
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"

fplt_status fplt__names_make(const fplt__span *spans, size_t count, fplt__names *names,
                             fplt_error *error)
{
    *names = (fplt__names){0, NULL};
    if (count == 0)
        return FPLT_OK;
    size_t bytes = count * sizeof *names->item;
    for (size_t i = 0; i < count; i++)
        bytes += spans[i].length + 1;
    fplt_status status = fplt__alloc_into(&names->item, bytes, 1, "names", error);
    if (status)
        return status;
    char *place = (char *)(names->item + count);
    for (size_t i = 0; i < count; i++) {
        if (spans[i].length)
            memcpy(place, spans[i].text, spans[i].length);
        names->item[i] = place;
        place += spans[i].length + 1;
    }
    names->count = count;
    return FPLT_OK;
}

fplt_status fplt__names_copy(const fplt__names *from, fplt__names *names, fplt_error *error)
{
    *names = (fplt__names){0, NULL};
    if (from->count == 0)
        return FPLT_OK;
    fplt__span *spans;
    fplt_status status = fplt__alloc_into(&spans, from->count, sizeof *spans, "names", error);
    if (status)
        return status;
    for (size_t i = 0; i < from->count; i++)
        spans[i] = (fplt__span){from->item[i], strlen(from->item[i])};
    status = fplt__names_make(spans, from->count, names, error);
    fplt__free(spans);
    return status;
}

void fplt__names_clear(fplt__names *names)
{
    fplt__free(names->item);
    *names = (fplt__names){0, NULL};
}
