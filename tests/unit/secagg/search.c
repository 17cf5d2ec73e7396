/* Everything that a malicious coordinator can bring honest agents to say in a session, for small cohorts, and what it
 * learns: with 2t > M + c one sum over at least t - c honest members, or nothing. One below the rule it learns more. Faults
 * planted in the agent's table are found.
 *
 *     search LARGEST    the largest cohort that is searched, 3 to 6
 *
 * The last c members help the coordinator. An agent's answers depend on its own table (src/secagg/session.c, compiled here
 * with its faults) and on whether a set has enough votes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secagg/planted.h"
#include "secagg/session.h"

enum { MOST = 6, SETS = 1 << MOST, OUTCOMES = 1 << 16 };

int fplt__secagg_planted;

/* What an agent has said; bit W of a word is the set W. */
struct outcome {
    uint8_t told;    /* members whose seeds with it are out */
    uint64_t voted;  /* sets that it signed */
    uint64_t plain;  /* sets whose shares it gave without votes */
    uint64_t proven; /* sets whose shares it gives once they have t votes */
};

struct node {
    uint8_t asked, is_voter, final, view;
    struct outcome said;
};

static struct node node[OUTCOMES];
static struct outcome outcome[MOST][OUTCOMES];
static size_t nodes, outcomes[MOST];
static unsigned size_m, threshold, helpers;

static unsigned count_bits(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

/* --- what one agent can be brought to say --- */

/* Member by member: what lies between the members is not set. */
static int is_same(const struct node *a, const struct node *b)
{
    return a->asked == b->asked && a->is_voter == b->is_voter && a->final == b->final &&
           a->view == b->view && a->said.told == b->said.told && a->said.voted == b->said.voted &&
           a->said.plain == b->said.plain && a->said.proven == b->said.proven;
}

static void reach(struct node next)
{
    for (size_t k = 0; k < nodes; k++)
        if (is_same(&node[k], &next))
            return;
    if (nodes == OUTCOMES)
        abort();
    node[nodes++] = next;
}

/* All questions about W that the agent accepts in this state. */
static void follow(const struct node *from, uint32_t i, uint8_t w)
{
    const uint8_t cohort = (uint8_t)((1u << size_m) - 1);
    for (int question = 0; question < 4; question++) {
        struct node next;
        uint8_t view = from->view;
        fplt__session_state state = {
            .asked = from->asked, .voted = from->is_voter, .final = from->final};
        state.view = &view;
        state.cohort = &cohort;
        memcpy(&next, from, sizeof next);
        if (question == 0 && fplt__session_missing(&state, size_m, threshold, i, &w))
            next.said.told |= (uint8_t)(cohort & ~w);
        else if (question == 1 && fplt__session_propose(&state, size_m, &w))
            next.said.voted |= UINT64_C(1) << w;
        else if (question == 2 && w >> i & 1 &&
                 fplt__session_final(&state, size_m, threshold, &w, 0))
            next.said.plain |= UINT64_C(1) << w;
        else if (question == 3 && w >> i & 1 &&
                 fplt__session_final(&state, size_m, threshold, &w, threshold))
            next.said.proven |= UINT64_C(1) << w;
        else
            continue;
        next.asked = (uint8_t)state.asked;
        next.is_voter = (uint8_t)state.voted;
        next.final = (uint8_t)state.final;
        next.view = view;
        reach(next);
    }
}

static int is_part(const struct outcome *a, const struct outcome *b)
{
    return !(a->told & ~b->told) && !(a->voted & ~b->voted) && !(a->plain & ~b->plain) &&
           !(a->proven & ~b->proven);
}

/* Of what agent i can be brought to say, all that is not a part of something else. */
static void list_outcomes(uint32_t i)
{
    struct node begin;
    memset(&begin, 0, sizeof begin);
    begin.view = (uint8_t)((1u << size_m) - 1);
    nodes = outcomes[i] = 0;
    reach(begin);
    for (size_t k = 0; k < nodes; k++)
        for (unsigned w = 0; w < 1u << size_m; w++)
            follow(&node[k], i, (uint8_t)w);
    for (size_t k = 0; k < nodes; k++) {
        int is_most = 1;
        for (size_t m = 0; m < nodes && is_most; m++)
            is_most = !is_part(&node[k].said, &node[m].said) ||
                      (is_part(&node[m].said, &node[k].said) && m >= k);
        if (is_most)
            outcome[i][outcomes[i]++] = node[k].said;
    }
}

/* --- what all of it together tells --- */

/* The members whose shares an agent has given, if these sets have their votes. */
static unsigned shared_by(const struct outcome *said, uint64_t proven)
{
    unsigned shared = 0;
    for (uint64_t sets = said->plain | (said->proven & proven); sets; sets &= sets - 1)
        shared |= (unsigned)__builtin_ctzll(sets);
    return shared;
}

/* The honest members whose pair masks with i, directly or through others, are all unknown. */
static unsigned component_of(const struct outcome *const *said, unsigned honest, unsigned i)
{
    unsigned found = 1u << i, seen = 0;
    while (found & ~seen) {
        unsigned j = (unsigned)__builtin_ctz(found & ~seen);
        seen |= 1u << j;
        for (unsigned k = 0; k < honest; k++)
            if (!(said[j]->told >> k & 1) && !(said[k]->told >> j & 1))
                found |= 1u << k;
    }
    return found;
}

/* Whether more is learnt than one sum of at least t - c honest members. */
static int is_broken(const struct outcome *const *said)
{
    unsigned honest = size_m - helpers, all = (1u << honest) - 1,
             helping = ((1u << size_m) - 1) & ~all;
    unsigned known = 0, learnt = 0, left = all, shared[MOST];
    uint64_t proven = 0;
    uint64_t signed_sets = 0;
    for (unsigned i = 0; i < honest; i++)
        signed_sets |= said[i]->voted;
    for (; signed_sets; signed_sets &= signed_sets - 1) {
        unsigned w = (unsigned)__builtin_ctzll(signed_sets);
        unsigned votes = count_bits(w & helping);
        for (unsigned i = 0; i < honest; i++)
            votes += said[i]->voted >> w & 1;
        if (votes >= threshold)
            proven |= UINT64_C(1) << w;
    }
    for (unsigned i = 0; i < honest; i++)
        shared[i] = shared_by(said[i], proven);
    for (unsigned i = 0; i < honest; i++) {
        unsigned shares = helpers;
        for (unsigned j = 0; j < honest; j++)
            shares += shared[j] >> i & 1;
        if (shares >= threshold || (fplt__secagg_planted == FPLT__OWN_SCALAR && shared[i] >> i & 1))
            known |= 1u << i;
    }
    for (unsigned i = 0; i < honest; i++) {
        if (!(left >> i & 1))
            continue;
        unsigned part = component_of(said, honest, i);
        left &= ~part;
        if (part & ~known)
            continue;
        if (++learnt > 1 || count_bits(part) + helpers < threshold)
            return 1;
    }
    return 0;
}

static unsigned long long combinations;

static int search(const struct outcome **said, unsigned i)
{
    if (i >= size_m - helpers || i >= MOST) {
        combinations++;
        return is_broken(said);
    }
    for (size_t k = 0; k < outcomes[i]; k++) {
        said[i] = &outcome[i][k];
        if (search(said, i + 1))
            return 1;
    }
    return 0;
}

static int breaks(unsigned m, unsigned t, unsigned c)
{
    const struct outcome *said[MOST] = {0};
    size_m = m;
    threshold = t;
    helpers = c;
    for (uint32_t i = 0; i < m - c; i++)
        list_outcomes(i);
    return search(said, 0);
}

/* --- the cases --- */

static int number;

static void result(int passed, unsigned cases, const char *what)
{
    printf("%sok %d - %u %s\n", passed ? "" : "not ", ++number, cases, what);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"",
                                        "shares without votes",
                                        "seeds after shares",
                                        "a second vote",
                                        "a view that grows",
                                        "shares of all after seeds",
                                        "the own scalar"};
    unsigned largest = argc > 1 ? (unsigned)atoi(argv[1]) : 5, safe = 0, unsafe = 0;
    int held = 1, broken = 1, faults = 0;
    printf("1..8\n");
    for (unsigned m = 3; m <= largest && m <= MOST; m++)
        for (unsigned c = 0; c + 2 <= m; c++)
            for (unsigned t = c + 2; t <= m; t++) {
                int kept = 2 * t > m + c;
                if (!kept && 2 * (t + 1) <= m + c)
                    continue;
                int found = breaks(m, t, c);
                held &= !kept || !found;
                broken &= kept || found;
                safe += (unsigned)kept;
                unsafe += (unsigned)!kept;
                if (kept == found)
                    printf("# M = %u, t = %u, c = %u: %s\n", m, t, c,
                           found ? "broken" : "not broken");
            }
    result(held, safe,
           "cases with 2t > M + c: one sum of at least t - c honest members, or nothing");
    result(broken && unsafe, unsafe, "cases one below the rule: more is learnt in each");
    printf("# %llu combinations\n", combinations);
    for (fplt__secagg_planted = FPLT__NO_VOTES; fplt__secagg_planted <= FPLT__OWN_SCALAR;
         fplt__secagg_planted++) {
        int found = breaks(5, 4, 1) || breaks(5, 4, 0) || breaks(5, 3, 0) || breaks(4, 3, 1);
        printf("%sok %d - planted: %s: found\n", found ? "" : "not ", ++number,
               names[fplt__secagg_planted]);
        faults += found;
    }
    return held && broken && faults == 6 ? 0 : 1;
}
