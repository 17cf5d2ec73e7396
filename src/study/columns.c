/* Columns of the files of a study. */
#include "study/columns.h"

#include <string.h>

#include "base/memory.h"

const fplt__declared *fplt__study_declared(const fplt_schema *schema, const char *name)
{
    for (size_t j = 0; schema && j < schema->columns; j++)
        if (strcmp(schema->column[j].name, name) == 0)
            return &schema->column[j];
    return NULL;
}

uint32_t fplt__study_site_column(const fplt_read_settings *read, const fplt__lookup *names)
{
    const fplt__declared *declared =
        read->schema ? fplt__schema_column(read->schema, FPLT__SITE) : NULL;
    const char *name = read->site ? read->site : declared ? declared->name : "site";
    return strcmp(name, "none") == 0 ? FPLT__NOWHERE
                                     : fplt__lookup_find(names, fplt__span_of(name));
}

const char *fplt__study_word(const fplt__declared *declared, const fplt__field *field,
                             char room[32], fplt__span *word)
{
    double value;
    if (fplt__field_missing(field))
        return NULL;
    fplt__span text = fplt__span_trim(field->span);
    *word = field->span;
    if (declared && declared->levels.names.count) {
        uint32_t level = fplt__levels_find(&declared->levels, text);
        if (level == FPLT__NOWHERE)
            return NULL;
        *word = fplt__lookup_word(&declared->levels.names, level);
    } else if (!field->foreign && fplt__number_parse(text, &value) == FPLT__NUMBER) {
        fplt__number_name(value, room);
        *word = fplt__span_of(room);
    }
    return word->text;
}

fplt_status fplt__study_order(const fplt__lookup *words, uint32_t first,
                              const fplt__declared *declared, uint32_t **out, fplt_error *error)
{
    fplt__lookup sorted = {0};
    uint32_t count = words->count - first,
             none = fplt__lookup_find(words, fplt__span_of(FPLT__ONE_NONE));
    uint32_t *order, *back, used = 0;
    fplt_status status =
        fplt__alloc_into(&order, 2 * (size_t)count + 1, sizeof *order, "levels", error);
    if (status)
        return status;
    back = order + count;
    for (uint32_t i = 0; declared && i < declared->levels.names.count; i++) {
        uint32_t at = fplt__lookup_find(words, fplt__lookup_word(&declared->levels.names, i));
        if (at != FPLT__NOWHERE && at >= first)
            order[used++] = at;
    }
    uint32_t known = used;
    for (uint32_t i = first, added; !status && i < words->count; i++) {
        int is_known = i == none;
        for (uint32_t k = 0; k < known; k++)
            is_known |= order[k] == i;
        if (!is_known)
            status = fplt__lookup_add(&sorted, fplt__lookup_word(words, i), &added, error);
    }
    if (!status && sorted.count)
        fplt__lookup_sort(&sorted, back);
    for (uint32_t i = 0; !status && i < sorted.count; i++)
        order[used++] = fplt__lookup_find(words, fplt__lookup_word(&sorted, back[i]));
    if (none != FPLT__NOWHERE && none >= first)
        order[used++] = none;
    fplt__lookup_clear(&sorted);
    *out = order;
    return status;
}
