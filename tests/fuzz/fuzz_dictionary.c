/* Any bytes as what a member or the coordinator says of columns: refused with a sentence, or read, written the same,
 * settled with itself and compared with what was settled. */
#include "target.h"

#include <string.h>

#include "base/memory.h"
#include "federation/plan/columns.h"

static void settle(const fplt__dictionary *own)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__dictionary both[2] = {*own, *own}, none = {.is_whole = 0}, common;
    char abroad[FPLT__SENTENCE] = "";
    fplt__columns_match match = {&common, "file", "the run", 1, abroad};
    fplt__names names;
    if (fplt__columns_settle(&none, both, 2, &common, &error)) {
        promise(*error.text != 0);
        return;
    }
    if (!fplt__columns_check(&match, own, &error))
        promise(!*abroad);
    promise(strlen(abroad) < sizeof abroad);
    if (!fplt__columns_features(&common, &names, &error))
        promise(names.count == (common.columns ? fplt__columns_count(&common) : 0));
    fplt__names_clear(&names);
    fplt__dictionary_clear(&common);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__dictionary dictionary;
    char *text;
    fplt_status status = fplt__dictionary_read(bytes, size, &dictionary, &error);
    promise(!status || (status == error.status && *error.text));
    if (status)
        return 0;
    promise(!fplt__dictionary_text(&dictionary, &text, &error));
    promise(strlen(text) == size && memcmp(text, bytes, size) == 0);
    fplt__free(text);
    settle(&dictionary);
    fplt__dictionary_clear(&dictionary);
    return 0;
}
