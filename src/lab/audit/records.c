/* How far one record moves the gradient of f_i. The share of record r in it is taken from the cost that
 * is trained on, by asking for a minibatch of r alone; that all shares together are the gradient is
 * checked. A record is tried where its own loss rises: there its gradient is longest, for the losses
 * are convex in the margin. Replacing it moves the gradient by its share and that of another, so a
 * share may be half of what is charged. */
#include "lab/audit/audit.h"

#include <math.h>
#include <stdio.h>

#include "algorithm/algorithm.h"
#include "base/memory.h"
#include "objective/objective_access.h"

/* Where the search begins: not at zero, where the gradient of some losses vanishes. */
static const double begin_at = 0.01;
/* How far it goes, in margins and in all, and the rounding that is no finding. */
static const double margins[] = {1, 40}, farthest = 1e4, rounding = 1e-9;
enum { POINTS = sizeof margins / sizeof *margins, MAX_SUMS = 1 << 18 };

struct search {
    struct fplt__audit *audit;
    const fplt_objective *cost;
    uint32_t agent;
    double *point, *share, *plain, *sum; /* of the room */
    double *scratch;
    double worst; /* share over half of the charge */
    uint32_t worst_agent, worst_record;
    uint64_t tries;
    int odd; /* shares do not add up */
    uint32_t odd_agent;
};

static double norm(const double *x, size_t count)
{
    return sqrt(fplt__inner(x, x, count));
}

/* The gradient of the record's loss at the point, as it counts in f_i times q_i. */
static fplt_status find_share(const struct search *search, uint32_t record)
{
    size_t n = search->audit->n;
    fplt_status status = fplt__objective_batch_gradient(search->cost, search->agent, search->point,
                                                        &record, 1, search->share, search->scratch);
    if (!status)
        status = fplt__objective_batch_gradient(search->cost, search->agent, search->point, NULL, 0,
                                                search->plain, search->scratch);
    for (size_t j = 0; !status && j < n; j++)
        search->share[j] -= search->plain[j];
    return status;
}

static void set_begin(const struct search *search)
{
    for (size_t j = 0; j < search->audit->n; j++)
        search->point[j] = begin_at;
}

/* From the beginning up the record's own loss. */
static fplt_status set_point(const struct search *search, uint32_t record, double margin)
{
    size_t n = search->audit->n;
    set_begin(search);
    fplt_status status = find_share(search, record);
    double length = norm(search->share, n);
    double way = length > 0 ? fmin(margin / length, farthest) / length : 0;
    for (size_t j = 0; !status && j < n; j++)
        search->point[j] += way * search->share[j];
    return status;
}

static fplt_status try_record(struct search *search, uint32_t record, double margin)
{
    const struct fplt__audit *audit = search->audit;
    double records = (double)fplt_objective_records(search->cost, search->agent);
    fplt_status status = set_point(search, record, margin);
    if (status || (status = find_share(search, record)))
        return status;
    double ratio =
        norm(search->share, audit->n) / records / (audit->claimed[search->agent].charge / 2);
    search->tries++;
    if (ratio > search->worst) {
        search->worst = ratio;
        search->worst_agent = search->agent;
        search->worst_record = record;
    }
    return FPLT_OK;
}

/* Whether the shares of all records and the rest are the gradient at the point. */
static fplt_status add_up(struct search *search)
{
    const struct fplt__audit *audit = search->audit;
    size_t n = audit->n, records = fplt_objective_records(search->cost, search->agent);
    double *sum = search->sum, *gradient = search->share;
    double charge = audit->claimed[search->agent].charge;
    fplt_status status = FPLT_OK;
    for (size_t j = 0; j < n; j++)
        sum[j] = 0;
    for (uint32_t r = 0; !status && r < records; r++) {
        status = find_share(search, r);
        for (size_t j = 0; j < n; j++)
            sum[j] += search->share[j] / (double)records;
    }
    if (status || (status = fplt_objective_gradient(search->cost, search->agent, search->point,
                                                    gradient, search->scratch)))
        return status;
    double size = norm(gradient, n) + norm(search->plain, n);
    for (size_t j = 0; j < n; j++)
        if (!(fabs(gradient[j] - search->plain[j] - sum[j]) <=
              rounding * charge + 1e-4 * rounding * size)) {
            search->odd = 1;
            search->odd_agent = search->agent;
        }
    return FPLT_OK;
}

static fplt_status search_agent(struct search *search)
{
    size_t records = fplt_objective_records(search->cost, search->agent);
    size_t apart = records * records / MAX_SUMS + 1;
    fplt_status status = FPLT_OK;
    for (uint32_t r = 0; !status && r < records; r++)
        for (size_t k = 0; !status && k < POINTS; k++)
            status = try_record(search, r, margins[k]);
    for (uint32_t r = 0; !status && r < records; r += (uint32_t)apart)
        if (!(status = set_point(search, r, margins[POINTS - 1])))
            status = add_up(search);
    return status;
}

static fplt_status search_all(struct search *search)
{
    static const int which[] = {FPLT__AS_IS, FPLT__LONGEST};
    fplt_status status = FPLT_OK;
    for (size_t k = 0; !status && k < sizeof which / sizeof *which; k++) {
        search->cost = search->audit->cost[which[k]];
        for (search->agent = 0; !status && search->agent < search->audit->agents; search->agent++)
            status = search_agent(search);
    }
    return status;
}

static void judge_gradients(const struct search *search)
{
    fplt_audit_result *result = search->audit->result;
    fplt_audit_check *check = &result->check[FPLT__GRADIENTS];
    int beyond = search->worst > 1 + rounding;
    *check = (fplt_audit_check){.name = "gradient of every record",
                                .measure = "longest over half of the charge",
                                .tests = search->tries,
                                .found = search->worst,
                                .power = fmin(search->worst, 1),
                                .doubt = beyond || search->odd ? 0 : 1};
    snprintf(check->refutes, sizeof check->refutes, "a charge below %.3g of what is claimed",
             check->power);
    if (search->odd && !beyond)
        snprintf(check->where, sizeof check->where,
                 "agent %u: its records' gradients do not add up to its own", search->odd_agent);
    else
        snprintf(check->where, sizeof check->where, "agent %u, record %u", search->worst_agent,
                 search->worst_record);
    check->verdict = check->doubt == 0    ? FPLT_AUDIT_REFUTED
                     : check->power < 0.5 ? FPLT_AUDIT_BLIND
                                          : FPLT_AUDIT_NOT_REFUTED;
    result->agent = beyond ? search->worst_agent : search->audit->plan->worst;
    result->record = beyond ? search->worst_record : FPLT_AUDIT_WORST;
}

static void judge_rows(const struct fplt__audit *audit)
{
    fplt_audit_check *check = &audit->result->check[FPLT__ROWS];
    double limit = audit->plan->loss.row_norm;
    *check = (fplt_audit_check){.name = "length of every row",
                                .measure = "longest over the claimed",
                                .power = 1,
                                .doubt = 1,
                                .refutes = "any row longer than claimed"};
    for (uint32_t i = 0; i < audit->agents; i++) {
        fplt_rows rows = fplt_dataset_shard(audit->data, i);
        for (size_t r = 0; r < rows.count; r++) {
            double ratio = fplt__row_norm(&rows, r) / limit;
            check->tests++;
            if (!(ratio > check->found))
                continue;
            check->found = ratio;
            snprintf(check->where, sizeof check->where, "agent %u, record %zu", i, r);
        }
    }
    if (check->found > 1 + rounding) {
        check->verdict = FPLT_AUDIT_REFUTED;
        check->doubt = 0;
    }
}

fplt_status fplt__audit_records(struct fplt__audit *audit, fplt_error *error)
{
    size_t n = audit->n;
    double *room;
    fplt_status status = fplt__audit_make_longest(audit, error);
    if (status)
        return status;
    size_t scratch = fplt_objective_scratch(audit->cost[FPLT__AS_IS]);
    status = fplt__alloc_into(&room, 4 * n + 8 + scratch, sizeof *room, "the audit", error);
    if (status)
        return status;
    struct search search = {.audit = audit,
                            .point = room,
                            .share = room + n,
                            .plain = room + 2 * n,
                            .sum = room + 3 * n,
                            .scratch = room + (4 * n + 7) / 8 * 8};
    if ((status = search_all(&search)))
        fplt_error_set(error, status, "the gradient of agent %u failed", search.agent);
    fplt__free(room);
    if (status)
        return status;
    judge_gradients(&search);
    judge_rows(audit);
    return FPLT_OK;
}
