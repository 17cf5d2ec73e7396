/* Reading a formula: a descent over + -, then * and :, then ^, as R binds them. */
#include "data/formula.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/schema.h"

enum { DEPTH_MAX = 32, DEGREE_MAX = 20 };

/* Some terms, each once, in order of appearance; the empty term is the intercept. */
struct terms {
    uint64_t set[FPLT__TERMS_MAX];
    size_t count;
};

struct reader {
    const char *text, *at;
    fplt__formula *formula;
    const char *const *columns;
    size_t count;
    unsigned depth;
    fplt_error *error;
};

static fplt_status bad(const struct reader *reader, const char *what)
{
    return fplt_error_set(reader->error, FPLT_BAD_VALUE,
                          "formula: %s at character %zu of '%.200s'; write for example disease ~ "
                          "age * sex + poly(chol, 2) + C(cp)",
                          what, (size_t)(reader->at - reader->text) + 1, reader->text);
}

static void skip(struct reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static int accept(struct reader *reader, const char *sign)
{
    skip(reader);
    if (strncmp(reader->at, sign, strlen(sign)) != 0)
        return 0;
    reader->at += strlen(sign);
    return 1;
}

static fplt_status add_term(struct reader *reader, struct terms *terms, uint64_t set)
{
    for (size_t i = 0; i < terms->count; i++)
        if (terms->set[i] == set)
            return FPLT_OK;
    if (terms->count == FPLT__TERMS_MAX)
        return bad(reader, "more than 512 terms");
    terms->set[terms->count++] = set;
    return FPLT_OK;
}

static int is_name(char c, int first)
{
    return isalpha((unsigned char)c) || c == '_' || c == '.' || (unsigned char)c >= 0x80 ||
           (!first && isdigit((unsigned char)c));
}

/* age, or `age in years` */
static fplt_status read_name(struct reader *reader, char *name, size_t size)
{
    skip(reader);
    int quoted = *reader->at == '`';
    const char *start = reader->at + quoted, *end = start;
    while (quoted ? *end && *end != '`' : is_name(*end, end == start))
        end++;
    if (end == start || (quoted && *end != '`'))
        return bad(reader, "a column's name is expected");
    if ((size_t)(end - start) >= size)
        return bad(reader, "a name of more than 159 bytes");
    snprintf(name, size, "%.*s", (int)(end - start), start);
    reader->at = end + quoted;
    return FPLT_OK;
}

static fplt_status read_whole(struct reader *reader, unsigned most, unsigned *number)
{
    char *end;
    skip(reader);
    long value = isdigit((unsigned char)*reader->at) ? strtol(reader->at, &end, 10) : 0;
    if (value < 1 || value > (long)most)
        return bad(reader, "a whole number from 1 to 20 is expected");
    *number = (unsigned)value;
    reader->at = end;
    return FPLT_OK;
}

static fplt_status add_variable(struct reader *reader, const fplt__variable *variable,
                                struct terms *terms)
{
    fplt__formula *formula = reader->formula;
    size_t v = 0;
    while (v < formula->variables && strcmp(formula->variable[v].text, variable->text) != 0)
        v++;
    if (v == FPLT__VARIABLES_MAX)
        return bad(reader, "more than 64 variables");
    if (v == formula->variables)
        formula->variable[formula->variables++] = *variable;
    return add_term(reader, terms, (uint64_t)1 << v);
}

/* What is in the parentheses of a function, the first of which is read. */
static fplt_status read_call(struct reader *reader, const char *function, fplt__variable *made)
{
    fplt_status status = read_name(reader, made->column, sizeof made->column);
    const char *column = made->column;
    made->degree = 1;
    if (status)
        return status;
    if (strcmp(function, "I") == 0) {
        made->kind = FPLT__POWER;
        if (!accept(reader, "^") && !accept(reader, "**"))
            return bad(reader, "I() takes a power, such as I(age^2)");
        if ((status = read_whole(reader, DEGREE_MAX, &made->degree)))
            return status;
        snprintf(made->text, sizeof made->text, "I(%s^%u)", column, made->degree);
    } else if (strcmp(function, "poly") == 0) {
        made->kind = FPLT__POLY;
        if (!accept(reader, ","))
            return bad(reader, "poly() takes a column and a degree, such as poly(age, 2)");
        if (accept(reader, "degree") && !accept(reader, "="))
            return bad(reader, "'=' is expected");
        if ((status = read_whole(reader, DEGREE_MAX, &made->degree)))
            return status;
        if (accept(reader, ",")) {
            if (!accept(reader, "raw") || !accept(reader, "=") ||
                !(accept(reader, "TRUE") || accept(reader, "T")))
                return bad(reader, "raw = TRUE is expected");
            made->kind = FPLT__RAW_POLY;
        }
        snprintf(made->text, sizeof made->text, "poly(%s, %u%s)", column, made->degree,
                 made->kind == FPLT__RAW_POLY ? ", raw = TRUE" : "");
    } else if (strcmp(function, "C") == 0 || strcmp(function, "factor") == 0) {
        made->kind = FPLT__LEVELS_OF;
        snprintf(made->text, sizeof made->text, "C(%s)", column);
    } else if (strcmp(function, "log") == 0 || strcmp(function, "sqrt") == 0) {
        made->kind = *function == 'l' ? FPLT__LOG : FPLT__SQRT;
        snprintf(made->text, sizeof made->text, "%s(%s)", function, column);
    } else {
        return bad(reader, "unknown function: it must be one of I, poly, C, factor, log, sqrt,");
    }
    return accept(reader, ")") ? FPLT_OK : bad(reader, "')' is expected");
}

static fplt_status read_dot(struct reader *reader, struct terms *terms)
{
    fplt_status status = FPLT_OK;
    reader->formula->everything = 1;
    for (size_t i = 0; !status && i < reader->count; i++) {
        fplt__variable made = {.kind = FPLT__PLAIN_COLUMN, .degree = 1};
        if (strcmp(reader->formula->response, reader->columns[i]) == 0)
            continue;
        snprintf(made.column, sizeof made.column, "%s", reader->columns[i]);
        snprintf(made.text, sizeof made.text, "%s", reader->columns[i]);
        status = add_variable(reader, &made, terms);
    }
    return status;
}

static fplt_status read_sum(struct reader *reader, struct terms *terms);

/* A name, a function, a dot, 0 or 1, or a formula in parentheses. */
static fplt_status read_atom(struct reader *reader, struct terms *terms)
{
    fplt__variable made = {.kind = FPLT__PLAIN_COLUMN, .degree = 1};
    fplt_status status;
    terms->count = 0;
    skip(reader);
    if (accept(reader, "(")) {
        if (++reader->depth > DEPTH_MAX)
            return bad(reader, "parentheses nested more than 32 deep");
        if ((status = read_sum(reader, terms)))
            return status;
        reader->depth--;
        return accept(reader, ")") ? FPLT_OK : bad(reader, "')' is expected");
    }
    if (*reader->at == '1' && !isdigit((unsigned char)reader->at[1])) {
        reader->at++;
        return add_term(reader, terms, 0);
    }
    if (*reader->at == '.' && !is_name(reader->at[1], 0)) {
        reader->at++;
        return read_dot(reader, terms);
    }
    int quoted = *reader->at == '`';
    if ((status = read_name(reader, made.column, sizeof made.column)))
        return status;
    if (!quoted && accept(reader, "(")) {
        char function[FPLT__VARIABLE_TEXT];
        memcpy(function, made.column, sizeof function);
        if ((status = read_call(reader, function, &made)))
            return status;
    } else {
        snprintf(made.text, sizeof made.text, "%s", made.column);
    }
    return add_variable(reader, &made, terms);
}

static fplt_status cross(struct reader *reader, const struct terms *a, const struct terms *b,
                         struct terms *into)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count && !status; j++)
            status = add_term(reader, into, a->set[i] | b->set[j]);
    return status;
}

/* (a + b)^2 */
static fplt_status read_power(struct reader *reader, struct terms *terms)
{
    unsigned power;
    fplt_status status = read_atom(reader, terms);
    if (status || !(accept(reader, "^") || accept(reader, "**")))
        return status;
    if ((status = read_whole(reader, DEGREE_MAX, &power)))
        return status;
    const struct terms base = *terms;
    for (unsigned i = 1; i < power && !status; i++) {
        const struct terms before = *terms;
        status = cross(reader, &before, &base, terms);
    }
    return status;
}

/* a:b binds before a*b, which is a + b + a:b. */
static fplt_status read_crossing(struct reader *reader, struct terms *terms)
{
    fplt_status status = read_power(reader, terms);
    while (!status && accept(reader, ":")) {
        const struct terms left = *terms;
        struct terms right;
        if (!(status = read_power(reader, &right))) {
            terms->count = 0;
            status = cross(reader, &left, &right, terms);
        }
    }
    return status;
}

static fplt_status read_product(struct reader *reader, struct terms *terms)
{
    fplt_status status = read_crossing(reader, terms);
    while (!status && accept(reader, "*")) {
        const struct terms left = *terms;
        struct terms right;
        if ((status = read_crossing(reader, &right)))
            return status;
        for (size_t i = 0; i < right.count && !status; i++)
            status = add_term(reader, terms, right.set[i]);
        if (!status)
            status = cross(reader, &left, &right, terms);
    }
    return status;
}

static void remove_term(struct terms *terms, uint64_t set)
{
    size_t kept = 0;
    for (size_t i = 0; i < terms->count; i++)
        if (terms->set[i] != set)
            terms->set[kept++] = terms->set[i];
    terms->count = kept;
}

/* + 0 takes the intercept away, as - 1 does. */
static int is_zero(struct reader *reader)
{
    skip(reader);
    if (*reader->at != '0' || is_name(reader->at[1], 0))
        return 0;
    reader->at++;
    return 1;
}

static fplt_status read_sum(struct reader *reader, struct terms *terms)
{
    fplt_status status = FPLT_OK;
    terms->count = 0;
    if (reader->depth == 0)
        status = add_term(reader, terms, 0);
    for (int minus = accept(reader, "-"); !status;) {
        struct terms next;
        if (is_zero(reader)) {
            remove_term(terms, 0);
        } else if (!(status = read_product(reader, &next))) {
            for (size_t i = 0; i < next.count && !status; i++)
                if (minus)
                    remove_term(terms, next.set[i]);
                else
                    status = add_term(reader, terms, next.set[i]);
        }
        minus = !status && accept(reader, "-");
        if (!minus && (status || !accept(reader, "+")))
            break;
    }
    return status;
}

static unsigned size_of(uint64_t set)
{
    unsigned size = 0;
    for (unsigned v = 0; v < FPLT__VARIABLES_MAX; v++)
        size += set >> v & 1;
    return size;
}

static fplt_status keep_terms(struct reader *reader, const struct terms *terms)
{
    fplt__formula *formula = reader->formula;
    for (unsigned size = 0; size <= FPLT__VARIABLES_MAX; size++)
        for (size_t i = 0; i < terms->count; i++) {
            if (size_of(terms->set[i]) != size)
                continue;
            if (size == 0)
                formula->intercept = 1;
            else
                formula->term[formula->terms++] = terms->set[i];
        }
    if (!formula->terms && !formula->everything)
        return bad(reader, "no column is named");
    return FPLT_OK;
}

fplt_status fplt__formula_parse(const char *text, const char *const *columns, size_t count,
                                fplt__formula *formula, fplt_error *error)
{
    struct reader reader = {text, text, formula, columns, columns ? count : 0, 0, error};
    struct terms *terms;
    memset(formula, 0, sizeof *formula);
    fplt_status status = fplt__alloc_into(&terms, 1, sizeof *terms, "a formula", error);
    if (status)
        return status;
    const char *tilde = strchr(text, '~');
    if (tilde && !accept(&reader, "~")) {
        status = read_name(&reader, formula->response, sizeof formula->response);
        if (!status && !accept(&reader, "~"))
            status = bad(&reader, "'~' is expected");
    }
    if (!status)
        status = read_sum(&reader, terms);
    skip(&reader);
    if (!status && *reader.at)
        status = bad(&reader, "an operator is expected (+ - * : ^)");
    if (!status)
        status = keep_terms(&reader, terms);
    fplt__free(terms);
    return status;
}

static fplt_status check_levels(const fplt_schema *schema, fplt_error *error)
{
    for (size_t i = 0; i < schema->columns; i++)
        if (schema->column[i].type == FPLT__CATEGORY && schema->column[i].base != FPLT__NOWHERE)
            return fplt_error_set(
                error, FPLT_UNSUPPORTED,
                "formula: the schema leaves out the level '%.80s' of '%.80s' (base), but a "
                "formula chooses the reference level itself, the first one; put it first in "
                "levels and leave base out",
                fplt__lookup_word(&schema->column[i].levels.names, schema->column[i].base).text,
                schema->column[i].name);
    return FPLT_OK;
}

fplt_status fplt__formula_check_schema(const char *text, const fplt_schema *schema,
                                       fplt_error *error)
{
    const fplt__declared *label = schema ? fplt__schema_column(schema, FPLT__LABEL) : NULL;
    fplt__formula *formula;
    if (!schema)
        return FPLT_OK;
    fplt_status status = fplt__alloc_into(&formula, 1, sizeof *formula, "a formula", error);
    if (status)
        return status;
    status = fplt__formula_parse(text, NULL, 0, formula, error);
    if (!status && label && label->name && *formula->response &&
        strcmp(label->name, formula->response) != 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "formula: it is about '%.80s', but the label that the schema "
                                "declares is '%.80s'",
                                formula->response, label->name);
    fplt__free(formula);
    return status ? status : check_levels(schema, error);
}
