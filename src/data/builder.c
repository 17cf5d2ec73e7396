/* Rows as the readers add them: labels, cells or entries, agents, further columns. */
#include "data/builder.h"

#include "base/memory.h"
#include "data/declared.h"

enum { AUTOMATIC_WORDS = 1000 };

static fplt_status check_task(fplt__builder *builder, fplt_error *error)
{
    const fplt_read_settings *settings = builder->settings;
    const char *task = settings->task;
    builder->labels.automatic = !task || fplt__word_is(task, "auto");
    if (!builder->labels.automatic && !fplt__word_is(task, "binary") &&
        !fplt__word_is(task, "classes") && !fplt__word_is(task, "regression"))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "task is '%.80s', but it must be one of auto, binary, classes, "
                              "regression",
                              task);
    builder->labels.mode = FPLT__LABEL_WORD;
    if (fplt__word_is(settings->label, "none"))
        builder->labels.mode = FPLT__LABEL_NONE;
    else if (fplt__word_is(task, "regression") && !settings->labels)
        builder->labels.mode = FPLT__LABEL_NUMBER;
    return FPLT_OK;
}

static fplt_status add_words(fplt__lookup *lookup, const char *list, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (const char *c = list; *c && !status;) {
        size_t length = strcspn(c, ",");
        uint32_t number;
        status = fplt__lookup_add(lookup, fplt__span_trim((fplt__span){c, length}), &number, error);
        c += length;
        c += *c == ',';
    }
    return status;
}

/* "sex=f" may be a level of the column "sex"; every = of a name is tried. */
static fplt_status expect(fplt__builder *builder, const char *name, fplt_error *error)
{
    uint32_t number, before = builder->expected.names.count;
    fplt_status status =
        fplt__lookup_add(&builder->expected.names, fplt__span_of(name), &number, error);
    if (!status && number < before)
        status = fplt_error_set(error, FPLT_BAD_VALUE, "the feature '%.80s' is there twice", name);
    for (const char *c = strchr(name, '='); c && !status; c = strchr(c + 1, '='))
        status = fplt__lookup_add(&builder->expected.categories,
                                  (fplt__span){name, (size_t)(c - name)}, &number, error);
    return status;
}

int fplt__finds_categories(const fplt_read_settings *settings)
{
    const char *list = settings->categories;
    return list && strncmp(list, "auto", 4) == 0 && (!list[4] || list[4] == ',');
}

const char *fplt__named_categories(const fplt_read_settings *settings)
{
    const char *list = settings->categories;
    if (!list || !fplt__finds_categories(settings))
        return list;
    return list[4] ? list + 5 : NULL;
}

int fplt__builder_is_lenient(const fplt__builder *builder)
{
    return fplt__schema_is_lenient(builder->declared.schema);
}

fplt_status fplt__builder_init(fplt__builder *builder, const fplt_read_settings *settings,
                               size_t sources, fplt_error *error)
{
    *builder = (fplt__builder){
        .settings = settings, .sources = sources, .declared.schema = settings->schema};
    fplt_status status = check_task(builder, error);
    if (!status)
        status = fplt__dialect_init(&builder->dialect, settings, error);
    if (!status && builder->declared.schema)
        return (status = fplt__clipped_init(&builder->declared, error))
                   ? status
                   : fplt__declared_init(builder, error);
    const char *named = fplt__named_categories(settings);
    if (!status && named)
        status = add_words(&builder->columns.categories, named, error);
    if (!status && settings->ignore)
        status = add_words(&builder->columns.ignored, settings->ignore, error);
    if (!status && settings->columns)
        status = add_words(&builder->columns.only, settings->columns, error);
    for (size_t i = 0; i < settings->feature_count && settings->feature_names && !status; i++)
        status = expect(builder, settings->feature_names[i], error);
    if (!status)
        status = fplt__levels_init(&builder->expected, settings, error);
    return status;
}

void fplt__builder_clear(fplt__builder *builder)
{
    for (uint32_t i = 0; i < builder->columns.names.count && builder->columns.column; i++) {
        fplt__lookup_clear(&builder->columns.column[i].levels);
        fplt__free(builder->columns.column[i].slot);
    }
    fplt__free(builder->columns.column);
    fplt__free(builder->row);
    fplt__free(builder->cells.value);
    fplt__free(builder->entries.end);
    fplt__free(builder->entries.column);
    fplt__free(builder->entries.value);
    fplt__free(builder->labels.origin);
    fplt__lookup_clear(&builder->labels.words);
    fplt__lookup_clear(&builder->agents);
    fplt__lookup_clear(&builder->columns.names);
    fplt__lookup_clear(&builder->columns.categories);
    fplt__lookup_clear(&builder->expected.names);
    fplt__lookup_clear(&builder->expected.categories);
    fplt__lookup_clear(&builder->persons.names);
    fplt__lookup_clear(&builder->extras.ids);
    fplt__lookup_clear(&builder->columns.ignored);
    fplt__lookup_clear(&builder->columns.only);
    fplt__lookup_clear(&builder->expected.references);
    fplt__dialect_clear(&builder->dialect);
    fplt__profile_clear(&builder->profile);
    fplt__left_out_clear(&builder->left_out);
    fplt__free(builder->persons.rows);
    fplt__free(builder->declared.clipped);
    for (size_t k = 0; k < FPLT__EXTRAS; k++)
        fplt__free(builder->extras.value[k]);
}

static fplt_status number_label(const char *source, size_t line, fplt__span text, double *label,
                                fplt_error *error)
{
    switch (fplt__number_parse(text, label)) {
    case FPLT__NUMBER: return FPLT_OK;
    case FPLT__NOT_FINITE:
        return fplt__bad_data(error, source, line, "the label '%s' is not a finite number",
                              fplt__show(text).text);
    default:
        return fplt__bad_data(error, source, line, "the label '%s' is not a number",
                              fplt__show(text).text);
    }
}

fplt_status fplt__builder_word(fplt__builder *builder, const char *source, size_t line,
                               fplt__span text, double *label, fplt_error *error)
{
    uint32_t number, before = builder->labels.words.count;
    fplt_status status = fplt__lookup_add(&builder->labels.words, text, &number, error);
    if (status)
        return status;
    *label = number;
    if (number < before)
        return FPLT_OK;
    if (builder->labels.automatic && number >= AUTOMATIC_WORDS) {
        int turned;
        if ((status = fplt__labels_turn(builder, &turned, error)))
            return status;
        if (turned)
            return number_label(source, line, text, label, error);
        return fplt__bad_data(error, source, line,
                              "more than %d distinct labels: say whether the task is regression or "
                              "classes",
                              AUTOMATIC_WORDS);
    }
    status = fplt__grow(&builder->labels.origin, &builder->labels.origin_capacity,
                        (size_t)number + 1, sizeof *builder->labels.origin, "labels", error);
    if (!status)
        builder->labels.origin[number] = (fplt__origin){source, line};
    return status;
}

fplt_status fplt__builder_label(fplt__builder *builder, const fplt__source *source, size_t line,
                                fplt__span text, double *label, fplt_error *error)
{
    *label = 0;
    if (builder->labels.mode == FPLT__LABEL_NONE)
        return FPLT_OK;
    if (builder->declared.schema)
        return fplt__declared_label(&builder->declared, source, line, text, label, error);
    if (builder->labels.mode == FPLT__LABEL_WORD)
        return fplt__builder_word(builder, source->name, line, text, label, error);
    return number_label(source->name, line, text, label, error);
}

static fplt_status check_lent(const fplt__builder *builder, size_t needed, size_t capacity,
                              fplt_error *error)
{
    return builder->pieces.is_lent && needed > capacity
               ? fplt_error_set(error, FPLT_UNSUPPORTED, "more in a text than it has signs")
               : FPLT_OK;
}

/* A guess, a tenth on the safe side: what is too much is never touched, and too little grows. */
fplt_status fplt__builder_reserve(fplt__builder *builder, size_t row, size_t rest,
                                  fplt_error *error)
{
    size_t rows = row ? rest / row + rest / row / 10 + 1 : 1;
    fplt_status status = fplt__grow(&builder->row, &builder->row_capacity, builder->rows + rows,
                                    sizeof *builder->row, "rows", error);
    if (!status && builder->sparse)
        status = fplt__grow(&builder->entries.end, &builder->entries.end_capacity,
                            builder->rows + rows, sizeof *builder->entries.end, "rows", error);
    if (status || builder->pieces.is_lent)
        return status;
    if (!builder->sparse)
        return fplt__grow(&builder->cells.value, &builder->cells.capacity,
                          builder->cells.count + rows * builder->cells.width,
                          sizeof *builder->cells.value, "rows", error);
    size_t entries = builder->entries.count +
                     rows * (builder->rows ? builder->entries.count / builder->rows : 0);
    status = fplt__grow(&builder->entries.column, &builder->entries.column_capacity, entries,
                        sizeof *builder->entries.column, "entries", error);
    return status ? status
                  : fplt__grow(&builder->entries.value, &builder->entries.value_capacity, entries,
                               sizeof *builder->entries.value, "entries", error);
}

fplt_status fplt__builder_row(fplt__builder *builder, double label, uint32_t agent,
                              fplt_error *error)
{
    fplt_status status = fplt__grow(&builder->row, &builder->row_capacity, builder->rows + 1,
                                    sizeof *builder->row, "rows", error);
    if (!status && builder->sparse)
        status = fplt__grow(&builder->entries.end, &builder->entries.end_capacity,
                            builder->rows + 1, sizeof *builder->entries.end, "rows", error);
    if (status)
        return status;
    if (builder->declared.neutral && builder->sparse)
        builder->entries.count = builder->rows ? builder->entries.end[builder->rows - 1] : 0;
    if (builder->declared.neutral && builder->labels.mode != FPLT__LABEL_NONE)
        label = fplt__declared_neutral_label(builder->declared.schema);
    builder->declared.neutral_rows += builder->declared.neutral != 0;
    builder->declared.neutral = 0;
    builder->row[builder->rows] = (fplt__row){label, agent, ++builder->number};
    if (builder->sparse)
        builder->entries.end[builder->rows] = builder->entries.count;
    builder->rows++;
    return FPLT_OK;
}

fplt_status fplt__builder_extra(fplt__builder *builder, fplt__extra kind, double value,
                                fplt_error *error)
{
    fplt_status status =
        fplt__grow(&builder->extras.value[kind], &builder->extras.capacity[kind], builder->rows + 1,
                   sizeof *builder->extras.value[kind], "rows", error);
    if (!status)
        builder->extras.value[kind][builder->rows] = value;
    return status;
}

fplt_status fplt__builder_leave_out(fplt__builder *builder, fplt__span site, fplt_error *error)
{
    builder->number++;
    return fplt__left_out_add(&builder->left_out, builder->rows, site, error);
}

fplt_status fplt__builder_cells(fplt__builder *builder, double **cells, fplt_error *error)
{
    size_t needed = builder->cells.count + builder->cells.width;
    fplt_status status = check_lent(builder, needed, builder->cells.capacity, error);
    if (!status)
        status = fplt__grow(&builder->cells.value, &builder->cells.capacity, needed,
                            sizeof *builder->cells.value, "rows", error);
    if (status)
        return status;
    *cells = builder->cells.value + builder->cells.count;
    builder->cells.count += builder->cells.width;
    return FPLT_OK;
}

fplt_status fplt__builder_entry(fplt__builder *builder, uint32_t column, double value,
                                fplt_error *error)
{
    size_t needed = builder->entries.count + 1;
    fplt_status status = check_lent(builder, needed, builder->entries.column_capacity, error);
    if (!status)
        status = fplt__grow(&builder->entries.column, &builder->entries.column_capacity, needed,
                            sizeof *builder->entries.column, "entries", error);
    if (!status)
        status = fplt__grow(&builder->entries.value, &builder->entries.value_capacity, needed,
                            sizeof *builder->entries.value, "entries", error);
    if (status)
        return status;
    builder->entries.column[builder->entries.count] = column;
    builder->entries.value[builder->entries.count++] = value;
    return FPLT_OK;
}
