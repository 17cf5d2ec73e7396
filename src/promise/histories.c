/* Whether the ledgers in a certificate can be those of anybody. */
#include <string.h>

#include "promise/certificate.h"

static int is_same_history(const fplt__certificate_account *a, const fplt__certificate_account *b)
{
    int same = a->count == b->count;
    for (size_t k = 0; same && k < a->count; k++)
        same = memcmp(a->earlier[k].run, b->earlier[k].run, FPLT_RUN_BYTES) == 0 &&
               a->earlier[k].rate == b->earlier[k].rate &&
               a->earlier[k].rounds == b->earlier[k].rounds &&
               strcmp(a->earlier[k].time, b->earlier[k].time) == 0;
    return same;
}

/* One run charged once to an account: neither this run, nor twice the same one, nor for no round (but for
 * what was adopted of runs that are not known). */
static int is_history(const fplt__certificate_account *account, const unsigned char *run)
{
    static const unsigned char unknown[FPLT_RUN_BYTES] = {0};
    for (size_t k = 0; k < account->count; k++) {
        const fplt__certificate_charge *charge = &account->earlier[k];
        if (memcmp(charge->run, run, FPLT_RUN_BYTES) == 0 ||
            (!charge->rounds && memcmp(charge->run, unknown, FPLT_RUN_BYTES) != 0))
            return 0;
        for (size_t i = 0; i < k; i++)
            if (memcmp(charge->run, account->earlier[i].run, FPLT_RUN_BYTES) == 0)
                return 0;
    }
    return 1;
}

void fplt__histories_check(const fplt__certificate_account *accounts, uint32_t agents,
                           const unsigned char *run, uint32_t *known, uint32_t *odd)
{
    *known = *odd = 0;
    for (uint32_t i = 0; i < agents; i++) {
        const fplt__certificate_account *account = &accounts[i];
        if (!account->name)
            continue;
        ++*known;
        int is_odd = !*account->name || !is_history(account, run);
        for (uint32_t j = 0; j < i; j++)
            if (accounts[j].name && strcmp(accounts[j].name, account->name) == 0)
                is_odd |= !is_same_history(&accounts[j], account);
        *odd += (uint32_t)is_odd;
    }
}
