/* The rows of a data set as text: portions of them are made by several threads and written in their order. */
#include "data/rows_write.h"

#include "base/machine.h"
#include "base/memory.h"
#include "base/workers.h"

/* Numbers that a portion has, about. */
enum { PORTION = 1 << 15 };

struct portion {
    size_t first, end; /* rows */
    fplt__buffer text;
};

struct writing {
    const fplt_dataset *dataset;
    fplt__row_put put;
    const void *context;
    fplt__text_write write;
    void *to;
    size_t next, rows;       /* row that is taken next; rows of a portion */
    struct portion *portion; /* owned: one a slot */
};

static fplt_status take(void *context, unsigned slot, unsigned worker, int *more, fplt_error *error)
{
    struct writing *writing = context;
    struct portion *portion = &writing->portion[slot];
    size_t left = writing->dataset->rows - writing->next;
    (void)worker;
    (void)error;
    *more = left > 0;
    portion->first = writing->next;
    portion->end = writing->next += left < writing->rows ? left : writing->rows;
    return FPLT_OK;
}

static fplt_status do_nothing(void *context, unsigned slot, fplt_error *error)
{
    (void)context;
    (void)slot;
    (void)error;
    return FPLT_OK;
}

/* The agent of a row. */
static uint32_t agent_of(const fplt_dataset *dataset, size_t row)
{
    uint32_t low = 0, high = dataset->agents;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(dataset->first[middle] <= row ? &low : &high) = middle;
    }
    return low;
}

static fplt_status work(void *context, unsigned slot, fplt_error *error)
{
    const struct writing *writing = context;
    const fplt_dataset *dataset = writing->dataset;
    struct portion *portion = &writing->portion[slot];
    uint32_t agent = agent_of(dataset, portion->first);
    portion->text.length = 0;
    for (size_t r = portion->first; r < portion->end; r++) {
        while (r >= dataset->first[agent + 1])
            agent++;
        writing->put(writing->context, dataset, agent, r, &portion->text);
    }
    return portion->text.status
               ? fplt_error_set(error, portion->text.status, "no memory for the text of rows")
               : FPLT_OK;
}

static fplt_status join(void *context, unsigned slot, fplt_error *error)
{
    const struct writing *writing = context;
    const fplt__buffer *text = &writing->portion[slot].text;
    return writing->write(writing->to, text->text, text->length, error);
}

fplt_status fplt__rows_write(const fplt_dataset *dataset, size_t first, fplt__row_put put,
                             const void *context, fplt__text_write write, void *to,
                             fplt_error *error)
{
    unsigned threads = fplt__cores(0), slots;
    threads = threads < FPLT__MAX_SLOTS / 2 ? threads : FPLT__MAX_SLOTS / 2;
    slots = 2 * threads;
    struct writing writing = {.dataset = dataset,
                              .put = put,
                              .context = context,
                              .write = write,
                              .to = to,
                              .next = first,
                              .rows = PORTION / (dataset->features + 1) + 1};
    fplt_status status =
        fplt__alloc_into(&writing.portion, slots, sizeof *writing.portion, "text of rows", error);
    const fplt__pipeline line = {&writing, take, do_nothing, do_nothing, work, join};
    if (!status)
        status = fplt__pipeline_run(&line, threads, slots, error);
    for (unsigned i = 0; writing.portion && i < slots; i++)
        fplt__buffer_clear(&writing.portion[i].text);
    fplt__free(writing.portion);
    return status;
}

static fplt_status write_file(void *to, const char *text, size_t length, fplt_error *error)
{
    return fplt__file_write(to, text, length, error);
}

fplt_status fplt__rows_save(const fplt_dataset *dataset, fplt__row_put put, fplt__file *file,
                            fplt_error *error)
{
    return fplt__rows_write(dataset, 0, put, NULL, write_file, file, error);
}
