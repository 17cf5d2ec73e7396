/* The LIBSVM reader on arbitrary bytes. */
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const fplt_read_settings cases[] = {
        {.format = NULL},
        {.features = 7, .task = "regression"},
        {.task = "classes"},
        {.label = "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_and_check("libsvm", bytes, size, cases[i]);
    return 0;
}
