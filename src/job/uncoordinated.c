/* Agents that train each in their own way [Fed-PLT, "uncoordinated" local training]: a small CSV
 * file says what some of them do otherwise than the rest. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "fedplt/job.h"
#include "job/job.h"
#include "job/tables.h"
#include "solver/solver.h"

enum { MAX_COLUMNS = 8, LONGEST_FIELD = 128, LARGEST_FILE = 1 << 26 };

struct place {
    const char *path;
    size_t line;
};

struct field {
    const char *name;
    fplt_status (*set)(fplt_training *training, const char *text, const struct place *place,
                       fplt_error *error);
    int (*counts)(const fplt_solver *solver); /* NULL: with any */
};

static const char *solver_name(size_t index, const char **help)
{
    const fplt_solver *solver = fplt_solver_list(index);
    if (solver && help)
        *help = solver->help;
    return solver ? solver->name : NULL;
}

static fplt_status set_solver(fplt_training *training, const char *text, const struct place *place,
                              fplt_error *error)
{
    const fplt_solver *solver = fplt_solver_find(text);
    if (!solver) {
        fplt__unknown_name("solver", text, solver_name, error);
        fplt_error_prefix(error, "%s:%zu", place->path, place->line);
        return FPLT_BAD_DATA;
    }
    training->solver = solver;
    return FPLT_OK;
}

static fplt_status set_real(double *value, const char *name, int zero, const char *text,
                            const struct place *place, fplt_error *error)
{
    if (fplt__parse_real(text, value) || !(zero ? *value >= 0 : *value > 0))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%zu: %s is '%.80s', but it must be a number %s 0", place->path,
                              place->line, name, text, zero ? "of at least" : "above");
    return FPLT_OK;
}

static fplt_status set_count(uint32_t *value, const char *name, const char *text,
                             const struct place *place, fplt_error *error)
{
    long long count;
    if (fplt__parse_integer(text, &count) || count < 1 || count > 1000000)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%zu: %s is '%.80s', but it must be a whole number from 1 to "
                              "1000000",
                              place->path, place->line, name, text);
    *value = (uint32_t)count;
    return FPLT_OK;
}

static fplt_status set_gamma(fplt_training *training, const char *text, const struct place *place,
                             fplt_error *error)
{
    if (strcmp(text, "auto") == 0) {
        training->step = 0;
        return FPLT_OK;
    }
    return set_real(&training->step, "gamma", 0, text, place, error);
}

static fplt_status set_epochs(fplt_training *training, const char *text, const struct place *place,
                              fplt_error *error)
{
    return set_count(&training->epochs, "epochs", text, place, error);
}

static fplt_status set_batch(fplt_training *training, const char *text, const struct place *place,
                             fplt_error *error)
{
    return set_count(&training->batch, "batch", text, place, error);
}

static fplt_status set_tau(fplt_training *training, const char *text, const struct place *place,
                           fplt_error *error)
{
    return set_real(&training->noise_tau, "tau", 1, text, place, error);
}

static const struct field fields[] = {
    {"agent", NULL, NULL},
    {"solver", set_solver, NULL},
    {"gamma", set_gamma, fplt__solver_has_step},
    {"epochs", set_epochs, NULL},
    {"batch", set_batch, fplt__is_stochastic},
    {"tau", set_tau, fplt__is_noisy},
};

static const char *field_name(size_t index, const char **help)
{
    if (help)
        *help = "";
    return index < sizeof fields / sizeof *fields ? fields[index].name : NULL;
}

/* The next field of a line, without the blanks around it; NULL past the last. */
static char *next_field(char **line)
{
    if (!*line)
        return NULL;
    char *field = *line, *comma = strchr(field, ',');
    *line = comma ? comma + 1 : NULL;
    char *end = comma ? comma : field + strlen(field);
    while (isspace((unsigned char)*field) && field < end)
        field++;
    while (end > field && isspace((unsigned char)end[-1]))
        end--;
    *end = 0;
    return field;
}

static fplt_status read_header(char *line, const struct place *place, const struct field **columns,
                               size_t *count, fplt_error *error)
{
    int agent = 0;
    *count = 0;
    for (char *name; (name = next_field(&line)); (*count)++) {
        const struct field *found = NULL;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (strcmp(fields[i].name, name) == 0)
                found = &fields[i];
        if (!found || *count >= MAX_COLUMNS) {
            fplt__unknown_name("column", name, field_name, error);
            fplt_error_prefix(error, "%s:%zu", place->path, place->line);
            return FPLT_BAD_DATA;
        }
        columns[*count] = found;
        agent |= !found->set;
    }
    if (!agent)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s:%zu: the column agent is missing",
                              place->path, place->line);
    return FPLT_OK;
}

static fplt_status find_agent(const char *text, const fplt_dataset *dataset, uint32_t agents,
                              const struct place *place, uint32_t *agent, fplt_error *error)
{
    long long number;
    for (uint32_t i = 0; dataset && i < agents; i++) {
        const char *name = fplt_dataset_agent_name(dataset, i);
        if (name && strcmp(name, text) == 0) {
            *agent = i;
            return FPLT_OK;
        }
    }
    if (fplt__parse_integer(text, &number) || number < 0 || number >= agents)
        return fplt_error_set(
            error, FPLT_BAD_DATA,
            "%s:%zu: there is no agent '%.80s'; agents are named by their site, or "
            "numbered from 0 to %u",
            place->path, place->line, text, agents - 1);
    *agent = (uint32_t)number;
    return FPLT_OK;
}

static fplt_status read_row(char *line, const struct field *const *columns, size_t count,
                            const struct place *place, const fplt_dataset *dataset, uint32_t agents,
                            fplt_training *each, fplt_error *error)
{
    char *texts[MAX_COLUMNS] = {NULL}, *text;
    size_t found = 0;
    uint32_t agent = 0;
    fplt_status status = FPLT_OK;
    for (; (text = next_field(&line)); found++)
        if (found < count)
            texts[found] = text;
    if (found != count)
        return fplt_error_set(error, FPLT_BAD_DATA, "%s:%zu: there are %zu fields, but %zu columns",
                              place->path, place->line, found, count);
    for (size_t i = 0; !status && i < count; i++)
        if (!columns[i]->set)
            status = find_agent(texts[i], dataset, agents, place, &agent, error);
    for (size_t i = 0; !status && i < count; i++)
        if (columns[i]->set && *texts[i])
            status = columns[i]->set(&each[agent], texts[i], place, error);
    for (size_t i = 0; !status && i < count; i++)
        if (*texts[i] && columns[i]->counts && !columns[i]->counts(each[agent].solver))
            status =
                fplt_error_set(error, FPLT_BAD_DATA,
                               "%s:%zu: %s has no effect with the solver %s; leave the field empty",
                               place->path, place->line, columns[i]->name,
                               each[agent].solver->name);
    if (!status && each[agent].solver->traits & FPLT_NOISY && !(each[agent].noise_tau > 0))
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s:%zu: the solver %s adds noise and needs its scale: give tau",
                              place->path, place->line, each[agent].solver->name);
    return status;
}

static int is_empty(const char *line)
{
    return line[strspn(line, " \t\r")] == 0 || *line == '#';
}

fplt_status fplt__job_uncoordinated(const char *path, const fplt_training *common,
                                    const fplt_dataset *dataset, uint32_t agents,
                                    fplt_training *each, fplt_error *error)
{
    const struct field *columns[MAX_COLUMNS];
    struct place place = {path, 0};
    size_t length, count = 0;
    char *text;
    fplt_status status = fplt__file_read(path, LARGEST_FILE, &text, &length, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < agents; i++)
        each[i] = *common;
    for (char *line = text, *end; !status && line < text + length; line = end + 1) {
        end = memchr(line, '\n', (size_t)(text + length - line));
        end = end ? end : text + length;
        *end = 0;
        place.line++;
        if (strlen(line) != (size_t)(end - line))
            status = fplt_error_set(error, FPLT_BAD_DATA, "%s:%zu: the line holds a NUL byte", path,
                                    place.line);
        else if (!is_empty(line))
            status = count ? read_row(line, columns, count, &place, dataset, agents, each, error)
                           : read_header(line, &place, columns, &count, error);
    }
    fplt__free(text);
    if (!status && !count)
        status = fplt_error_set(error, FPLT_BAD_DATA,
                                "%s: the file is empty; its first line names "
                                "the columns: agent,solver,gamma,epochs",
                                path);
    return status;
}
