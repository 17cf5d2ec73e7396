/* Any bytes as a proposal and as a plan: refused with a sentence, or read and then written the same. */
#include "target.h"

#include <string.h>

#include "base/memory.h"
#include "wire/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__agreement agreement;
    fplt__proposal proposal;
    char *text;
    fplt_status status = fplt__agreement_read(bytes, size, &agreement, &error);
    promise(!status || (status == error.status && *error.text));
    if (!status) {
        promise(!fplt__agreement_text(&agreement, &text, &error));
        promise(strlen(text) == size && memcmp(text, bytes, size) == 0);
        fplt__free(text);
        fplt__agreement_clear(&agreement);
    }
    status = fplt__proposal_read(bytes, size, &proposal, &error);
    promise(!status || (status == error.status && *error.text));
    if (!status) {
        promise(!fplt__proposal_text(&proposal, &text, &error));
        promise(strlen(text) == size && memcmp(text, bytes, size) == 0);
        fplt__free(text);
        fplt__proposal_clear(&proposal);
    }
    return 0;
}
