/* Any bytes as a model: refused with a sentence, or whole, and then it can be written, read again
 * and asked. */
#include "target.h"

#include <string.h>

#include "fedplt/export.h"
#include "fedplt/memory.h"
#include "fedplt/model.h"

static void ask(const fplt_model *model)
{
    const fplt_model_info *info = fplt_model_get_view(model);
    size_t features = info->features;
    size_t start[2] = {0, 1};
    uint32_t column = (uint32_t)(features - 1);
    double value = 1, predicted, label = 0;
    fplt_rows row = {.count = 1,
                     .features = features,
                     .start = start,
                     .column = &column,
                     .value = &value,
                     .label = &label};
    promise(!fplt_model_predict(model, &row, NULL, NULL, &predicted, NULL));
    promise(info->classes ? predicted >= 0 && predicted < info->classes : !isnan(predicted));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fplt_model *model, *again;
    fplt_error error = {FPLT_OK, ""};
    fplt_status status = fplt_model_parse((const char *)bytes, size, "input.json", &model, &error);
    promise(!status == (model != NULL));
    if (status) {
        promise(status == error.status && strncmp(error.text, "input.json", 10) == 0);
        return 0;
    }
    char *text;
    promise(!fplt_model_text(model, &text, &error));
    promise(!fplt_model_parse(text, strlen(text), "input.json", &again, &error));
    promise(memcmp(fplt_model_get_view(model)->weights, fplt_model_get_view(again)->weights,
                   fplt_model_get_view(model)->dimension * sizeof(double)) == 0);
    ask(again);
    fplt_free(text);
    fplt_model_destroy(again);
    fplt_model_destroy(model);
    return 0;
}
