/* Any bytes as a file of settings: read, looked up and applied to a table with every kind of row. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/yaml.h"
#include "fedplt/settings_table.h"

static const fplt_setting table[] = {
    {"a", FPLT_REAL, FPLT_AUTO | FPLT_LIST, "1", 0, HUGE_VAL, NULL, "numbers", 0, 0},
    {"b", FPLT_INTEGER, FPLT_ABOVE | FPLT_BELOW, "1", 0, 9, NULL, "a digit", 0, 0},
    {"c", FPLT_SWITCH, 0, "no", 0, 0, NULL, "a switch", 0, 0},
    {"d", FPLT_CHOICE, FPLT_LIST, "x", 0, 0, "x|y|z", "choices", 0, 0},
    {"e", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL, "texts", 0, 0},
    {"f", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL, "pairs", 0, 0},
    {"g.h", FPLT_TEXT, 0, NULL, 0, 0, NULL, "in a section", 0, 0},
    {"g.i.j", FPLT_REAL, 0, NULL, -1, 1, NULL, "in a section of a section", 0, 0},
    FPLT_SETTINGS_END,
};

/* Whatever was accepted must come apart again, and every failure must have a sentence. */
static void take_apart(const fplt_settings *settings)
{
    char key[16], value[16];
    const char *rest = fplt_settings_text(settings, "e");
    while (rest && *rest)
        rest = fplt__list_next(rest, value, sizeof value);
    rest = fplt_settings_text(settings, "f");
    while (rest && *rest)
        rest = fplt__pairs_next(rest, key, sizeof key, value, sizeof value);
}

static void must_explain(fplt_status status, const fplt_error *error)
{
    if (status && (error->status != status || strncmp(error->text, "fuzz:", 5) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fplt_error error;
    fplt_config *config;
    fplt_settings *settings;
    fplt_status status = fplt__config_parse("fuzz", (const char *)data, size, &config, &error);
    must_explain(status, &error);
    if (status)
        return 0;
    if (!fplt_settings_create(&settings, &error)) {
        if (!fplt_settings_add(settings, "fuzz", table, &error)) {
            must_explain(fplt_config_apply(config, settings, &error), &error);
            take_apart(settings);
        }
        fplt_settings_destroy(settings);
    }
    fplt_config_find(config, "a", NULL);
    fplt_config_destroy(config);
    return 0;
}
