/* Any bytes as each of the small messages: refused with a sentence, or read and written the same. */
#include "target.h"

#include <string.h>

#include "base/memory.h"
#include "wire/message.h"

static void same(char *text, const uint8_t *bytes, size_t size)
{
    promise(strlen(text) == size && memcmp(text, bytes, size) == 0);
    fplt__free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_error error = {FPLT_OK, ""};
    fplt__report report;
    fplt__joined joined;
    fplt__consent consent;
    fplt__fault fault;
    char *text;
    if (!fplt__report_read(bytes, size, &report, &error)) {
        promise(!fplt__report_text(&report, &text, &error));
        same(text, bytes, size);
    }
    if (!fplt__joined_read(bytes, size, &joined, &error)) {
        promise(!fplt__joined_text(&joined, &text, &error));
        same(text, bytes, size);
    }
    if (!fplt__consent_read(bytes, size, &consent, &error)) {
        promise(!fplt__consent_text(&consent, &text, &error));
        same(text, bytes, size);
    }
    if (!fplt__fault_read(bytes, size, &fault, &error)) {
        promise(!fplt__fault_text(&fault, &text, &error));
        same(text, bytes, size);
    }
    char proof_text[400] = "";
    fplt__proof proof;
    memcpy(proof_text, bytes, size < 399 ? size : 399);
    if (fplt__proof_read(proof_text, &proof)) {
        char again[FPLT__PROOF_TEXT];
        fplt__proof_text(&proof, again);
        promise(fplt__proof_read(again, &proof));
    }
    return 0;
}
