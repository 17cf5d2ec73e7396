/* From what each member's file has to the columns, levels and classes of the run. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "data/text.h"
#include "federation/plan/columns.h"

/* What all steps look at. */
struct settling {
    const fplt__dictionary *declared, *own;
    uint32_t members;
    fplt__lookup *names; /* of each member's columns */
    uint32_t first;      /* member whose columns are the common ones */
    fplt__dictionary *common;
};

/* Columns */

static fplt_status number_columns(struct settling *s, fplt_error *error)
{
    uint32_t number;
    fplt_status status = FPLT_OK;
    for (uint32_t i = 0; i < s->members; i++)
        for (size_t j = 0; j < s->own[i].columns && !status; j++) {
            status = fplt__lookup_add(&s->names[i], fplt__span_of(s->own[i].column[j].name),
                                      &number, error);
            if (!status && number != j)
                status = fplt_error_set(error, FPLT_BAD_DATA, "a member has two columns '%.80s'",
                                        s->own[i].column[j].name);
        }
    return status;
}

static const fplt__dictionary_column *column_of(const struct settling *s, uint32_t member,
                                                const char *name)
{
    FPLT__ASSERT(member < s->members);
    uint32_t at = fplt__lookup_find(&s->names[member], fplt__span_of(name));
    return at == FPLT__NOWHERE ? NULL : &s->own[member].column[at];
}

/* Whether two members have the same columns, in whatever order. */
static int same_columns(const struct settling *s, uint32_t a, uint32_t b)
{
    if (s->own[a].columns != s->own[b].columns || s->own[a].positions != s->own[b].positions)
        return 0;
    for (size_t j = 0; j < s->own[a].columns; j++)
        if (!column_of(s, b, s->own[a].column[j].name))
            return 0;
    return 1;
}

/* The first of the members whose columns most have. Each is compared with the first of every kind. */
static fplt_status find_first(struct settling *s, fplt_error *error)
{
    uint32_t *votes, *kind, kinds = 0;
    fplt_status status =
        fplt__alloc_into(&votes, 2 * (size_t)s->members, sizeof *votes, "columns", error);
    if (status)
        return status;
    kind = votes + s->members; /* the first member of each */
    for (uint32_t i = 0; i < s->members; i++) {
        uint32_t k = 0;
        while (k < kinds && !same_columns(s, kind[k], i))
            k++;
        if (k == kinds)
            kind[kinds++] = i;
        votes[k]++;
    }
    uint32_t best = 0;
    for (uint32_t k = 1; k < kinds; k++)
        if (votes[k] > votes[best])
            best = k;
    FPLT__ASSERT(kinds > 0 && kinds <= s->members && votes[best] > 0);
    s->first = kind[best];
    fplt__free(votes);
    return FPLT_OK;
}

static fplt_status take_columns(struct settling *s, fplt_error *error)
{
    const fplt__dictionary *from = s->declared->is_whole ? s->declared : &s->own[s->first];
    fplt_status status = FPLT_OK;
    FPLT__ASSERT(s->first < s->members && !s->common->columns);
    s->common->is_whole = 1;
    s->common->positions = s->declared->positions ? s->declared->positions : from->positions;
    for (size_t j = 0; j < from->columns && !status && !s->common->positions; j++)
        status = fplt__dictionary_add_column(s->common, from->column[j].name,
                                             strlen(from->column[j].name), FPLT__DICTIONARY_NUMBER,
                                             error);
    return status;
}

/* Levels */

static fplt_status copy_levels(const fplt__dictionary_column *from, fplt__dictionary_column *to,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    to->kind = FPLT__DICTIONARY_CATEGORY;
    for (size_t i = 0; i < from->levels && !status; i++)
        status = fplt__dictionary_add_level(to, from->level[i], strlen(from->level[i]), error);
    return status ? status : fplt__columns_sort(to, error);
}

static int overlaps(const fplt__lookup *words, const fplt__dictionary_column *column)
{
    for (size_t i = 0; i < column->levels; i++)
        if (fplt__lookup_find(words, fplt__span_of(column->level[i])) != FPLT__NOWHERE)
            return 1;
    return 0;
}

/* The levels of `seed` and of all members whose levels overlap with them, directly or through others; how many
 * members those are. */
static fplt_status join_levels(const struct settling *s, const char *name, uint32_t seed,
                               uint8_t *joined, fplt__lookup *words, uint32_t *count,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    int changed = 1;
    *count = 0;
    while (changed && !status) {
        changed = 0;
        for (uint32_t i = 0; i < s->members && !status; i++) {
            const fplt__dictionary_column *column = column_of(s, i, name);
            if (joined[i] || !column || !column->levels || !(i == seed || overlaps(words, column)))
                continue;
            joined[i] = 1;
            changed = 1;
            ++*count;
            uint32_t number;
            for (size_t k = 0; k < column->levels && !status; k++)
                status = fplt__lookup_add(words, fplt__span_of(column->level[k]), &number, error);
        }
    }
    return status;
}

static fplt_status keep_levels(const fplt__lookup *words, fplt__dictionary_column *to,
                               fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < to->levels; i++)
        fplt__free(to->level[i]);
    to->levels = 0;
    for (uint32_t i = 0; i < words->count && !status; i++) {
        fplt__span word = fplt__lookup_word(words, i);
        status = fplt__dictionary_add_level(to, word.text, word.length, error);
    }
    return status;
}

/* The union over the largest group of members with overlapping levels: others use other words. */
static fplt_status unite_levels(const struct settling *s, fplt__dictionary_column *to,
                                fplt_error *error)
{
    uint8_t *joined;
    uint32_t best = 0, count;
    fplt_status status = fplt__alloc_into(&joined, s->members, 1, "levels", error);
    for (uint32_t i = 0; i < s->members && !status; i++) {
        fplt__lookup words = {0};
        if (joined[i])
            continue;
        status = join_levels(s, to->name, i, joined, &words, &count, error);
        if (!status && count > best) {
            best = count;
            status = keep_levels(&words, to, error);
        }
        fplt__lookup_clear(&words);
    }
    fplt__free(joined);
    return status ? status : fplt__columns_sort(to, error);
}

/* As most members have it, the first where as many have the other. */
static fplt__dictionary_kind settle_kind(const struct settling *s, const char *name)
{
    uint32_t votes[FPLT__DICTIONARY_KINDS] = {0};
    fplt__dictionary_kind first = FPLT__DICTIONARY_ANY;
    for (uint32_t i = 0; i < s->members; i++) {
        const fplt__dictionary_column *column = column_of(s, i, name);
        if (!column)
            continue;
        votes[column->kind]++;
        first = first ? first : column->kind;
    }
    fplt__dictionary_kind other =
        first == FPLT__DICTIONARY_CATEGORY ? FPLT__DICTIONARY_NUMBER : FPLT__DICTIONARY_CATEGORY;
    return votes[other] > votes[first] ? other : first;
}

static fplt_status settle_levels(struct settling *s, fplt_error *error)
{
    fplt__lookup declared = {0};
    uint32_t number;
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < s->declared->columns && !status; j++)
        status =
            fplt__lookup_add(&declared, fplt__span_of(s->declared->column[j].name), &number, error);
    for (size_t j = 0; j < s->common->columns && !status; j++) {
        fplt__dictionary_column *column = &s->common->column[j];
        uint32_t at = fplt__lookup_find(&declared, fplt__span_of(column->name));
        if (at != FPLT__NOWHERE && s->declared->column[at].levels) {
            status = copy_levels(&s->declared->column[at], column, error);
        } else if (settle_kind(s, column->name) == FPLT__DICTIONARY_CATEGORY) {
            column->kind = FPLT__DICTIONARY_CATEGORY;
            status = unite_levels(s, column, error);
            if (!status && !column->levels)
                status = fplt_error_set(error, FPLT_BAD_DATA,
                                        "column '%.80s': no level is in %d rows of one site; "
                                        "declare its `levels`",
                                        column->name, FPLT__DICTIONARY_MIN_ROWS);
        }
    }
    fplt__lookup_clear(&declared);
    return status;
}

/* Label */

static const char *settle_name(const struct settling *s)
{
    const char *best = s->declared->label.name;
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->members && !s->declared->label.name; i++) {
        const char *name = s->own[i].label.name;
        uint32_t count = 0;
        if (!name || (best && strcmp(name, best) == 0))
            continue;
        for (uint32_t k = i; k < s->members; k++)
            count += s->own[k].label.name && strcmp(s->own[k].label.name, name) == 0;
        if (count > most) {
            most = count;
            best = name;
        }
    }
    return best;
}

/* Whether all words of `part` are among those of `all`. */
static int contains(const fplt__lookup *all, const fplt__dictionary_column *part)
{
    for (size_t i = 0; i < part->levels; i++)
        if (fplt__lookup_find(all, fplt__span_of(part->level[i])) == FPLT__NOWHERE)
            return 0;
    return 1;
}

/* How many members have labels of the kind of `candidate` and none but its words. */
static fplt_status count_support(const struct settling *s, const fplt__dictionary_column *candidate,
                                 uint32_t *count, fplt_error *error)
{
    fplt__lookup words = {0};
    uint32_t number;
    fplt_status status = FPLT_OK;
    *count = 0;
    for (size_t i = 0; i < candidate->levels && !status; i++)
        status = fplt__lookup_add(&words, fplt__span_of(candidate->level[i]), &number, error);
    for (uint32_t i = 0; i < s->members && !status; i++)
        *count += s->own[i].label.kind == candidate->kind && contains(&words, &s->own[i].label);
    fplt__lookup_clear(&words);
    return status;
}

static fplt_status settle_classes(struct settling *s, fplt_error *error)
{
    const fplt__dictionary_column *best = NULL;
    uint32_t most = 0, count;
    fplt_status status = FPLT_OK;
    if (s->declared->label.kind == FPLT__DICTIONARY_CATEGORY)
        return copy_levels(&s->declared->label, &s->common->label, error);
    for (uint32_t i = 0; i < s->members && !status && most < s->members; i++) {
        status = count_support(s, &s->own[i].label, &count, error);
        if (!status && count > most) {
            most = count;
            best = &s->own[i].label;
        }
    }
    if (status || !best || best->kind != FPLT__DICTIONARY_CATEGORY) {
        s->common->label.kind = FPLT__DICTIONARY_NUMBER;
        return status;
    }
    if (best->levels < 2)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "the label: no two words are in %d rows of one site each; declare "
                              "`classes`",
                              FPLT__DICTIONARY_MIN_ROWS);
    return copy_levels(best, &s->common->label, error);
}

static fplt_status settle_label(struct settling *s, fplt_error *error)
{
    const char *name = settle_name(s);
    if (name && !(s->common->label.name = fplt__strdup(name)))
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a name");
    return settle_classes(s, error);
}

static int settle_drop(const struct settling *s)
{
    uint32_t votes = 0;
    for (uint32_t i = 0; i < s->members; i++)
        votes += (uint32_t)s->own[i].drops_first;
    return 2 * votes == s->members ? s->own[0].drops_first : 2 * votes > s->members;
}

fplt_status fplt__columns_settle(const fplt__dictionary *declared, const fplt__dictionary *own,
                                 uint32_t members, fplt__dictionary *common, fplt_error *error)
{
    struct settling s = {.declared = declared, .own = own, .members = members, .common = common};
    memset(common, 0, sizeof *common);
    fplt_status status =
        fplt__alloc_into(&s.names, members, sizeof *s.names, "the names of columns", error);
    if (status)
        return status;
    if (!(status = number_columns(&s, error)) && !(status = find_first(&s, error)) &&
        !(status = take_columns(&s, error)) && !(status = settle_levels(&s, error)))
        status = settle_label(&s, error);
    common->drops_first = settle_drop(&s);
    for (uint32_t i = 0; i < members; i++)
        fplt__lookup_clear(&s.names[i]);
    fplt__free(s.names);
    if (status)
        fplt__dictionary_clear(common);
    return status;
}
