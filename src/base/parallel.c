/* The help lent to a thread. */
#include "base/parallel.h"

static _Thread_local fplt__parallel *lent;

void fplt__parallel_set(fplt__parallel *hands)
{
    lent = hands;
}

int fplt__parallel_is_available(void)
{
    return lent != NULL;
}

void fplt__parallel_for(size_t count, fplt__part part, void *context, double *scratch)
{
    if (lent && count > 1) {
        lent->spread(lent, count, part, context, scratch);
        return;
    }
    for (size_t i = 0; i < count; i++)
        part(context, i, scratch);
}
