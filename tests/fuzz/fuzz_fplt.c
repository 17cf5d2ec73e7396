/* The program's own format on arbitrary bytes. A changed header is made to fit its fingerprint again, so
 * that what lies behind is tried too. */
#include "base/digest.h"
#include "target.h"

enum { HEADER = 72 + 16 * 17, FINGERPRINT = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const features[] = {"x", "colour=red"}, *const classes[] = {"no", "yes"};
    const fplt_read_settings cases[] = {
        {.format = NULL},
        {.site = "none", .label = "none"},
        {.feature_names = features, .feature_count = 2, .class_names = classes, .class_count = 2},
    };
    uint8_t *sealed = size >= HEADER + FINGERPRINT ? malloc(size) : NULL;
    read_and_check("fplt", bytes, size, cases[0]);
    if (!sealed)
        return 0;
    char text[FPLT__FINGERPRINT];
    uint64_t whole = size;
    memcpy(sealed, bytes, size);
    memcpy(sealed + 16, &whole, sizeof whole);
    fplt__fingerprint(sealed, HEADER, text);
    memcpy(sealed + HEADER, text, FINGERPRINT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_and_check("fplt", sealed, size, cases[i]);
    free(sealed);
    return 0;
}
