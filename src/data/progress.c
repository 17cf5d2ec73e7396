/* Progress of reading, reported to the callback of fplt__read_watch. */
#include "data/builder.h"
#include "data/dataset_access.h"

static fplt__reading watching;
static void *watcher;

void fplt__read_watch(fplt__reading watch, void *context)
{
    watching = watch;
    watcher = context;
}

void fplt__read_progress(const fplt__builder *builder, const fplt__source *source, size_t done)
{
    if (watching && !builder->pieces.is_part)
        watching(watcher, source->name, done, builder->bytes);
}
