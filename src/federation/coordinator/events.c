/* What all files of a coordinator do: log, name files, and give events to the machine. Asks nothing of the others but of
 * record.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/machine.h"
#include "federation/coordinator/coordinator.h"

uint64_t fplt__coordinator_now(void)
{
    return (uint64_t)(fplt__now() * 1000);
}

void fplt__coordinator_report(fplt__coordinator *c, int64_t identity, const char *word,
                              const char *sentence, double criterion)
{
    FPLT__ASSERT(identity < (int64_t)c->members);
    fplt__leader_view view =
        c->leader ? fplt__leader_get_view(c->leader) : (fplt__leader_view){.round = 0};
    fplt_federation_event event = {word, sentence, identity >= 0 ? c->roster[identity] : NULL,
                                   view.round, criterion};
    fplt__coordinator_record(c, &event);
    if (c->watch->tell)
        c->watch->tell(c->watch->context, &event);
}

void fplt__coordinator_log(fplt__coordinator *c, int64_t identity, const char *word,
                           const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fplt__coordinator_report(c, identity, word, sentence, NAN);
}

void fplt__coordinator_path(const fplt__coordinator *c, const char *file, const char *inside,
                            char *path, size_t size)
{
    snprintf(path, size, "%s%s%s%s%s", *file == '/' ? "" : c->folder, *file == '/' ? "" : "/", file,
             inside ? "/" : "", inside ? inside : "");
}

void fplt__coordinator_handle(fplt__coordinator *c, fplt__leader_event *event)
{
    FPLT__ASSERT(c->turn.handle);
    c->turn.handle(c, event);
}

void fplt__coordinator_make_out(const fplt__coordinator *c, char out[4200])
{
    const char *folder = fplt_settings_text(c->settings, "out");
    char inside[32];
    fplt__coordinator_path(c, folder, NULL, out, 4200);
    mkdir(out, 0777);
    if (!c->turn.restarts)
        return;
    snprintf(inside, sizeof inside, "run-%u", c->run);
    fplt__coordinator_path(c, folder, inside, out, 4200);
    mkdir(out, 0777);
}
