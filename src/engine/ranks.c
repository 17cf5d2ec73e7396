/* Agreement among processes. */
#include "engine/ranks.h"

#include <string.h>

#include "base/machine.h"
#include "data/dataset.h"

void fplt__ranks_block(const fplt_ranks *ranks, uint32_t agents, unsigned number, uint32_t *first,
                       uint32_t *end)
{
    fplt__portion part = fplt__portion_make(agents, number, ranks ? ranks->count : 1);
    *first = part.first;
    *end = part.end;
}

int fplt__ranks_leads(const fplt_ranks *ranks)
{
    return !ranks || ranks->number == 0;
}

unsigned fplt__ranks_threads(const fplt_ranks *ranks, unsigned asked)
{
    unsigned neighbours = ranks && ranks->neighbours ? ranks->neighbours : 1;
    unsigned share = fplt__cores(0) / neighbours;
    return asked ? asked : share ? share : 1;
}

/* Every process reports its status to the leader; the first that failed sends its error message. */
fplt_status fplt__ranks_first(const fplt_ranks *ranks, fplt_status status, fplt_error *error)
{
    if (!ranks || ranks->count == 1)
        return status;
    fplt_error first = {FPLT_OK, ""};
    uint64_t word = status ? ranks->number : ranks->count;
    if (ranks->number)
        ranks->send(ranks->context, 0, &word, sizeof word);
    for (unsigned from = 1; !ranks->number && from < ranks->count; from++) {
        uint64_t other;
        ranks->receive(ranks->context, from, &other, sizeof other);
        word = other < word ? other : word;
    }
    ranks->share(ranks->context, &word, sizeof word);
    if (word == ranks->count)
        return FPLT_OK;
    if (word == ranks->number) {
        if (error)
            first = *error;
        first.status = status;
        if (word)
            ranks->send(ranks->context, 0, &first, sizeof first);
    } else if (!ranks->number) {
        ranks->receive(ranks->context, (unsigned)word, &first, sizeof first);
    }
    ranks->share(ranks->context, &first, sizeof first);
    if (error)
        *error = first;
    return first.status;
}

fplt_status fplt_ranks_agree(fplt_ranks *ranks, fplt_status status, fplt_error *error)
{
    if (!ranks || ranks->ended)
        return status;
    status = fplt__ranks_first(ranks, status, error);
    ranks->ended = status != FPLT_OK;
    return status;
}

/* Item number first[r] .. first[r + 1] - 1 is process r's. */
static void gather(const fplt_ranks *ranks, uint32_t count, char *items, size_t size)
{
    uint32_t first, end;
    if (!ranks || ranks->count == 1)
        return;
    for (unsigned from = 1; from < ranks->count; from++) {
        fplt__ranks_block(ranks, count, from, &first, &end);
        char *block = items + first * size;
        size_t bytes = (end - first) * size;
        if (!ranks->number)
            ranks->receive(ranks->context, from, block, bytes);
        else if (ranks->number == from)
            ranks->send(ranks->context, 0, block, bytes);
    }
    ranks->share(ranks->context, items, count * size);
}

void fplt__ranks_gather(const fplt_ranks *ranks, uint32_t agents, void *items, size_t size)
{
    gather(ranks, agents, items, size);
}

void fplt__ranks_gather_each(const fplt_ranks *ranks, void *items, size_t size)
{
    gather(ranks, ranks ? ranks->count : 1, items, size);
}
