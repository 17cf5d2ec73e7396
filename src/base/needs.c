/* Settings without effect, by the column `needs` of their tables. */
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"

enum { TERM = 400 };

/* One of the terms of a clause: "solver=sgd|svrg", "start!=zero", "data", "!data", "+data" or "-data". */
struct term {
    char text[TERM]; /* the name; behind its end the values */
    const char *values;
    int negated; /* there must be no value, or another */
    int given;   /* 1: a default is not enough; -1: it must be one */
};

/* Takes the text up to a separator or the end off `list`, which becomes NULL behind the last. */
static void take(const char **list, char separator, char *text, size_t size)
{
    const char *end = strchr(*list, separator);
    size_t length = end ? (size_t)(end - *list) : strlen(*list);
    snprintf(text, size, "%.*s", (int)length, *list);
    *list = end ? end + 1 : NULL;
}

static void read_term(const char **clause, struct term *term)
{
    take(clause, ',', term->text, sizeof term->text);
    term->negated = term->text[0] == '!';
    term->given = term->text[0] == '+' ? 1 : term->text[0] == '-' ? -1 : 0;
    if (term->negated || term->given)
        memmove(term->text, term->text + 1, strlen(term->text));
    char *equals = strchr(term->text, '=');
    term->values = equals ? equals + 1 : NULL;
    if (equals && equals > term->text && equals[-1] == '!') {
        term->negated = 1;
        equals--;
    }
    if (equals)
        *equals = 0;
}

/* Numbers may be written in several ways. */
static int is_same(const char *a, const char *b)
{
    double x, y;
    return strcmp(a, b) == 0 || (!fplt__parse_real(a, &x) && !fplt__parse_real(b, &y) && x == y);
}

static int is_among(const char *values, const char *value)
{
    while (values) {
        char one[TERM];
        take(&values, '|', one, sizeof one);
        if (is_same(one, value))
            return 1;
    }
    return 0;
}

/* Whether one item of the list is among the values. */
static int is_one_among(const char *values, const char *list)
{
    char item[TERM];
    while (*list) {
        list = fplt__list_next(list, item, sizeof item);
        if (is_among(values, item))
            return 1;
    }
    return 0;
}

/* Of a setting or a fact; NULL: none. */
static const char *value_of(const fplt_settings *settings, const char *name)
{
    const fplt_setting *row = fplt__settings_find(settings, name);
    if (!row)
        return fplt__settings_fact(settings, name);
    if (row->kind == FPLT_SWITCH)
        return fplt_settings_switch(settings, name) ? "yes" : "no";
    return fplt_settings_text(settings, name);
}

static int holds(const fplt_settings *settings, const struct term *term)
{
    const fplt_setting *row = fplt__settings_find(settings, term->text);
    const char *value = value_of(settings, term->text);
    if (!row && !value)
        return 1;
    if (term->given)
        return fplt_settings_given(settings, term->text) == (term->given > 0);
    if (!term->values)
        return term->negated ? !value : value != NULL;
    int found = value && (row && row->flags & FPLT_LIST ? is_one_among(term->values, value)
                                                        : is_among(term->values, value));
    return value && found != term->negated;
}

/* Whether some term of the clause holds; otherwise the last layer in which one of them was decided. */
static int clause_holds(const fplt_settings *settings, const char *clause, unsigned *layer)
{
    *layer = 0;
    while (clause) {
        struct term term;
        read_term(&clause, &term);
        if (holds(settings, &term))
            return 1;
        unsigned decided = fplt__settings_layer(settings, term.text);
        *layer = decided > *layer ? decided : *layer;
    }
    return 0;
}

/* Adds a text where there is room for it. */
static void add(char *text, size_t size, const char *more)
{
    size_t used = strlen(text), length = strlen(more);
    if (used + length < size)
        memcpy(text + used, more, length + 1);
}

/* Adds "fixed or round-robin" for "fixed|round-robin". */
static void add_values(const char *values, char *text, size_t size)
{
    while (values) {
        char one[TERM];
        take(&values, '|', one, sizeof one);
        add(text, size, one);
        add(text, size, !values ? "" : strchr(values, '|') ? ", " : " or ");
    }
}

/* "participation fixed or round-robin", "start other than zero", "data", "no data", with ", or " between
 * terms. */
static void describe(const char *clause, char *text, size_t size)
{
    *text = 0;
    while (clause) {
        struct term term;
        read_term(&clause, &term);
        if (term.given < 0)
            continue; /* the user gave the setting and will not remove it */
        add(text, size, *text ? ", or " : "");
        add(text, size, term.negated && !term.values ? "no " : "");
        add(text, size, term.text);
        add(text, size, !term.values ? "" : term.negated ? " other than " : " ");
        add_values(term.values, text, size);
    }
}

static fplt_status refuse(const fplt_settings *settings, const char *name, const char *clause,
                          fplt_error *error)
{
    char wanted[TERM];
    struct term first;
    const char *rest = clause, *origin = fplt__settings_origin(settings, name);
    read_term(&rest, &first);
    const char *value = value_of(settings, first.text);
    if (first.negated && !first.values)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %s has no effect beside %s (%s); leave one of them out", origin,
                              name, first.text, fplt__settings_origin(settings, first.text));
    describe(clause, wanted, sizeof wanted);
    if (!value || first.given > 0)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %s has no effect without %s: give %s too, or leave %s out",
                              origin, name, wanted, first.text, name);
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: %s has no effect without %s, but %s is %.80s; leave it out", origin,
                          name, wanted, first.text, value);
}

/* The word auto wishes for nothing. */
static int is_left_open(const fplt_settings *settings, const fplt_setting *row)
{
    return row->kind == FPLT_CHOICE
               ? strcmp(fplt_settings_text(settings, row->name), "auto") == 0
               : row->flags & FPLT_AUTO && fplt_settings_is_auto(settings, row->name);
}

static int is_given(const fplt_settings *settings, const fplt_setting *row)
{
    return fplt__settings_layer(settings, row->name) && !is_left_open(settings, row);
}

/* Whether the clause names `there`, and if so whether a term other than that holds, `name` having all
 * values of a list. */
static int holds_there(const fplt_settings *settings, const char *clause, const char *there,
                       const char *name, const char *list)
{
    int names_it = 0, is_met = 0;
    while (clause) {
        struct term term;
        read_term(&clause, &term);
        if (strcmp(term.text, there) == 0)
            names_it = 1;
        else if (strcmp(term.text, name) == 0 && term.values)
            is_met |= is_one_among(term.values, list) != term.negated;
        else
            is_met |= holds(settings, &term);
    }
    return !names_it || is_met;
}

static fplt_status check_needs(const fplt_settings *settings, const char *name, const char *needs,
                               fplt_error *error)
{
    unsigned given = fplt__settings_layer(settings, name), decided;
    while (needs) {
        char clause[TERM];
        take(&needs, ';', clause, sizeof clause);
        if (!clause_holds(settings, clause, &decided) && given >= decided)
            return refuse(settings, name, clause, error);
    }
    return FPLT_OK;
}

fplt_status fplt__settings_effective(const fplt_settings *settings, fplt_error *error)
{
    const fplt_setting *row;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (row = fplt_settings_row(settings, i, NULL)); i++)
        if (is_given(settings, row))
            status = check_needs(settings, row->name, row->needs, error);
    return status;
}

/* The last line about a setting or its group; NULL: none. */
static const fplt__setting_need *line_about(const fplt__setting_need *table, const char *name,
                                            const char *group)
{
    const fplt__setting_need *found = NULL;
    for (; table->name; table++)
        if (table->name[0] == '@' ? strcmp(table->name + 1, group) == 0
                                  : strcmp(table->name, name) == 0)
            found = table;
    return found;
}

/* The first given setting with a clause in `needs` that names `there` and that no other term fulfils. */
static const fplt_setting *idle_there(const fplt_settings *settings,
                                      const fplt__setting_need *table, const char *there,
                                      const char *name, const char *list, char clause[TERM])
{
    const fplt_setting *row;
    const char *group;
    for (size_t i = 0; (row = fplt_settings_row(settings, i, &group)); i++) {
        const fplt__setting_need *line = table ? line_about(table, row->name, group) : NULL;
        const char *needs[] = {row->needs, line ? line->needs : NULL};
        if (!is_given(settings, row) ||
            fplt__settings_layer(settings, row->name) < fplt__settings_layer(settings, there))
            continue;
        for (size_t k = 0; k < 2; k++)
            while (needs[k]) {
                take(&needs[k], ';', clause, TERM);
                if (!holds_there(settings, clause, there, name, list))
                    return row;
            }
    }
    return NULL;
}

fplt_status fplt__settings_effective_there(const fplt_settings *settings, const char *there,
                                           const char *name, const char *list, fplt_error *error)
{
    char clause[TERM], wanted[TERM];
    const fplt_setting *row = idle_there(settings, NULL, there, name, list, clause);
    if (!row)
        return FPLT_OK;
    describe(clause, wanted, sizeof wanted);
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: %s has no effect without %s, but %s (%s) has only %s; leave it out",
                          fplt__settings_origin(settings, row->name), row->name, wanted, there,
                          fplt_settings_text(settings, there), list);
}

fplt_status fplt__settings_effective_beside(const fplt_settings *settings,
                                            const fplt__setting_need *table, const char *there,
                                            const char *what, fplt_error *error)
{
    char clause[TERM];
    const fplt_setting *row = idle_there(settings, table, there, "", "", clause);
    return row ? fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: %s has no effect beside %s; leave it out",
                                fplt__settings_origin(settings, row->name), row->name, what)
               : FPLT_OK;
}

/* What was given from layer `from` on, for one user of the tables. */
static fplt_status check_user(const fplt_settings *settings, const char *where,
                              const fplt__setting_need *table, unsigned from, fplt_error *error)
{
    const fplt_setting *row;
    const char *group;
    fplt_status status = FPLT_OK;
    for (size_t i = 0; !status && (row = fplt_settings_row(settings, i, &group)); i++) {
        const fplt__setting_need *line = line_about(table, row->name, group);
        if (!line || !is_given(settings, row) || fplt__settings_layer(settings, row->name) < from)
            continue;
        if (!line->needs)
            return fplt_error_set(error, FPLT_BAD_VALUE, "%s: %s has no effect in fedplt %s: %s",
                                  fplt__settings_origin(settings, row->name), row->name, where,
                                  line->instead);
        status = check_needs(settings, row->name, *line->needs ? line->needs : NULL, error);
    }
    return status;
}

fplt_status fplt__settings_effective_in(const fplt_settings *settings, const char *where,
                                        const fplt__setting_need *table, fplt_error *error)
{
    return check_user(settings, where, table, fplt__settings_present(settings), error);
}

fplt_status fplt__settings_effective_alone(const fplt_settings *settings, const char *where,
                                           const fplt__setting_need *table, fplt_error *error)
{
    return check_user(settings, where, table, 0, error);
}
