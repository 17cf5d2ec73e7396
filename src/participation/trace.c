/* Reader of participation traces. */
#include "participation/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct reader {
    const char *path;
    uint32_t agents;
    size_t line;  /* 1-based, of the file */
    size_t *last; /* owned: line in which each agent was last seen */
    size_t members, member_capacity, start_capacity;
    fplt__trace *trace;
    fplt_error *error;
};

static fplt_status read_file(const char *path, char **text, size_t *size, fplt_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return fplt_error_set(error, FPLT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    size_t capacity = 0, used = 0, got;
    fplt_status status;
    do {
        status = fplt__grow(text, &capacity, used + 65536, 1, "a participation trace", error);
        got = status ? 0 : fread(*text + used, 1, capacity - used, file);
        used += got;
    } while (got);
    if (!status && ferror(file))
        status = fplt_error_set(error, FPLT_IO, "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    *size = used;
    return status;
}

static fplt_status add_member(struct reader *reader, uint32_t agent)
{
    fplt__trace *trace = reader->trace;
    if (reader->last[agent] == reader->line)
        return fplt_error_set(reader->error, FPLT_BAD_DATA,
                              "%s:%zu: agent %u is listed twice, but a round lists an agent once",
                              reader->path, reader->line, agent);
    reader->last[agent] = reader->line;
    trace->turns[agent]++;
    fplt_status status = fplt__grow(&trace->member, &reader->member_capacity, reader->members + 1,
                                    sizeof *trace->member, "a participation trace", reader->error);
    if (!status)
        trace->member[reader->members++] = agent;
    return status;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

static fplt_status parse_agent(struct reader *reader, const char *word, size_t length)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] < '0' || word[i] > '9')
            return fplt_error_set(
                reader->error, FPLT_BAD_DATA,
                "%s:%zu: '%.*s' is not a number, but a line lists agents as whole "
                "numbers from 0 to %u",
                reader->path, reader->line, length < 40 ? (int)length : 40, word,
                reader->agents - 1);
        if (number <= UINT32_MAX)
            number = 10 * number + (uint64_t)(word[i] - '0');
    }
    if (number >= reader->agents)
        return fplt_error_set(
            reader->error, FPLT_BAD_DATA,
            "%s:%zu: agent %.*s is out of range, agents are numbered from 0 to %u", reader->path,
            reader->line, length < 40 ? (int)length : 40, word, reader->agents - 1);
    return add_member(reader, (uint32_t)number);
}

static int compare_agents(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static fplt_status end_round(struct reader *reader)
{
    fplt__trace *trace = reader->trace;
    size_t first = trace->start[trace->rounds];
    if (reader->members > first)
        qsort(trace->member + first, reader->members - first, sizeof *trace->member,
              compare_agents);
    fplt_status status = fplt__grow(&trace->start, &reader->start_capacity, trace->rounds + 2,
                                    sizeof *trace->start, "a participation trace", reader->error);
    if (!status)
        trace->start[++trace->rounds] = reader->members;
    return status;
}

/* A line that holds nothing but a comment is not a round. */
static fplt_status parse_line(struct reader *reader, const char *text, size_t length)
{
    const char *comment = memchr(text, '#', length), *end = comment ? comment : text + length;
    int only_comment = comment != NULL;
    for (const char *c = text; c < end;) {
        if (is_blank(*c)) {
            c++;
            continue;
        }
        const char *word = c;
        while (c < end && !is_blank(*c))
            c++;
        fplt_status status = parse_agent(reader, word, (size_t)(c - word));
        if (status)
            return status;
        only_comment = 0;
    }
    return only_comment ? FPLT_OK : end_round(reader);
}

static fplt_status parse_text(struct reader *reader, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - (text + at)) : size - at;
        reader->line++;
        fplt_status status = parse_line(reader, text + at, length);
        if (status)
            return status;
        at += length + 1;
    }
    if (reader->trace->rounds == 0)
        return fplt_error_set(reader->error, FPLT_BAD_DATA,
                              "%s: has no round, but a trace must have at least one", reader->path);
    return FPLT_OK;
}

fplt_status fplt__trace_read(const char *path, uint32_t agents, fplt__trace *trace,
                             fplt_error *error)
{
    struct reader reader = {.path = path, .agents = agents, .trace = trace, .error = error};
    char *text = NULL;
    size_t size = 0;
    fplt_status status = read_file(path, &text, &size, error);
    if (!status)
        status = fplt__alloc_into(&reader.last, agents, sizeof *reader.last, "a trace", error);
    if (!status)
        status = fplt__alloc_into(&trace->turns, agents, sizeof *trace->turns, "a trace", error);
    if (!status)
        status = fplt__grow(&trace->start, &reader.start_capacity, 1, sizeof *trace->start,
                            "a trace", error);
    if (!status)
        status = parse_text(&reader, text, size);
    fplt__free(reader.last);
    fplt__free(text);
    return status;
}

void fplt__trace_release(fplt__trace *trace)
{
    fplt__free(trace->member);
    fplt__free(trace->start);
    fplt__free(trace->turns);
}
