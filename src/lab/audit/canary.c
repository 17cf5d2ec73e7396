/* The canary: whose record is replaced, and by what. */
#include "data/dataset_access.h"
#include "lab/audit/audit.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/schema.h"

/* Values of a row: first and length. */
struct span {
    size_t first, length;
};

static struct span span_of(const fplt_rows *rows, size_t row)
{
    if (rows->dense)
        return (struct span){row * rows->features, rows->features};
    return (struct span){rows->start[row], rows->start[row + 1] - rows->start[row]};
}

double fplt__row_norm(const fplt_rows *rows, size_t row)
{
    struct span span = span_of(rows, row);
    const double *value = (rows->dense ? rows->dense : rows->value) + span.first;
    double sum = 0;
    for (size_t k = 0; k < span.length; k++)
        sum += value[k] * value[k];
    return sqrt(sum);
}

static uint32_t longest_row(const fplt_rows *rows)
{
    uint32_t longest = 0;
    for (uint32_t i = 1; i < rows->count; i++)
        if (fplt__row_norm(rows, i) > fplt__row_norm(rows, longest))
            longest = i;
    return longest;
}

/* `result` has the record that the search proposes, or FPLT_AUDIT_WORST. */
fplt_status fplt__audit_choose(struct fplt__audit *audit, fplt_error *error)
{
    const fplt_audit_settings *settings = audit->settings;
    fplt_audit_result *result = audit->result;
    if (settings->agent != FPLT_AUDIT_WORST && settings->agent != result->agent) {
        result->agent = settings->agent;
        result->record = FPLT_AUDIT_WORST;
    }
    if (result->agent >= audit->agents)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "there is no agent %u; agents are numbered from 0 to %u",
                              result->agent, audit->agents - 1);
    fplt_rows rows = fplt_dataset_shard(audit->data, result->agent);
    if (settings->record != FPLT_AUDIT_WORST)
        result->record = settings->record;
    else if (result->record == FPLT_AUDIT_WORST)
        result->record = longest_row(&rows);
    if (result->record >= rows.count)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "agent %u has no record %u; its records are numbered from 0 to %zu",
                              result->agent, result->record, rows.count - 1);
    audit->victim = result->agent;
    return FPLT_OK;
}

/* The largest count that a record may have: that of the schema, or of the data. */
static double largest_count(const fplt_dataset *data)
{
    const fplt_schema *schema = fplt__dataset_schema(data);
    const fplt__declared *label = schema ? fplt__schema_column(schema, FPLT__LABEL) : NULL;
    fplt_rows rows = fplt_dataset_all(data);
    double largest = 1;
    if (label && label->bounded)
        return label->high;
    for (size_t i = 0; i < rows.count; i++)
        largest = fmax(largest, rows.label[i]);
    return largest;
}

/* The label of the canary; of counts the one at the other end. */
static double other_label(const struct fplt__audit *audit, double label)
{
    fplt_task task = fplt_dataset_task(audit->data);
    uint32_t outputs = fplt_dataset_outputs(audit->data);
    if (strcmp(audit->plan->loss.name, "poisson") == 0) {
        double largest = largest_count(audit->data);
        return label < largest / 2 ? largest : 0;
    }
    if (task == FPLT_TASK_CLASSES)
        return label + 1 < outputs ? label + 1 : 0;
    return -label;
}

/* The row's numbers in reverse with alternating signs: as long as before, and elsewhere; turned
 * away from the row where it would be near. */
static void turn_row(const double *from, double *to, size_t count)
{
    double dot = 0;
    for (size_t k = 0; k < count; k++) {
        to[k] = (k % 2 ? -1 : 1) * from[count - 1 - k];
        dot += to[k] * from[k];
    }
    for (size_t k = 0; dot > 0 && k < count; k++)
        to[k] = -to[k];
}

/* How far the gradient of the canary can be from that of the record it replaces. Logistic: the
 * gradients are -psi(m) b a with psi from 0 to 1. Another label gives psi(m) + psi(-m) = 1 times a;
 * softmax: the difference of two unit vectors times a; other rows: the corners of the square. */
static double find_gap(const fplt_promise_view *plan, double norm, double distance, int label)
{
    double one = plan->loss.intercept ? 1 : 0, gap = plan->constants.sensitivity;
    if (label && strcmp(plan->loss.name, "logistic") == 0)
        gap = fmin(gap, hypot(norm, one));
    else if (label && strcmp(plan->loss.name, "softmax") == 0 && !(plan->loss.clip > 0))
        gap = fmin(gap, sqrt(2) * hypot(norm, one));
    else if (!label && strcmp(plan->loss.name, "logistic") == 0)
        gap = fmin(gap, fmax(hypot(norm, one), distance));
    return gap;
}

/* The numbers of a data set that may be changed. */
struct copy {
    fplt_rows rows;
    double *values, *labels; /* owned */
    size_t *counts;          /* owned: rows an agent */
};

static fplt_status copy_rows(const fplt_dataset *data, struct copy *copy, fplt_error *error)
{
    static const char what[] = "the neighbour";
    fplt_rows all = fplt_dataset_all(data);
    uint32_t agents = fplt_dataset_agents(data);
    size_t count = all.dense ? all.count * all.features : all.start[all.count];
    fplt_status status;
    *copy = (struct copy){.rows = all};
    if ((status = fplt__alloc_into(&copy->values, count, sizeof *copy->values, what, error)) ||
        (status = fplt__alloc_into(&copy->labels, all.count, sizeof *copy->labels, what, error)) ||
        (status = fplt__alloc_into(&copy->counts, agents, sizeof *copy->counts, what, error)))
        return status;
    memcpy(copy->values, all.dense ? all.dense : all.value, count * sizeof *copy->values);
    memcpy(copy->labels, all.label, all.count * sizeof *copy->labels);
    for (uint32_t i = 0; i < agents; i++)
        copy->counts[i] = fplt_dataset_shard(data, i).count;
    copy->rows.label = copy->labels;
    *(all.dense ? &copy->rows.dense : &copy->rows.value) = copy->values;
    return FPLT_OK;
}

static void put_canary(struct fplt__audit *audit, struct copy *copy)
{
    int label = strcmp(audit->settings->canary, "label") == 0;
    fplt_rows all = fplt_dataset_all(audit->data);
    size_t row = audit->result->record;
    for (uint32_t i = 0; i < audit->victim; i++)
        row += copy->counts[i];
    struct span span = span_of(&all, row);
    const double *from = (all.dense ? all.dense : all.value) + span.first;
    double *to = copy->values + span.first, distance = 0;
    if (label)
        copy->labels[row] = other_label(audit, copy->labels[row]);
    else
        turn_row(from, to, span.length);
    for (size_t k = 0; k < span.length; k++)
        distance += (from[k] - to[k]) * (from[k] - to[k]);
    audit->result->gap = find_gap(audit->plan, fplt__row_norm(&all, row), sqrt(distance), label);
}

/* Every row as long as a row may be: what is not done to one record shows, however short it is here. */
static void stretch_rows(struct fplt__audit *audit, struct copy *copy)
{
    fplt_rows all = fplt_dataset_all(audit->data);
    for (size_t r = 0; r < all.count; r++) {
        double norm = fplt__row_norm(&all, r);
        struct span span = span_of(&copy->rows, r);
        for (size_t k = 0; norm > 0 && k < span.length; k++)
            copy->values[span.first + k] *= audit->plan->loss.row_norm / norm;
    }
}

static fplt_status make(struct fplt__audit *audit, int which,
                        void (*change)(struct fplt__audit *audit, struct copy *copy),
                        fplt_error *error)
{
    struct copy copy;
    fplt_status status = copy_rows(audit->data, &copy, error);
    if (!status) {
        change(audit, &copy);
        status = fplt_dataset_from_rows(&copy.rows, fplt_dataset_task(audit->data), copy.counts,
                                        audit->agents, &audit->made[which], error);
    }
    if (!status)
        status = fplt_objective_create(&audit->job->cost, audit->made[which], &audit->owned[which],
                                       error);
    if (!status)
        audit->cost[which] = audit->owned[which];
    if (!status && audit->hook && audit->hook->cost)
        audit->cost[which] =
            audit->hook->cost(audit->hook->context, audit->made[which], audit->owned[which]);
    fplt__free(copy.values);
    fplt__free(copy.labels);
    fplt__free(copy.counts);
    return status;
}

fplt_status fplt__audit_make_neighbour(struct fplt__audit *audit, fplt_error *error)
{
    return make(audit, FPLT__NEIGHBOUR, put_canary, error);
}

fplt_status fplt__audit_make_longest(struct fplt__audit *audit, fplt_error *error)
{
    return make(audit, FPLT__LONGEST, stretch_rows, error);
}
