/* The help lent to a thread. */
#include "base/hands.h"

static _Thread_local fplt__hands *lent;

void fplt__hands_lend(fplt__hands *hands)
{
    lent = hands;
}

int fplt__hands_there(void)
{
    return lent != NULL;
}

void fplt__hands_spread(size_t count, fplt__part part, void *context, double *scratch)
{
    if (lent && count > 1) {
        lent->spread(lent, count, part, context, scratch);
        return;
    }
    for (size_t i = 0; i < count; i++)
        part(context, i, scratch);
}
