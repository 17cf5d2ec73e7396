#include "secagg/total.h"

#include <sodium.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "secagg/mask.h"
#include "secagg/planted.h"
#include "secagg/share.h"

enum { KEY = FPLT__SECAGG_KEY, VOTE = 4 + FPLT__SECAGG_SIGNATURE, STAGES = 3, BATCH = 512 };

struct fplt__secagg_total {
    fplt__secagg_plan plan; /* identities are a copy */
    uint8_t *identities;
    int is_question;
    size_t count;
    unsigned width;
    uint8_t session[KEY];
    uint8_t *cohort, *left; /* bitmaps */
    uint32_t cohort_count, left_count;
    uint8_t *uploaded; /* bitmap */
    uint64_t *sum;
    size_t sum_room;
    /* mode quorum, by position in the cohort */
    uint32_t *position;           /* of each member; UINT32_MAX: not in the cohort */
    uint8_t *commitment, *sealed; /* 32, and (M - 1) x 64 bytes a sender */
    uint8_t *answered[STAGES];    /* bitmaps over the roster */
    uint32_t answers[STAGES];
    uint8_t *seed;      /* a member of W: 32 bytes for each member that is missing */
    uint8_t *signature; /* of the votes */
    uint8_t *share;     /* a holder: 32 bytes for each sender */
    uint8_t *good;      /* a holder: 1 for each share that may be used */
    uint32_t *goods;    /* good shares of each sender */
    fplt__mask *mask;   /* BATCH */
    uint32_t *holder, *last;
    uint8_t *weight, *scratch;
};

/* --- create --- */

static fplt_status allocate_quorum(fplt__secagg_total *total, fplt_error *error)
{
    size_t most = total->plan.most;
    const char *what = "shares of secure aggregation";
    fplt_status status;
    if ((status = fplt__alloc_into(&total->commitment, most, KEY, what, error)) ||
        (status = fplt__alloc_into(&total->sealed, most * most, FPLT__SHARE_SEALED, what, error)) ||
        (status = fplt__alloc_into(&total->seed, most * most, KEY, what, error)) ||
        (status = fplt__alloc_into(&total->signature, most, FPLT__SECAGG_SIGNATURE, what, error)) ||
        (status = fplt__alloc_into(&total->share, most * most, KEY, what, error)) ||
        (status = fplt__alloc_into(&total->good, most * most, 1, what, error)) ||
        (status = fplt__alloc_into(&total->goods, most, sizeof *total->goods, what, error)) ||
        (status = fplt__alloc_into(&total->mask, BATCH, sizeof *total->mask, what, error)) ||
        (status = fplt__alloc_into(&total->holder, most, sizeof *total->holder, what, error)) ||
        (status = fplt__alloc_into(&total->last, most, sizeof *total->last, what, error)) ||
        (status = fplt__alloc_into(&total->weight, most, KEY, what, error)))
        return status;
    return fplt__alloc_into(&total->scratch, most, KEY, what, error);
}

static fplt_status allocate(fplt__secagg_total *total, fplt_error *error)
{
    size_t members = total->plan.members, set = fplt__set_bytes(total->plan.members);
    const char *what = "secure aggregation";
    fplt_status status;
    for (int s = 0; s < STAGES; s++)
        if ((status = fplt__alloc_into(&total->answered[s], set, 1, what, error)))
            return status;
    if ((status = fplt__alloc_into(&total->identities, members, KEY, what, error)) ||
        (status = fplt__alloc_into(&total->cohort, set, 1, what, error)) ||
        (status = fplt__alloc_into(&total->left, set, 1, what, error)) ||
        (status = fplt__alloc_into(&total->uploaded, set, 1, what, error)) ||
        (status =
             fplt__alloc_into(&total->position, members, sizeof *total->position, what, error)))
        return status;
    return total->plan.threshold ? allocate_quorum(total, error) : FPLT_OK;
}

fplt_status fplt__secagg_total_create(const fplt__secagg_plan *plan, fplt__secagg_total **out,
                                      fplt_error *error)
{
    fplt__secagg_total *total;
    *out = NULL;
    if (plan->members < 2 || plan->members > FPLT__SECAGG_MEMBERS ||
        plan->threshold > plan->members || (plan->threshold && plan->most > plan->members))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "secure aggregation of %u members, but 2 to %d are legal",
                              plan->members, FPLT__SECAGG_MEMBERS);
    fplt_status status = fplt__alloc_into(&total, 1, sizeof *total, "secure aggregation", error);
    if (status)
        return status;
    total->plan = *plan;
    if ((status = allocate(total, error))) {
        fplt__secagg_total_destroy(total);
        return status;
    }
    memcpy(total->identities, plan->identity, (size_t)plan->members * KEY);
    total->plan.identity = total->identities;
    *out = total;
    return FPLT_OK;
}

void fplt__secagg_total_destroy(fplt__secagg_total *total)
{
    if (!total)
        return;
    void *const owned[] = {total->identities,  total->cohort,      total->left,
                           total->uploaded,    total->position,    total->sum,
                           total->commitment,  total->sealed,      total->seed,
                           total->signature,   total->share,       total->good,
                           total->goods,       total->mask,        total->holder,
                           total->last,        total->weight,      total->scratch,
                           total->answered[0], total->answered[1], total->answered[2]};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        fplt__free(owned[k]);
    fplt__free(total);
}

/* --- sessions --- */

static int has_shares(const fplt__secagg_total *total)
{
    return total->plan.threshold && !total->is_question;
}

fplt_status fplt__secagg_total_begin(fplt__secagg_total *total, const fplt__secagg_task *task,
                                     const uint8_t *list, int is_question, size_t count,
                                     unsigned width, fplt_error *error)
{
    uint32_t members = total->plan.members, place = 0;
    uint8_t keys[KEY];
    FPLT__ASSERT(width == 8 || width == 16);
    fplt_status status = fplt__grow(&total->sum, &total->sum_room, count * (width / 8) + 1,
                                    sizeof *total->sum, "masked sums", error);
    if (status)
        return status;
    total->is_question = is_question;
    total->count = count;
    total->width = width;
    memcpy(total->cohort, task->cohort, fplt__set_bytes(members));
    memcpy(total->left, task->cohort, fplt__set_bytes(members));
    for (uint32_t i = 0; i < members; i++)
        total->position[i] = fplt__set_has(total->cohort, i) ? place++ : UINT32_MAX;
    total->cohort_count = total->left_count = place;
    FPLT__ASSERT(!has_shares(total) || place <= total->plan.most);
    fplt__secagg_list_hash(&total->plan, list, keys);
    fplt__secagg_session(keys, members, task, total->session);
    fplt__secagg_total_forget(total);
    return FPLT_OK;
}

const uint8_t *fplt__secagg_total_session(const fplt__secagg_total *total)
{
    return total->session;
}

const uint8_t *fplt__secagg_total_left(const fplt__secagg_total *total)
{
    return total->left;
}

uint32_t fplt__secagg_total_left_count(const fplt__secagg_total *total)
{
    return total->left_count;
}

int fplt__secagg_total_is_whole(const fplt__secagg_total *total)
{
    return total->left_count == total->cohort_count;
}

/* Seeds, votes and shares are of one W. */
static void forget_answers(fplt__secagg_total *total)
{
    size_t most = total->cohort_count;
    for (int s = 0; s < STAGES; s++) {
        memset(total->answered[s], 0, fplt__set_bytes(total->plan.members));
        total->answers[s] = 0;
    }
    if (!has_shares(total))
        return;
    memset(total->good, 0, most * most);
    memset(total->goods, 0, most * sizeof *total->goods);
}

void fplt__secagg_total_forget(fplt__secagg_total *total)
{
    if (!FPLT__SECAGG_PLANTED(FPLT__KEEPS_UPLOADS))
        memset(total->sum, 0, total->count * (total->width / 8) * sizeof *total->sum);
    memset(total->uploaded, 0, fplt__set_bytes(total->plan.members));
    forget_answers(total);
}

void fplt__secagg_total_leave(fplt__secagg_total *total, const uint8_t *w)
{
    uint32_t members = total->plan.members;
    FPLT__ASSERT(fplt__set_within(w, total->left, members));
    memcpy(total->left, w, fplt__set_bytes(members));
    total->left_count = fplt__set_count(w, members);
    if (memcmp(total->uploaded, w, fplt__set_bytes(members)) == 0)
        forget_answers(total);
    else
        fplt__secagg_total_forget(total);
}

/* --- uploads --- */

static size_t front_of(const fplt__secagg_total *total)
{
    return KEY +
           (has_shares(total) ? KEY + (size_t)(total->cohort_count - 1) * FPLT__SHARE_SEALED : 0);
}

size_t fplt__secagg_total_size(const fplt__secagg_total *total)
{
    return front_of(total) + total->count * total->width;
}

static fplt_status check_session(const fplt__secagg_total *total, uint32_t i,
                                 const uint8_t *payload, size_t size, size_t wanted,
                                 fplt_error *error)
{
    if (size != wanted)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "a message of %zu bytes, but %zu are expected in this session", size,
                              wanted);
    if (i >= total->plan.members || !fplt__set_has(total->left, i))
        return fplt_error_set(error, FPLT_BAD_DATA, "this member is not in the session");
    if (memcmp(payload, total->session, KEY) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA, "a message of another session");
    return FPLT_OK;
}

fplt_status fplt__secagg_total_upload(fplt__secagg_total *total, uint32_t i, const uint8_t *payload,
                                      size_t size, fplt_error *error)
{
    fplt_status status =
        check_session(total, i, payload, size, fplt__secagg_total_size(total), error);
    if (status)
        return status;
    FPLT__ASSERT(!fplt__set_has(total->uploaded, i));
    if (has_shares(total)) {
        size_t place = total->position[i], row = (size_t)total->cohort_count - 1;
        memcpy(total->commitment + place * KEY, payload + KEY, KEY);
        memcpy(total->sealed + place * row * FPLT__SHARE_SEALED, payload + KEY + KEY,
               row * FPLT__SHARE_SEALED);
    }
    fplt__mask_add(total->sum, payload + front_of(total), total->count, total->width);
    fplt__set_add(total->uploaded, i);
    return FPLT_OK;
}

/* --- stages --- */

/* The box and tag of sender i for holder j; both are in the cohort, and not the same. */
static const uint8_t *sealed_of(const fplt__secagg_total *total, uint32_t i, uint32_t j)
{
    size_t row = (size_t)total->cohort_count - 1, from = total->position[i];
    size_t to = total->position[j] - (total->position[j] > total->position[i]);
    return total->sealed + (from * row + to) * FPLT__SHARE_SEALED;
}

/* Votes that go along with FINAL: as many as are needed, or none where W is the cohort. */
static uint32_t votes_sent(const fplt__secagg_total *total)
{
    return fplt__secagg_total_is_whole(total) ? 0 : total->plan.threshold;
}

size_t fplt__secagg_total_question_size(const fplt__secagg_total *total, fplt__secagg_stage stage)
{
    size_t front = KEY + fplt__set_bytes(total->plan.members);
    if (stage != FPLT__SECAGG_FINAL)
        return front;
    return front + 4 + (size_t)votes_sent(total) * VOTE +
           (size_t)(total->left_count - 1) * FPLT__SHARE_BOX;
}

static uint8_t *put_votes(const fplt__secagg_total *total, uint8_t *to)
{
    uint32_t left = votes_sent(total);
    fplt__put32(to, left);
    to += 4;
    for (uint32_t i = 0; i < total->plan.members && left; i++) {
        if (!fplt__set_has(total->answered[FPLT__SECAGG_PROPOSE], i))
            continue;
        fplt__put32(to, i);
        memcpy(to + 4, total->signature + (size_t)total->position[i] * FPLT__SECAGG_SIGNATURE,
               FPLT__SECAGG_SIGNATURE);
        to += VOTE;
        left--;
    }
    FPLT__ASSERT(!left);
    return to;
}

void fplt__secagg_total_question(const fplt__secagg_total *total, fplt__secagg_stage stage,
                                 uint32_t j, uint8_t *payload)
{
    size_t set = fplt__set_bytes(total->plan.members);
    memcpy(payload, total->session, KEY);
    memcpy(payload + KEY, total->left, set);
    if (stage != FPLT__SECAGG_FINAL)
        return;
    uint8_t *to = put_votes(total, payload + KEY + set);
    for (uint32_t i = 0; i < total->plan.members; i++) {
        if (i == j || !fplt__set_has(total->left, i))
            continue;
        memcpy(to, sealed_of(total, i, j), FPLT__SHARE_BOX);
        to += FPLT__SHARE_BOX;
    }
}

size_t fplt__secagg_total_answer_size(const fplt__secagg_total *total, fplt__secagg_stage stage)
{
    if (stage == FPLT__SECAGG_MISSING)
        return KEY + (size_t)(total->cohort_count - total->left_count) * KEY;
    if (stage == FPLT__SECAGG_PROPOSE)
        return KEY + FPLT__SECAGG_SIGNATURE;
    return KEY + (size_t)total->left_count * KEY;
}

/* The shares that holder j sends: one of each sender in W. */
static void keep_shares(fplt__secagg_total *total, uint32_t j, const uint8_t *share)
{
    size_t row = (size_t)total->position[j] * total->cohort_count;
    for (uint32_t i = 0; i < total->plan.members; i++) {
        if (!fplt__set_has(total->left, i))
            continue;
        size_t from = total->position[i];
        const uint8_t *tag = i == j ? NULL : sealed_of(total, i, j) + FPLT__SHARE_BOX;
        memcpy(total->share + (row + from) * KEY, share, KEY);
        total->good[row + from] = (uint8_t)fplt__share_good(total->session, i, j, share, tag);
        total->goods[from] += total->good[row + from];
        share += KEY;
    }
}

fplt_status fplt__secagg_total_answer(fplt__secagg_total *total, fplt__secagg_stage stage,
                                      uint32_t i, const uint8_t *payload, size_t size,
                                      fplt_error *error)
{
    fplt_status status =
        check_session(total, i, payload, size, fplt__secagg_total_answer_size(total, stage), error);
    if (status)
        return status;
    FPLT__ASSERT(has_shares(total));
    if (fplt__set_has(total->answered[stage], i))
        return FPLT_OK;
    size_t place = total->position[i];
    if (stage == FPLT__SECAGG_MISSING) {
        memcpy(total->seed + place * total->cohort_count * KEY, payload + KEY, size - KEY);
    } else if (stage == FPLT__SECAGG_PROPOSE) {
        if (!fplt__secagg_vote_valid(total->session, total->left, total->plan.members,
                                     total->identities + (size_t)i * KEY, payload + KEY))
            return fplt_error_set(error, FPLT_BAD_DATA, "a vote that this member did not sign");
        memcpy(total->signature + place * FPLT__SECAGG_SIGNATURE, payload + KEY,
               FPLT__SECAGG_SIGNATURE);
    } else {
        keep_shares(total, i, payload + KEY);
    }
    fplt__set_add(total->answered[stage], i);
    total->answers[stage]++;
    return FPLT_OK;
}

uint32_t fplt__secagg_total_answers(const fplt__secagg_total *total, fplt__secagg_stage stage)
{
    return total->answers[stage];
}

int fplt__secagg_total_has(const fplt__secagg_total *total, fplt__secagg_stage stage, uint32_t i)
{
    return fplt__set_has(total->answered[stage], i);
}

/* --- unmasking --- */

int fplt__secagg_total_is_open(const fplt__secagg_total *total)
{
    if (!has_shares(total))
        return 1;
    for (uint32_t i = 0; i < total->plan.members; i++)
        if (fplt__set_has(total->left, i) &&
            total->goods[total->position[i]] < total->plan.threshold)
            return 0;
    return 1;
}

/* The first `threshold` holders of good shares of sender i; its own share, which has no tag, only where it is needed. */
static void choose_holders(const fplt__secagg_total *total, uint32_t i, uint32_t *holder)
{
    uint32_t count = 0;
    size_t from = total->position[i];
    for (uint32_t j = 0; j < total->plan.members && count < total->plan.threshold; j++)
        if (j != i && fplt__set_has(total->left, j) &&
            total->good[total->position[j] * (size_t)total->cohort_count + from])
            holder[count++] = j;
    if (count < total->plan.threshold)
        holder[count++] = i;
    FPLT__ASSERT(count == total->plan.threshold);
}

/* The scalar of sender i from its shares; 0 where it does not meet the commitment. */
static int find_scalar(fplt__secagg_total *total, uint32_t i, uint32_t *chosen, uint8_t scalar[KEY])
{
    uint32_t t = total->plan.threshold;
    uint8_t made[KEY];
    choose_holders(total, i, total->holder);
    if (!*chosen || memcmp(total->holder, total->last, t * sizeof *total->last) != 0) {
        fplt__share_weights(total->holder, t, total->weight, total->scratch);
        memcpy(total->last, total->holder, t * sizeof *total->last);
        *chosen = 1;
    }
    memset(scalar, 0, KEY);
    for (uint32_t k = 0; k < t; k++)
        fplt__share_add(scalar, total->weight + (size_t)k * KEY,
                        total->share +
                            ((size_t)total->position[total->holder[k]] * total->cohort_count +
                             total->position[i]) *
                                KEY);
    fplt__secagg_derive_of("commit", scalar, total->session, i, made);
    return memcmp(made, total->commitment + (size_t)total->position[i] * KEY, KEY) == 0;
}

/* Adds a mask to the batch; a full batch is taken off the sum. */
static void add_mask(fplt__secagg_total *total, size_t *masks, const uint8_t *seed, int sign)
{
    if (seed) {
        memcpy(total->mask[*masks].seed, seed, KEY);
        total->mask[(*masks)++].sign = sign;
    }
    if (*masks == BATCH || (!seed && *masks)) {
        fplt__mask_sum(total->mask, *masks, total->sum, total->count, total->width);
        sodium_memzero(total->mask, *masks * sizeof *total->mask);
        *masks = 0;
    }
}

fplt_status fplt__secagg_total_unmask(fplt__secagg_total *total, uint32_t *wrong, fplt_error *error)
{
    uint8_t scalar[KEY], seed[KEY];
    uint32_t members = total->plan.members, chosen = 0;
    size_t masks = 0;
    FPLT__ASSERT(fplt__secagg_total_is_open(total));
    if (!has_shares(total))
        return FPLT_OK;
    for (uint32_t i = 0; i < members; i++) {
        if (!fplt__set_has(total->left, i))
            continue;
        if (!find_scalar(total, i, &chosen, scalar)) {
            *wrong = i;
            return fplt_error_set(error, FPLT_BAD_DATA,
                                  "its shares do not meet the commitment that it sent");
        }
        fplt__secagg_derive_of("self-mask", scalar, total->session, i, seed);
        add_mask(total, &masks, seed, -1);
        const uint8_t *told = total->seed + (size_t)total->position[i] * total->cohort_count * KEY;
        for (uint32_t j = 0; j < members; j++) {
            if (!fplt__set_has(total->cohort, j) || fplt__set_has(total->left, j))
                continue;
            if (!FPLT__SECAGG_PLANTED(FPLT__KEEPS_MASKS))
                add_mask(total, &masks, told, j > i ? -1 : 1);
            told += KEY;
        }
    }
    add_mask(total, &masks, NULL, 0);
    sodium_memzero(scalar, sizeof scalar);
    sodium_memzero(seed, sizeof seed);
    return FPLT_OK;
}

const uint64_t *fplt__secagg_total_masked(const fplt__secagg_total *total)
{
    return total->sum;
}

void fplt__secagg_total_words(const fplt__secagg_total *total, uint64_t *words)
{
    if (total->width == 16) {
        memcpy(words, total->sum, 2 * total->count * sizeof *words);
        return;
    }
    for (size_t k = 0; k < total->count; k++) {
        words[2 * k] = total->sum[k];
        words[2 * k + 1] = total->sum[k] >> 63 ? UINT64_MAX : 0;
    }
}
