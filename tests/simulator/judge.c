#include "judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "secagg/keys.h"
#include "secagg/share.h"

enum { MEMBERS = 8, STORIES = 512, VOTES = 64, LONGEST = 4096 };

/* A session, as the coordinator knows it. Sets of members are bits. */
struct story {
    uint8_t session[32];
    fplt__frame task; /* of an upload */
    unsigned cohort, uploads, sum;
    uint8_t commitment[MEMBERS][32];
    uint8_t sealed[MEMBERS][MEMBERS][FPLT__SHARE_SEALED];
    unsigned told[MEMBERS];   /* members whose seeds with it are out */
    unsigned holder[MEMBERS]; /* members that gave their share of it */
    unsigned open;            /* members whose scalar was given as it is */
    unsigned wide, narrow;    /* the sets that a coordinator that lies asks about */
    unsigned attack;          /* in which order */
    unsigned asked[MEMBERS];  /* so many questions of it so far */
    struct {
        unsigned set, voter;
        uint8_t signature[64];
    } vote[VOTES];
    size_t votes;
};

static struct story story[STORIES];
static size_t stories;
static uint32_t members, threshold, colluders;
unsigned judge_attack;
static struct {
    unsigned kind, set;
    uint8_t session[32];
} asked[MEMBERS];

void judge_begin(uint32_t count, uint32_t t, uint32_t c)
{
    members = count;
    threshold = t;
    colluders = c;
    stories = 0;
    memset(asked, 0, sizeof asked);
}

static unsigned bits_of(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

static unsigned honest(void)
{
    return (1u << (members - colluders)) - 1;
}

static struct story *find(const uint8_t *session)
{
    for (size_t k = stories; k > 0; k--)
        if (memcmp(story[k - 1].session, session, 32) == 0)
            return &story[k - 1];
    return NULL;
}

static int is_question(unsigned kind)
{
    return kind == FPLT__MISSING || kind == FPLT__PROPOSE || kind == FPLT__FINAL;
}

/* --- what was asked --- */

/* The cohort of the session that a task belongs to, as announced before it. */
static unsigned announced[MEMBERS];

void judge_asked(uint32_t i, const uint8_t *bytes, size_t size)
{
    size_t cursor = 0;
    fplt__frame frame;
    const uint8_t *head, *body;
    fplt_error error;
    while (cursor < size) {
        if (fplt__frame_next(bytes, size, &cursor, &frame, &head, &body, &error))
            return;
        if (frame.kind == FPLT__SESSION && frame.payload > 32)
            announced[i] = body[32];
        if (!is_question(frame.kind) || frame.payload < 33)
            continue;
        asked[i].kind = frame.kind;
        asked[i].set = body[32];
        memcpy(asked[i].session, body, 32);
    }
}

/* --- what was said --- */

static void keep_upload(uint32_t i, const fplt__frame *frame, const uint8_t *payload)
{
    struct story *s = find(payload);
    size_t at = 64;
    if (!s) {
        if (stories == STORIES)
            stories = 0; /* the oldest are over */
        s = &story[stories++];
        memset(s, 0, sizeof *s);
        memcpy(s->session, payload, 32);
        s->cohort = announced[i];
        s->task = *frame;
    }
    if (frame->payload < 64 + (size_t)FPLT__SHARE_SEALED * (bits_of(s->cohort) - 1))
        return;
    s->uploads |= 1u << i;
    memcpy(s->commitment[i], payload + 32, 32);
    for (uint32_t j = 0; j < members; j++) {
        if (j == i || !(s->cohort >> j & 1))
            continue;
        memcpy(s->sealed[i][j], payload + at, FPLT__SHARE_SEALED);
        at += FPLT__SHARE_SEALED;
    }
}

static void keep_shares(struct story *s, uint32_t j, unsigned set, const uint8_t *share)
{
    uint8_t made[32];
    for (uint32_t i = 0; i < members; i++) {
        if (!(set >> i & 1))
            continue;
        fplt__secagg_derive_of("commit", share, s->session, i, made);
        if (memcmp(made, s->commitment[i], 32) == 0)
            s->open |= 1u << i;
        if (fplt__share_good(s->session, i, j, share,
                             i == j ? NULL : s->sealed[i][j] + FPLT__SHARE_BOX))
            s->holder[i] |= 1u << j;
        share += 32;
    }
}

static void keep_vote(struct story *s, uint32_t i, unsigned set, const uint8_t *signature)
{
    for (size_t k = 0; k < s->votes; k++)
        if (s->vote[k].set == set && s->vote[k].voter == i)
            return;
    if (s->votes == VOTES)
        return;
    s->vote[s->votes].set = set;
    s->vote[s->votes].voter = i;
    memcpy(s->vote[s->votes++].signature, signature, 64);
}

/* --- what can be computed of it --- */

static int knows_scalar(const struct story *s, uint32_t i)
{
    unsigned helping = ((1u << members) - 1) & ~honest() & s->cohort;
    return (s->open >> i & 1) || bits_of(s->holder[i] | helping) >= threshold;
}

/* Whether the sum over the honest members T can be computed: their self masks are known, and their seeds with all that
 * are not in T. */
static int is_open(const struct story *s, unsigned t)
{
    for (uint32_t i = 0; i < members; i++) {
        if (!(t >> i & 1))
            continue;
        if (!(s->uploads >> i & 1) || !knows_scalar(s, i))
            return 0;
        for (uint32_t j = 0; j < members; j++)
            if ((s->cohort & honest() & ~t) >> j & 1 && !(s->told[i] >> j & 1) &&
                !(s->told[j] >> i & 1))
                return 0;
    }
    return 1;
}

static const char *weigh(struct story *s)
{
    for (unsigned t = 1; t <= honest(); t++) {
        if (t & ~(s->cohort & honest()) || !is_open(s, t))
            continue;
        if (bits_of(t) < threshold - colluders)
            return "a sum over fewer honest members than the quorum leaves can be computed";
        if (s->sum && s->sum != t)
            return "two sums of one session can be computed";
        s->sum = t;
    }
    return NULL;
}

const char *judge_said(uint32_t i, const uint8_t *bytes, size_t size)
{
    fplt__frame frame;
    fplt_error error;
    const uint8_t *payload = bytes + FPLT__FRAME_HEAD;
    if (size < FPLT__FRAME_HEAD || fplt__frame_read(bytes, &frame, &error) ||
        frame.encoding != FPLT__BYTES || frame.payload < 32)
        return NULL;
    if (frame.kind == FPLT__TRAIN)
        keep_upload(i, &frame, payload);
    struct story *s = find(payload);
    if (!s || (is_question(frame.kind) &&
               (asked[i].kind != frame.kind || memcmp(asked[i].session, payload, 32) != 0)))
        return is_question(frame.kind) ? "an agent answers what it was not asked" : NULL;
    unsigned set = asked[i].set;
    if (is_question(frame.kind) && !(set >> i & 1))
        return "an agent answers a question about a set that it is not in";
    if (frame.kind == FPLT__MISSING)
        s->told[i] |= s->cohort & ~set;
    else if (frame.kind == FPLT__PROPOSE)
        keep_vote(s, i, set, payload + 32);
    else if (frame.kind == FPLT__FINAL)
        keep_shares(s, i, set, payload + 32);
    return weigh(s);
}

/* --- a coordinator that lies --- */

static size_t put_votes(const struct story *s, unsigned set, uint8_t *to)
{
    uint32_t count = 0;
    size_t at = 4;
    for (size_t k = 0; k < s->votes && count < threshold; k++) {
        if (s->vote[k].set != set)
            continue;
        fplt__put32(to + at, s->vote[k].voter);
        memcpy(to + at + 4, s->vote[k].signature, 64);
        at += 68;
        count++;
    }
    if (count < threshold) /* it asks without */
        count = 0, at = 4;
    fplt__put32(to, count);
    return at;
}

/* A set of the cohort, and one within it, each at least as large as the quorum. */
static void choose_sets(struct story *s, uint64_t chance)
{
    unsigned all = s->cohort;
    for (unsigned *set = &s->wide; set; set = set == &s->wide ? &s->narrow : NULL) {
        *set = all;
        for (unsigned k = 0; k < members && bits_of(*set) > threshold; k++, chance /= 7)
            if (*set == all || chance % 3 == 0)
                *set &= ~(1u << (k + chance) % members);
        all = *set;
    }
}

/* What the coordinator tries, again and again, with every member: two sets with votes for both, seeds after the shares of
 * all and before them, a member that comes back, and another set for each member. */
enum about { NARROW, WIDE, ALL, OWN };
static const struct {
    unsigned kind;
    enum about about;
} attack[][6] = {{{FPLT__MISSING, WIDE},
                  {FPLT__PROPOSE, WIDE},
                  {FPLT__FINAL, WIDE},
                  {FPLT__MISSING, NARROW},
                  {FPLT__PROPOSE, NARROW},
                  {FPLT__FINAL, NARROW}},
                 {{FPLT__FINAL, ALL},
                  {FPLT__MISSING, WIDE},
                  {FPLT__PROPOSE, WIDE},
                  {FPLT__FINAL, WIDE},
                  {FPLT__FINAL, ALL},
                  {FPLT__MISSING, WIDE}},
                 {{FPLT__MISSING, WIDE},
                  {FPLT__FINAL, ALL},
                  {FPLT__MISSING, WIDE},
                  {FPLT__FINAL, ALL},
                  {FPLT__PROPOSE, WIDE},
                  {FPLT__FINAL, WIDE}},
                 {{FPLT__MISSING, NARROW},
                  {FPLT__MISSING, WIDE},
                  {FPLT__PROPOSE, WIDE},
                  {FPLT__FINAL, WIDE},
                  {FPLT__MISSING, NARROW},
                  {FPLT__FINAL, WIDE}},
                 {{FPLT__MISSING, OWN},
                  {FPLT__FINAL, OWN},
                  {FPLT__MISSING, OWN},
                  {FPLT__FINAL, OWN},
                  {FPLT__PROPOSE, OWN},
                  {FPLT__FINAL, OWN}}};
enum { ATTACKS = sizeof attack / sizeof *attack, QUESTIONS = 6 };

/* The newest session in which member i has sent an upload, once enough of the others have. */
static struct story *find_victim(uint32_t i, uint64_t chance)
{
    for (size_t k = stories; k > 0; k--) {
        struct story *s = &story[k - 1];
        if (!(s->uploads >> i & 1))
            continue;
        if (!s->wide) {
            choose_sets(s, chance >> 16);
            s->attack = judge_attack ? judge_attack - 1 : (unsigned)(chance >> 8) % ATTACKS;
        }
        return (s->uploads & s->wide) == s->wide ? s : NULL;
    }
    return NULL;
}

/* The set that member i is asked about; that it is left in the wide one, where it is not in a narrower. */
static unsigned set_for(const struct story *s, uint32_t i, enum about about)
{
    unsigned own = 0;
    for (uint32_t k = 0; k < threshold; k++)
        own |= 1u << (i + k) % members;
    unsigned set = about == NARROW ? s->narrow : about == WIDE ? s->wide : s->cohort;
    if (about == OWN && !(own & ~s->cohort))
        return own;
    return set >> i & 1 ? set : s->wide >> i & 1 ? s->wide : s->cohort;
}

static size_t put_boxes(const struct story *s, uint32_t i, unsigned set, uint8_t *to)
{
    size_t at = 0;
    for (uint32_t j = 0; j < members; j++)
        if (set >> j & 1 && j != i) {
            memcpy(to + at, s->sealed[j][i], FPLT__SHARE_BOX);
            at += FPLT__SHARE_BOX;
        }
    return at;
}

const uint8_t *judge_forge(uint32_t i, uint64_t chance, size_t *size)
{
    static uint8_t bytes[LONGEST];
    struct story *s = find_victim(i, chance);
    if (!s)
        return NULL;
    unsigned next = chance % 8 ? s->asked[i]++ : (unsigned)(chance >> 32);
    unsigned kind = attack[s->attack][next % QUESTIONS].kind;
    unsigned set = set_for(s, i, attack[s->attack][next % QUESTIONS].about);
    if (set == s->cohort) /* of all there is nothing else to ask */
        kind = FPLT__FINAL;
    uint8_t *to = bytes + FPLT__FRAME_HEAD;
    size_t at = 33;
    memcpy(to, s->session, 32);
    to[32] = (uint8_t)set;
    if (kind == FPLT__FINAL) {
        at += put_votes(s, set, to + at);
        at += put_boxes(s, i, set, to + at);
    }
    fplt__frame frame = {.kind = (uint8_t)kind,
                         .encoding = FPLT__BYTES,
                         .incarnation = s->task.incarnation,
                         .member_index = i,
                         .round = s->task.round,
                         .cohort = bits_of(s->cohort),
                         .version = s->task.version,
                         .payload = at,
                         .plan = s->task.plan};
    frame.digest = fplt__body_hash(to, at);
    fplt__frame_write(&frame, bytes);
    *size = FPLT__FRAME_HEAD + at;
    return bytes;
}
