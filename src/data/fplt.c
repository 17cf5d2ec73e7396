/* A data set as it is in memory, to be mapped: opened at once, its pages shared by all who read it.
 *
 *     bytes 0 ..    the header, which ends with its own fingerprint
 *     then          sections, each at a multiple of 64 bytes: arrays as they are in memory, and texts
 *
 * Numbers are those of the machine that wrote the file, the lowest byte first; another order is refused.
 * What shapes the data set is checked when a file is opened (its length, who has which rows, the
 * places of the entries, labels and weights), and so are the numbers of the rows, unless the caller says
 * that it looks at them itself. */
#include <math.h>

#include "base/digest.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/builder.h"
#include "data/dataset_access.h"
#include "data/fplt_settings.h"
#include "data/neutral.h"
#include "data/schema.h"
#include "data/schema_access.h"

_Static_assert(sizeof(size_t) == 8 && sizeof(double) == 8, "arrays are mapped as they are");

enum { VERSION = 1, ALIGNED = 64 };

static const uint32_t byte_order = 0x01020304;

/* New ones come at the end; a section of length 0 is not there. */
enum section {
    FIRST,
    DENSE,
    START,
    COLUMN,
    VALUE,
    LABEL,
    WEIGHT,
    OFFSET,
    PERSON,
    NUMBER,
    GROUP,
    LEFT_OUT,
    FEATURE_NAMES,
    AGENT_NAMES,
    CLASS_NAMES,
    IDS,
    SCHEMA,
    SECTIONS
};

struct header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t size; /* of the file */
    uint64_t rows, features, agents;
    uint64_t entries; /* UINT64_MAX: dense */
    uint32_t task, outputs;
    uint64_t left_out;
    struct {
        uint64_t at, size;
    } section[SECTIONS];
    char digest[64]; /* of all before it */
};

_Static_assert(sizeof(struct header) == 72 + 16 * SECTIONS + 64, "no gaps");

static void seal(const struct header *header, char digest[64])
{
    char text[FPLT__FINGERPRINT];
    fplt__fingerprint(header, offsetof(struct header, digest), text);
    memcpy(digest, text, 64);
}

static int is_names(int section)
{
    return section >= FEATURE_NAMES && section <= IDS;
}

/* ---- writing ---- */

static const fplt__names *names_of(const fplt_dataset *dataset, int section)
{
    return section == FEATURE_NAMES ? &dataset->feature_names
           : section == AGENT_NAMES ? &dataset->agent_names
           : section == CLASS_NAMES ? &dataset->class_names
                                    : &dataset->ids;
}

static size_t names_size(const fplt__names *names)
{
    size_t size = 0;
    for (size_t i = 0; i < names->count; i++)
        size += strlen(names->item[i]) + 1;
    return size;
}

/* What a section has, and how long it is; texts have no bytes here. */
static const void *contents(const fplt_dataset *dataset, int section, size_t *size)
{
    fplt_rows all = fplt_dataset_all(dataset);
    size_t from = all.start ? all.start[0] : 0,
           entries = all.start ? all.start[all.count] - from : 0;
    const struct {
        const void *bytes;
        size_t count, size;
    } arrays[] = {
        [FIRST] = {dataset->first, (size_t)dataset->agents + 1, 8},
        [DENSE] = {all.dense, all.count * all.features, 8},
        [START] = {all.start, all.count + 1, 8},
        [COLUMN] = {all.start ? all.column + from : NULL, entries, 4},
        [VALUE] = {all.start ? all.value + from : NULL, entries, 8},
        [LABEL] = {all.label, all.count, 8},
        [WEIGHT] = {all.weight, all.count, 8},
        [OFFSET] = {all.offset, all.count, 8},
        [PERSON] = {dataset->person, all.count, 8},
        [NUMBER] = {dataset->number, all.count, 8},
        [GROUP] = {dataset->group, all.features, 4},
        [LEFT_OUT] = {dataset->left_out, dataset->left_out_count, 8},
    };
    const char *schema = dataset->schema ? fplt__schema_text(dataset->schema) : NULL;
    *size = is_names(section)       ? names_size(names_of(dataset, section))
            : section == SCHEMA     ? (schema ? strlen(schema) : 0)
            : arrays[section].bytes ? arrays[section].count * arrays[section].size
                                    : 0;
    return section == SCHEMA ? schema : is_names(section) ? NULL : arrays[section].bytes;
}

static fplt_status write_names(const fplt__names *names, fplt__file *file, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t i = 0; i < names->count && !status; i++)
        status = fplt__file_write(file, names->item[i], strlen(names->item[i]) + 1, error);
    return status;
}

/* Entries of rows that were cut out of others do not begin at 0. */
static fplt_status write_starts(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    for (size_t r = 0; r <= dataset->rows && !status; r++) {
        uint64_t start = dataset->start[r] - dataset->start[0];
        status = fplt__file_write(file, &start, sizeof start, error);
    }
    return status;
}

static fplt_status check_values(const fplt_dataset *dataset, const char *name, fplt_error *error)
{
    size_t at = fplt__dataset_not_finite(dataset);
    if (at == SIZE_MAX)
        return FPLT_OK;
    return fplt__bad_data(error, name, 0, "row %zu has a number that is %s",
                          dataset->dense ? at / dataset->features + 1 : at + 1,
                          "missing or not finite: fill it, or leave the row out");
}

static fplt_status write_fplt(const fplt_dataset *dataset, fplt__file *file, fplt_error *error)
{
    static const char zeros[ALIGNED];
    struct header header = {.version = VERSION,
                            .byte_order = byte_order,
                            .rows = dataset->rows,
                            .features = dataset->features,
                            .agents = dataset->agents,
                            .entries = UINT64_MAX,
                            .task = (uint32_t)dataset->task,
                            .outputs = dataset->outputs,
                            .left_out = dataset->left_out_count};
    size_t at = sizeof header, size;
    fplt_status status = check_values(dataset, "the data set", error);
    memcpy(header.magic, fplt__fplt_magic, sizeof fplt__fplt_magic);
    if (dataset->start)
        header.entries = dataset->start[dataset->rows] - dataset->start[0];
    for (int k = 0; k < SECTIONS; k++) {
        contents(dataset, k, &size);
        if (!size)
            continue;
        at = (at + ALIGNED - 1) / ALIGNED * ALIGNED;
        header.section[k].at = at;
        header.section[k].size = size;
        at += size;
    }
    header.size = at;
    seal(&header, header.digest);
    at = sizeof header;
    if (!status)
        status = fplt__file_write(file, &header, sizeof header, error);
    for (int k = 0; k < SECTIONS && !status; k++) {
        const void *bytes = contents(dataset, k, &size);
        if (!size)
            continue;
        status = fplt__file_write(file, zeros, header.section[k].at - at, error);
        if (status)
            break;
        status = is_names(k)  ? write_names(names_of(dataset, k), file, error)
                 : k == START ? write_starts(dataset, file, error)
                              : fplt__file_write(file, bytes, size, error);
        at = header.section[k].at + size;
    }
    return status;
}

/* ---- opening: the header ---- */

/* A file on its way to a data set. */
struct opening {
    const fplt__source *source;
    const struct header *header;
    const fplt_read_settings *settings;
};

static fplt_status bad(const struct opening *o, const char *what, fplt_error *error)
{
    return fplt__bad_data(error, o->source->name, 0, "%s", what);
}

static fplt_status check_header(const struct opening *o, fplt_error *error)
{
    const fplt__source *source = o->source;
    const struct header *header = o->header;
    char digest[64];
    if (!fplt__fplt_is(source->text, source->size))
        return bad(o, source->size ? "this is not an fplt file" : "the file is empty", error);
    if (source->packed)
        return bad(
            o,
            "this fplt file is packed by gzip, but it is used as it lies on the disc: unpack "
            "it first",
            error);
    if (source->size < sizeof *header)
        return bad(o, "the file ends within the header", error);
    if (header->byte_order != byte_order)
        return bad(o, "the file was written on a machine with another order of bytes", error);
    if (header->version != VERSION)
        return fplt__bad_data(error, source->name, 0, "version %u of the format, but %d is read",
                              header->version, VERSION);
    seal(header, digest);
    if (memcmp(digest, header->digest, sizeof digest) != 0)
        return bad(o, "the header is damaged", error);
    if (header->size != source->size)
        return fplt__bad_data(error, source->name, 0,
                              "%zu bytes, but the header says %llu: the file is %s", source->size,
                              (unsigned long long)header->size,
                              source->size < header->size ? "cut short" : "too long");
    return FPLT_OK;
}

/* A legal fingerprint can be made by anybody: lengths must still fit. */
static fplt_status check_lengths(const struct opening *o, fplt_error *error)
{
    const struct header *h = o->header;
    uint64_t numbers;
    int dense = h->entries == UINT64_MAX;
    if (h->agents == 0 || h->agents > UINT32_MAX || h->rows < h->agents ||
        h->rows > UINT64_MAX / 64 || h->features == 0 || h->features > UINT32_MAX ||
        h->task > FPLT_TASK_SURVIVAL || h->outputs == 0 ||
        __builtin_mul_overflow(h->rows, h->features, &numbers) || (dense && numbers > SIZE_MAX / 8))
        return bad(o, "the header says what no data set is", error);
    const uint64_t sizes[] = {
        [FIRST] = 8 * (h->agents + 1),
        [DENSE] = dense ? 8 * numbers : 0,
        [START] = dense ? 0 : 8 * (h->rows + 1),
        [COLUMN] = dense ? 0 : 4 * h->entries,
        [VALUE] = dense ? 0 : 8 * h->entries,
        [LABEL] = 8 * h->rows,
        [WEIGHT] = 8 * h->rows,
        [OFFSET] = 8 * h->rows,
        [PERSON] = 8 * h->rows,
        [NUMBER] = 8 * h->rows,
        [GROUP] = 4 * h->features,
        [LEFT_OUT] = 8 * h->left_out,
    };
    if (!dense && h->entries > o->source->size)
        return bad(o, "the header says what no data set is", error);
    for (int k = 0; k < SECTIONS; k++) {
        uint64_t at = h->section[k].at, size = h->section[k].size;
        int optional = k >= WEIGHT;
        if (at % ALIGNED || at > h->size || size > h->size - at ||
            (k <= LEFT_OUT && size != sizes[k] && !(optional && size == 0)))
            return bad(o, "a part of the file is not where the header says, or not as long", error);
    }
    return h->left_out && !h->section[LEFT_OUT].size
               ? bad(o, "the header says what no data set is", error)
               : FPLT_OK;
}

static const void *section_of(const struct opening *o, int section)
{
    return o->header->section[section].size ? o->source->text + o->header->section[section].at
                                            : NULL;
}

/* ---- opening: what is in the sections ---- */

static fplt_status check_agents(const struct opening *o, const uint64_t *first, fplt_error *error)
{
    if (first[0] != 0 || first[o->header->agents] != o->header->rows)
        return bad(o, "the agents do not have all rows", error);
    for (uint64_t i = 0; i < o->header->agents; i++)
        if (first[i] >= first[i + 1])
            return fplt__bad_data(error, o->source->name, 0, "agent %llu has no rows",
                                  (unsigned long long)i);
    return FPLT_OK;
}

/* A row has at most as many entries as there are features. */
static fplt_status check_starts(const struct opening *o, const uint64_t *start, fplt_error *error)
{
    const struct header *h = o->header;
    int wrong = start[0] != 0 || start[h->rows] != h->entries;
    for (uint64_t r = 0; r < h->rows; r++)
        wrong |= start[r] > start[r + 1] || start[r + 1] - start[r] > h->features;
    return wrong ? bad(o, "rows do not begin where the one before ends", error) : FPLT_OK;
}

static fplt_status check_entries(const struct opening *o, const uint64_t *start,
                                 const uint32_t *column, fplt_error *error)
{
    const struct header *h = o->header;
    int wrong = 0;
    for (uint64_t r = 0; r < h->rows; r++) {
        for (uint64_t k = start[r] + 1; k < start[r + 1]; k++)
            wrong |= column[k] <= column[k - 1];
        wrong |= start[r] < start[r + 1] && column[start[r + 1] - 1] >= h->features;
        if (wrong)
            return fplt__bad_data(error, o->source->name, 0,
                                  "row %llu: columns do not increase, or are too many",
                                  (unsigned long long)r + 1);
    }
    return FPLT_OK;
}

/* Whole numbers of persons below the number of rows, places below 2^53. */
static fplt_status check_whole(const struct opening *o, int section, double most, const char *what,
                               fplt_error *error)
{
    const double *value = section_of(o, section);
    int wrong = 0;
    for (uint64_t r = 0; value && r < o->header->rows; r++)
        wrong |= !(value[r] >= 0 && value[r] < most && value[r] == trunc(value[r]));
    return wrong ? bad(o, what, error) : FPLT_OK;
}

/* Texts one after the other, a NUL behind each: `count` of them, or none at all. */
static fplt_status take_names(const struct opening *o, int section, size_t count,
                              fplt__names *names, fplt_error *error)
{
    const char *text = section_of(o, section);
    size_t size = o->header->section[section].size, found = 0;
    fplt__span *spans;
    if (!text)
        return FPLT_OK;
    if (size < count || text[size - 1] != 0)
        return bad(o, "names are missing", error);
    fplt_status status = fplt__alloc_into(&spans, count, sizeof *spans, "names", error);
    for (size_t at = 0; at < size && !status; found++) {
        fplt__source name = {.name = o->source->name, .text = text + at, .view = {.handle = -1}};
        name.size = strlen(name.text);
        if (found < count)
            spans[found] = (fplt__span){name.text, name.size};
        status = fplt__text_check(&name, error);
        at += name.size + 1;
    }
    if (!status && found != count)
        status = bad(o, "there are not as many names as there should be", error);
    if (!status)
        status = fplt__names_make(spans, count, names, error);
    fplt__free(spans);
    return status;
}

static fplt_status take_schema(const struct opening *o, fplt_dataset *made, fplt_error *error)
{
    const char *text = section_of(o, SCHEMA);
    const fplt_schema *wanted = o->settings->schema;
    fplt_schema *schema = NULL;
    fplt_error said;
    fplt_status status = FPLT_OK;
    if (text)
        status = fplt__schema_parse(text, o->header->section[SCHEMA].size, o->source->name, &schema,
                                    &said);
    if (status)
        return fplt_error_set(error, status == FPLT_NO_MEMORY ? status : FPLT_BAD_DATA,
                              "the schema in it is damaged: %.900s", said.text);
    made->schema = schema;
    if (!wanted)
        return FPLT_OK;
    if (!schema)
        return bad(o, "the file was made without a schema: make it again with this one", error);
    if (strcmp(fplt__schema_digest(schema), fplt__schema_digest(wanted)) != 0)
        return bad(o, "the file was made by another schema than the one that is given", error);
    return FPLT_OK;
}

/* ---- the whole ---- */

/* The file behind a data set. */
struct held {
    fplt__source source;
    char *name; /* owned */
};

static void release_held(void *context)
{
    struct held *held = context;
    fplt__source_release(&held->source);
    fplt__free(held->name);
    fplt__free(held);
}

/* The casts only fit the type: what is lent is never written to. */
static void lend_sections(const struct opening *o, fplt_dataset *made)
{
    made->dense = (double *)(uintptr_t)section_of(o, DENSE);
    made->start = (size_t *)(uintptr_t)section_of(o, START);
    made->column = (uint32_t *)(uintptr_t)section_of(o, COLUMN);
    made->value = (double *)(uintptr_t)section_of(o, VALUE);
    made->label = (double *)(uintptr_t)section_of(o, LABEL);
    made->weight = (double *)(uintptr_t)section_of(o, WEIGHT);
    made->offset = (double *)(uintptr_t)section_of(o, OFFSET);
    made->person = (double *)(uintptr_t)section_of(o, PERSON);
    made->number = (double *)(uintptr_t)section_of(o, NUMBER);
    made->group = (uint32_t *)(uintptr_t)section_of(o, GROUP);
    made->left_out = (size_t *)(uintptr_t)section_of(o, LEFT_OUT);
    made->left_out_count = o->header->left_out;
    made->outputs = o->header->outputs;
    made->lent_values = made->lent_rest = made->lent_beside = 1;
}

static fplt_status check_contents(const struct opening *o, fplt_dataset *made, fplt_error *error)
{
    fplt_status status = FPLT_OK;
    if (made->start)
        status = check_entries(o, section_of(o, START), section_of(o, COLUMN), error);
    if (!status)
        status = check_whole(o, PERSON, (double)made->rows, "a person's number is none", error);
    if (!status)
        status = check_whole(o, NUMBER, 0x1p53, "the place of a row is none", error);
    if (!status)
        status = fplt__dataset_check(made, o->source->name, error);
    if (!status && !o->settings->unchecked)
        status = check_values(made, o->source->name, error);
    return status;
}

/* Who has which rows, and how long they are. */
static fplt_status check_shape(const struct opening *o, fplt_error *error)
{
    fplt_status status = check_agents(o, section_of(o, FIRST), error);
    if (!status && section_of(o, START))
        status = check_starts(o, section_of(o, START), error);
    return status;
}

static void log_neutral(const fplt__source *source, const fplt__neutral_counts *counts)
{
    fplt__log(
        FPLT_LOG_INFO,
        "%.300s: %zu numbers were replaced or clipped as the schema says, and %zu rows became "
        "the neutral row",
        source->name, counts->cells, counts->rows);
}

/* With privacy: numbers that the schema does not allow are changed in a copy of the file in memory. */
static fplt_status accept_all(struct opening *o, fplt__source *source, fplt_dataset *made,
                              fplt_error *error)
{
    const fplt_schema *schema = o->settings->schema;
    if (!fplt__schema_is_lenient(schema) || schema->features != made->features)
        return FPLT_OK;
    fplt__neutral_counts counts = fplt__neutral_rows(made, schema, 0);
    if (!counts.cells && !counts.rows)
        return FPLT_OK;
    char *copy;
    size_t size = source->size;
    fplt_status status = fplt__alloc_into(&copy, size + 1, 1, "a file", error);
    if (status)
        return status;
    memcpy(copy, source->text, size);
    fplt__source_release(source);
    source->text = source->owned = copy;
    o->header = (const struct header *)(const void *)copy;
    lend_sections(o, made);
    fplt__neutral_rows(made, schema, 1);
    if (!o->settings->silent)
        log_neutral(source, &counts);
    return FPLT_OK;
}

static fplt_status fill(const struct opening *o, fplt_dataset *made, fplt_error *error)
{
    const struct header *h = o->header;
    fplt_status status = check_contents(o, made, error);
    if (status)
        return status;
    memcpy(made->first, section_of(o, FIRST), (made->agents + (size_t)1) * sizeof *made->first);
    int with_ids = fplt__fplt_keeps_ids(o->settings);
    uint32_t classes = fplt__task_classifies(made->task) ? h->outputs : 0;
    if ((status = take_names(o, FEATURE_NAMES, made->features, &made->feature_names, error)) ||
        (status = take_names(o, AGENT_NAMES, made->agents, &made->agent_names, error)) ||
        (status = take_names(o, CLASS_NAMES, classes, &made->class_names, error)) ||
        (with_ids && (status = take_names(o, IDS, made->rows, &made->ids, error))) ||
        (status = take_schema(o, made, error)))
        return status;
    return fplt__fplt_apply_settings(o->source, o->settings, made, error);
}

static fplt_status hold(fplt__source *source, struct held **held, fplt_error *error)
{
    fplt_status status = fplt__alloc_into(held, 1, sizeof **held, "a data set", error);
    if (status)
        return status;
    (*held)->name = fplt__strdup(source->name);
    if (!(*held)->name) {
        fplt__free(*held);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the name of a file");
    }
    (*held)->source = *source;
    (*held)->source.name = (*held)->name;
    return FPLT_OK;
}

static fplt_status open_fplt(fplt__source *source, const fplt_read_settings *settings,
                             fplt_dataset **dataset, fplt_error *error)
{
    struct opening o = {source, (const struct header *)source->text, settings};
    fplt_dataset *made = NULL;
    struct held *held = NULL;
    *dataset = NULL;
    fplt_status status = check_header(&o, error);
    if (!status)
        status = check_lengths(&o, error);
    if (!status)
        status = fplt__fplt_check_settings(source, settings, (fplt_task)o.header->task, error);
    if (!status)
        status = fplt__dataset_create_empty(o.header->rows, o.header->features,
                                            (uint32_t)o.header->agents, (fplt_task)o.header->task,
                                            &made, error);
    if (status)
        return status;
    lend_sections(&o, made);
    if (!(status = check_shape(&o, error)))
        status = accept_all(&o, source, made, error);
    if (!status)
        status = fill(&o, made, error);
    if (!status)
        status = hold(source, &held, error);
    if (status) {
        fplt_dataset_destroy(made);
        return status;
    }
    *source = FPLT__NO_SOURCE;
    made->release = release_held;
    made->release_context = held;
    made->view = &held->source.view;
    made->path = held->name;
    *dataset = made;
    return FPLT_OK;
}

const fplt__format fplt__format_fplt = {
    "fplt",     "this program's own: everything a data set has, mapped into memory",
    ".fplt",    0,
    NULL,       NULL,
    write_fplt, open_fplt,
};
