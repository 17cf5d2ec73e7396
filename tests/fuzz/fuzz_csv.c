/* The CSV reader on arbitrary bytes, with settings that reach all of it. */
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const classes[] = {"-1", "1"};
    static const char *const features[] = {"a", "b=x", "b=y"};
    static const fplt_read_settings cases[] = {
        {.format = NULL},
        {.drop_missing = 1, .categories = "auto", .task = "classes"},
        {.label = "1", .no_header = 1, .task = "regression", .categories = "2,3"},
        {.label = "none", .site = "none", .categories = "auto", .drop_first_level = 1},
        {.labels = "1=1,0=-1,yes=1,no=-1", .drop_missing = 1},
        {.class_names = classes,
         .class_count = 2,
         .feature_names = features,
         .feature_count = 3,
         .drop_missing = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        read_and_check("csv", bytes, size, cases[i]);
    return 0;
}
