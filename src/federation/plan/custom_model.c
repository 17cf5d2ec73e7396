#include "federation/plan/custom_model.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/text.h"
#include "federation/plan/plan_resolution.h"

/* The word of the setting `loss`. */
static const char custom[] = "custom";

int fplt__is_custom(const fplt__proposal *proposal)
{
    return proposal->model.dimension != 0;
}

int fplt__is_word_of_custom(const fplt__pair *setting)
{
    return strcmp(setting->name, "loss") == 0 && strcmp(setting->value, custom) == 0;
}

/* From federation.yaml */

static fplt_status read_key(const char *name, const char *value, fplt__custom_model *model,
                            fplt_error *error)
{
    long long number;
    if (strcmp(name, "name") == 0) {
        if (!fplt__name_is_legal(value))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "model: name is '%.60s', but must be 1 to 40 of a-z, 0-9 and -",
                                  value);
        memcpy(model->name, value, strlen(value) + 1);
    } else if (strcmp(name, "version") == 0) {
        if (!fplt__version_is_legal(value))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "model: version is '%.60s', but must be 1 to 40 of letters, "
                                  "digits and ._+-",
                                  value);
        memcpy(model->version, value, strlen(value) + 1);
    } else if (strcmp(name, "dimension") == 0) {
        if (fplt__parse_integer(value, &number) || number < 1 || number > UINT32_MAX)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "model: dimension is '%.40s', but must be the number of "
                                  "parameters, 1 to 4294967295",
                                  value);
        model->dimension = (uint32_t)number;
    } else if (strcmp(name, "digest") == 0) {
        if (!fplt__unhex(value, &model->digest, sizeof model->digest))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "model: digest is '%.80s', but must be 64 hexadecimal digits in "
                                  "lower case",
                                  value);
    } else {
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "model: %.60s is unknown; its keys are name, version, dimension and "
                              "digest",
                              name);
    }
    return FPLT_OK;
}

static int is_named_custom(const fplt__proposal *proposal)
{
    const char *loss = fplt__pair_find(proposal->setting, proposal->settings, "loss");
    return loss && strcmp(loss, custom) == 0;
}

/* With privacy the algorithm is gradient descent unless something else is given: nothing is known by which Fed-PLT would
 * choose rho. */
static fplt_status prefer_descent(fplt__proposal *proposal, fplt_error *error)
{
    static const char *const names[] = {"algorithm", "rho"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fplt__pair_find(proposal->setting, proposal->settings, names[i]))
            return FPLT_OK;
    return proposal->privacies ? fplt__proposal_set(proposal, "algorithm", "fedavg", error)
                               : FPLT_OK;
}

fplt_status fplt__custom_propose(const fplt_settings *leader, fplt__proposal *proposal,
                                 fplt_error *error)
{
    static const char *const keys[] = {"name", "version", "dimension", "digest"};
    const char *text = fplt_settings_text(leader, "model");
    char name[128], value[128];
    unsigned found = 0;
    if (!text)
        return FPLT_OK;
    while (*text) {
        text = fplt__pairs_next(text, name, sizeof name, value, sizeof value);
        fplt_status status = read_key(name, value, &proposal->model, error);
        if (status)
            return status;
        for (unsigned i = 0; i < 4; i++)
            found |= strcmp(name, keys[i]) == 0 ? 1u << i : 0;
    }
    for (unsigned i = 0; i < 4; i++)
        if (!(found >> i & 1))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "model: %s is missing; write `model: {name: ..., version: ..., "
                                  "dimension: ..., digest: ...}`",
                                  keys[i]);
    return is_named_custom(proposal)
               ? prefer_descent(proposal, error)
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "model: has no effect without `train: {loss: custom}`");
}

/* What a proposal may say */

int fplt__custom_ignores(const char *group)
{
    static const char *const groups[] = {"data", "prepare", "cost", "generated data"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(group, groups[i]) == 0)
            return 1;
    return 0;
}

static const char *group_of(const fplt_settings *settings, const char *name)
{
    const fplt_setting *row;
    const char *group;
    for (size_t i = 0; (row = fplt_settings_row(settings, i, &group)); i++)
        if (strcmp(row->name, name) == 0)
            return group;
    return "";
}

fplt_status fplt__custom_check(const fplt__proposal *proposal, const fplt_settings *settings,
                               fplt_error *error)
{
    if (!fplt__is_custom(proposal))
        return is_named_custom(proposal)
                   ? fplt_error_set(error, FPLT_BAD_VALUE,
                                    "train: loss is custom, but `model` is missing: write `model: "
                                    "{name: ..., version: ..., dimension: ..., digest: ...}`")
                   : FPLT_OK;
    if (!is_named_custom(proposal))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "model: has no effect without `train: {loss: custom}`");
    if (proposal->schema || proposal->dictionary)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "model: a custom cost reads its rows itself; leave schema, columns, "
                              "label, classes, levels and features out");
    for (size_t i = 0; i < proposal->settings; i++) {
        const char *name = proposal->setting[i].name;
        int clips = proposal->privacies && strcmp(name, "clip") == 0;
        if (strcmp(name, "loss") != 0 && !clips && fplt__custom_ignores(group_of(settings, name)))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "train: %.60s has no effect on a custom cost, which reads its "
                                  "rows and adds its penalties itself; leave it out",
                                  name);
    }
    return FPLT_OK;
}

fplt__form fplt__custom_form(const fplt__proposal *proposal)
{
    return fplt__custom_form_of(proposal->model.dimension);
}

fplt__form fplt__custom_form_of(size_t dimension)
{
    return (fplt__form){
        .task = FPLT_TASK_REGRESSION, .features = dimension, .outputs = 1, .dense = 1, .custom = 1};
}

void fplt__custom_show(const fplt__custom_model *model, fplt__buffer *text)
{
    char digest[FPLT__HEX];
    fplt__hex(&model->digest, sizeof model->digest, digest);
    fplt__buffer_format(text, "%s %s, %u parameters, digest %s", model->name, model->version,
                        model->dimension, digest);
}

/* The file */

/* All but the weights, which stand as an empty list; NULL where there is no memory. */
static json_t *outline_json(const fplt__agreement *agreement, const char *record)
{
    const fplt__custom_model *model = &agreement->proposal.model;
    char digest[FPLT__HEX];
    json_t *training = record ? json_loads(record, 0, NULL) : NULL;
    fplt__hex(&model->digest, sizeof model->digest, digest);
    return json_pack("{s:s, s:i, s:s, s:s, s:{s:s, s:s, s:I, s:s}, s:[], s:o}", "format",
                     "fedplt-model", "version", 1, "program", "fedplt " FPLT_VERSION, "loss",
                     custom, "model", "name", model->name, "version", model->version, "dimension",
                     (json_int_t)model->dimension, "digest", digest, "weights", "training",
                     training ? training : json_object());
}

static char *outline_text(const fplt__agreement *agreement, const char *record)
{
    json_t *object = outline_json(agreement, record);
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    return text;
}

fplt_status fplt__custom_document(const fplt__agreement *agreement, const double *x,
                                  const char *record, json_t **document, fplt_error *error)
{
    json_t *list;
    int failed = !(*document = outline_json(agreement, record));
    list = json_object_get(*document, "weights");
    for (size_t j = 0; !failed && j < agreement->proposal.model.dimension; j++)
        failed = json_array_append_new(list, json_real(x[j])) != 0;
    if (!failed)
        return FPLT_OK;
    json_decref(*document);
    *document = NULL;
    return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
}

/* One a line, and always as numbers that are not whole: a reader keeps the sign of a zero. */
static fplt_status write_weights(fplt__file *file, const double *x, size_t count, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < count && !status; j++) {
        char line[FPLT__DECIMAL_ROOM + 16] = ",\n    ";
        size_t front = strlen(line);
        size_t length = front + fplt__decimal_shortest(x[j], line + front);
        if (!strpbrk(line + front, ".e"))
            memcpy(line + length, ".0", 2), length += 2;
        status = fplt__file_write(file, line + !j, length - !j, error);
    }
    return status;
}

fplt_status fplt__custom_write(const fplt__agreement *agreement, const double *x,
                               const char *record, const char *path, fplt_error *error)
{
    static const char weights[] = "\"weights\": [";
    char *text = outline_text(agreement, record);
    char *list = text ? strstr(text, weights) : NULL; /* no name before it can have a quote */
    fplt__file *file;
    fplt_status status = list ? fplt__file_open(path, 0666, &file, error)
                              : fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a model");
    if (status) {
        free(text);
        return status;
    }
    list += strlen(weights);
    if ((status = fplt__file_write(file, text, (size_t)(list - text), error)) ||
        (status = write_weights(file, x, agreement->proposal.model.dimension, error)) ||
        (status = fplt__file_write(file, "\n  ", 3, error)) ||
        (status = fplt__file_write(file, list, strlen(list), error)))
        fplt__file_abort(file);
    else
        status = fplt__file_commit(file, error);
    free(text);
    return status;
}
