/* Any words as the answers of two sites to an analysis: a report of which every form is written, or a sentence that names the
 * site. The first byte chooses the analysis. */
#include <jansson.h>

#include "base/memory.h"
#include "federation/plan/analysis.h"
#include "target.h"

enum { SITES = 2, MAX_NUMBERS = 4096 };

static char model[] =
    "{\"format\":\"fedplt-model\",\"version\":1,\"program\":\"fedplt 0.1.0\",\"task\":\"binary\","
    "\"loss\":\"logistic\",\"huber_delta\":1.0,\"intercept\":true,\"features\":2,"
    "\"feature_names\":[\"a\",\"b\"],\"classes\":[\"no\",\"yes\"],"
    "\"reading\":{\"drop_first_level\":false,\"label\":\"sick\",\"site\":null,\"labels\":null},"
    "\"schema\":null,\"transform\":{\"mean\":null,\"scale\":null,\"radius\":0.0},"
    "\"weights\":[1.5,-0.5,0.25],\"training\":{}}";
static char schema[] =
    "{\"columns\":{\"age\":{\"bounds\":\"18..100\",\"type\":\"number\"},\"sex\":{\"levels\":{\"f\":"
    "["
    "\"f\"],\"m\":[\"m\"]},\"type\":\"category\"},\"sick\":{\"classes\":{\"no\":[\"no\"],\"yes\":["
    "\"yes\"]},\"type\":\"label\"}}}";

static fplt__analysis *open_analysis(int which)
{
    static fplt__pair grid = {(char *)"grid", (char *)"10"},
                      by[] = {{(char *)"by", (char *)"sick"}, {(char *)"grid", (char *)"4"}};
    fplt__proposal proposal = {.federation = "heart", .run = 1, .members = SITES};
    fplt__analysis *analysis;
    fplt_error error;
    if (which == 0)
        proposal.analysis = (fplt__proposed_analysis){
            .kind = "evaluate", .model = model, .settings = 1, .setting = &grid};
    else
        proposal.analysis = (fplt__proposed_analysis){
            .kind = "describe", .settings = which, .setting = which == 2 ? by : by + 1};
    proposal.schema = which ? schema : NULL;
    promise(!fplt__analysis_open(&proposal, &analysis, &error));
    return analysis;
}

static void check_report(fplt__analysis_report *report)
{
    promise(report->text[0] && *report->text[0] && report->text[2]);
    json_t *read = json_loads(report->text[2], JSON_REJECT_DUPLICATES, NULL);
    promise(read != NULL);
    json_decref(read);
    fplt__analysis_report_clear(report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"basel", "bern"};
    static fplt__analysis *kept[3];
    static uint64_t words[SITES][2 * MAX_NUMBERS];
    const uint64_t *of[SITES] = {words[0], words[1]};
    fplt__analysis_report report = {{NULL}};
    fplt_error error = {FPLT_OK, ""};
    if (!size)
        return 0;
    int which = bytes[0] % 3;
    if (!kept[which])
        kept[which] = open_analysis(which);
    size_t numbers = (size_t)kept[which]->kind->numbers(kept[which]);
    promise(numbers && numbers <= MAX_NUMBERS);
    memset(words, 0, sizeof words);
    for (size_t at = 1, k = 0; at < size && k < SITES * 2 * numbers; k++) { /* short numbers */
        uint64_t word = bytes[at++];
        if (word == 255)
            for (int i = 0; i < 8 && at < size; i++)
                word = word << 8 | bytes[at++];
        words[k / (2 * numbers)][k % (2 * numbers)] = word;
    }
    fplt_status status = kept[which]->kind->report(kept[which], names, of, SITES, &report, &error);
    promise(!status || (status == error.status && *error.text));
    promise(!status || status == FPLT_BAD_DATA || status == FPLT_NO_MEMORY);
    if (!status)
        check_report(&report);
    return 0;
}
