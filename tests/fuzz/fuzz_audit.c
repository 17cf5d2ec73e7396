/* Any bytes as an audit log: read to a verdict, the same each time; a log that is opened and added to grows by its entries and is
 * not worse than before. */
#include <stdio.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/file.h"
#include "target.h"

static char path[64];

static int is_same(const fplt__audit_verdict *a, const fplt__audit_verdict *b)
{
    return a->entries == b->entries && a->expired == b->expired &&
           a->signed_up_to == b->signed_up_to && a->bad == b->bad &&
           strcmp(a->sentence, b->sentence) == 0;
}

static void count_line(void *context, const char *line, size_t length)
{
    fplt__digest digest;
    *(uint64_t *)context += 1;
    fplt__audit_digest(line, length, &digest);
}

static void add_entries(const fplt__audit_verdict *before)
{
    const fplt__audit_field field = {"what", "an \"answer\""};
    fplt_error error = {FPLT_OK, ""};
    fplt__audit_verdict after;
    fplt__audit *audit;
    fplt_status status = fplt__audit_open(path, &audit, &error);
    promise(!status || (status == error.status && *error.text));
    if (status)
        return;
    for (int i = 0; i < 2; i++)
        promise(!fplt__audit_add(audit, "answer", &field, 1, 0, &error));
    uint64_t number = fplt__audit_get_head(audit).number;
    fplt__audit_close(audit);
    promise(!fplt__audit_read(path, NULL, NULL, &after, &error));
    if (!before->bad && before->entries) {
        promise(after.signed_up_to == before->signed_up_to);
        promise(after.bad || after.entries == number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__audit_verdict verdict, again;
    uint64_t lines = 0;
    if (!*path)
        snprintf(path, sizeof path, "/tmp/fedplt-fuzz-audit-%d", (int)getpid());
    promise(!fplt__file_save(path, 0600, (const char *)bytes, size, &error));
    promise(!fplt__audit_read(path, count_line, &lines, &verdict, &error));
    promise(!fplt__audit_read(path, NULL, NULL, &again, &error));
    promise(is_same(&verdict, &again));
    promise(verdict.bad || verdict.entries - verdict.expired == lines);
    promise(!verdict.bad || *verdict.sentence);
    promise(verdict.signed_up_to <= verdict.entries);
    add_entries(&verdict);
    unlink(path);
    return 0;
}
