#include "lab/audit/residues.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lab/audit/tally.h"
#include "privacy/binomial.h"
#include "base/normal.h"

enum { BITS = 20, LOW = 1 << BITS, ODD = 3 * 5 * 7 * 11 * 13 };
enum { MIN_EXPECTED = 400 }; /* draws of a residue, below which its modulus is left out */

static const size_t moduli[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 3, 5, 7, 11, 13};
enum { MODULI = sizeof moduli / sizeof *moduli };

fplt_status fplt__residues_create(fplt__residues *residues, fplt_error *error)
{
    static const char what[] = "the audit";
    *residues = (fplt__residues){NULL, NULL, 0};
    fplt_status status = fplt__alloc_into(&residues->low, LOW, sizeof *residues->low, what, error);
    return status ? status
                  : fplt__alloc_into(&residues->odd, ODD, sizeof *residues->odd, what, error);
}

void fplt__residues_clear(fplt__residues *residues)
{
    fplt__free(residues->low);
    fplt__free(residues->odd);
}

void fplt__residues_add(fplt__residues *residues, int64_t draw)
{
    uint32_t *low = &residues->low[(uint64_t)draw & (LOW - 1)];
    int64_t rest = draw % ODD;
    *low += *low < UINT32_MAX;
    residues->odd[rest < 0 ? rest + ODD : rest]++;
    residues->draws++;
}

void fplt__residues_merge(fplt__residues *residues, const fplt__residues *other)
{
    for (size_t i = 0; i < LOW; i++) {
        uint64_t sum = (uint64_t)residues->low[i] + other->low[i];
        residues->low[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
    for (size_t i = 0; i < ODD; i++)
        residues->odd[i] += other->odd[i];
    residues->draws += other->draws;
}

/* The probability, both tails together, that so many of `total` are hit or farther off their share p. */
static double doubt_of(double hits, double total, double p)
{
    double missed = total - hits;
    double high = hits > 0 ? fplt__beta_ratio(hits, missed + 1, p) : 1;
    double low = missed > 0 ? fplt__beta_ratio(missed, hits + 1, 1 - p) : 1;
    return fmin(1, 2 * fmin(low, high));
}

static double limit_of(double level)
{
    return FPLT__SURELY - fplt__normal_quantile(level / 2);
}

static void conclude(double level, fplt_audit_check *check)
{
    if (check->power > 0.5)
        check->verdict = FPLT_AUDIT_BLIND;
    if (check->doubt < level)
        check->verdict = FPLT_AUDIT_REFUTED;
}

/* ---- parities of the low bits ---- */

/* Walsh and Hadamard's transform in place: x[mask] becomes the draws whose parity under the mask is even, less those whose
 * parity is odd. */
static void transform(int64_t *x)
{
    for (size_t half = 1; half < LOW; half *= 2)
        for (size_t block = 0; block < LOW; block += 2 * half)
            for (size_t i = block; i < block + half; i++) {
                int64_t a = x[i], b = x[i + half];
                x[i] = a + b;
                x[i + half] = a - b;
            }
}

static void name_bits(size_t mask, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "bits");
    for (size_t bit = 0; bit < BITS && used < room; bit++)
        if (mask >> bit & 1)
            used += (size_t)snprintf(text + used, room - used, " %zu", bit);
}

static void judge_parities(const fplt__residues *residues, double level, fplt_audit_check *check)
{
    int64_t *x = NULL;
    double total = (double)residues->draws;
    size_t worst = 1;
    *check = (fplt_audit_check){.name = "low bits of the noise", .measure = "bias of a parity"};
    if (fplt__alloc_into(&x, LOW, sizeof *x, "the audit", NULL) || !residues->draws) {
        check->verdict = FPLT_AUDIT_LEFT_OUT;
        check->doubt = 1;
        snprintf(check->refutes, sizeof check->refutes, "nothing: %s",
                 x ? "no noise was drawn" : "there is no memory for it");
        fplt__free(x);
        return;
    }
    for (size_t i = 0; i < LOW; i++)
        x[i] = residues->low[i];
    transform(x);
    for (size_t mask = 1; mask < LOW; mask++)
        if (llabs(x[mask]) > llabs(x[worst]))
            worst = mask;
    check->tests = LOW - 1;
    check->found = (double)x[worst] / total;
    check->doubt = fmin(1, (LOW - 1) * doubt_of((total + (double)x[worst]) / 2, total, 0.5));
    check->power = limit_of(level / (LOW - 1)) / sqrt(total);
    snprintf(check->refutes, sizeof check->refutes, "parities of the low bits off by %.2g",
             check->power);
    name_bits(worst, check->where, sizeof check->where);
    conclude(level, check);
    fplt__free(x);
}

/* ---- residues ---- */

static void count_residues(const fplt__residues *residues, size_t modulus, uint64_t *count)
{
    int even = modulus % 2 == 0;
    for (size_t i = 0; i < modulus; i++)
        count[i] = 0;
    for (size_t i = 0; i < (even ? LOW : ODD); i++)
        count[i % modulus] += even ? residues->low[i] : residues->odd[i];
}

static int is_tested(const fplt__residues *residues, size_t modulus)
{
    return residues->draws >= MIN_EXPECTED * (uint64_t)modulus;
}

static void judge_residues(const fplt__residues *residues, double level, fplt_audit_check *check)
{
    double total = (double)residues->draws, least = 2, largest = 0;
    *check = (fplt_audit_check){
        .name = "residues of the noise", .measure = "share over the claimed", .found = 1};
    for (size_t k = 0; k < MODULI; k++) {
        uint64_t count[1024];
        double p = 1 / (double)moduli[k];
        if (!is_tested(residues, moduli[k]))
            continue;
        largest = fmax(largest, (double)moduli[k]);
        check->tests += moduli[k];
        count_residues(residues, moduli[k], count);
        for (size_t i = 0; i < moduli[k]; i++) {
            double share = (double)count[i] / (total * p),
                   doubt = doubt_of((double)count[i], total, p);
            if (doubt > least || (doubt == least && fabs(share - 1) <= fabs(check->found - 1)))
                continue;
            least = doubt;
            check->found = share;
            snprintf(check->where, sizeof check->where, "%zu modulo %zu", i, moduli[k]);
        }
    }
    check->doubt = fmin(1, least * (double)check->tests);
    if (!check->tests) {
        check->verdict = FPLT_AUDIT_LEFT_OUT;
        check->doubt = 1;
        snprintf(check->refutes, sizeof check->refutes, "nothing: too little noise was drawn");
        return;
    }
    check->power = limit_of(level / (double)check->tests) * sqrt((largest - 1) / total);
    snprintf(check->refutes, sizeof check->refutes, "shares of residues off by %.2g of theirs",
             check->power);
    conclude(level, check);
}

void fplt__residues_judge(const fplt__residues *residues, double level,
                          fplt_audit_check check[FPLT__RESIDUE_CHECKS])
{
    judge_parities(residues, level, &check[0]);
    judge_residues(residues, level, &check[1]);
}
