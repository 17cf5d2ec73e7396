/* The NPY reader on arbitrary bytes. */
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const fplt_read_settings cases[] = {
        {.format = NULL},
        {.label = "1", .task = "regression"},
        {.label = "none", .features = 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_and_check("npy", bytes, size, cases[i]);
    return 0;
}
