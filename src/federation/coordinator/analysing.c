/* An analysis over the network: the counts of all members, combined and written. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/memory.h"
#include "federation/coordinator/coordinator.h"

enum { WRITE_SECONDS = 5 };

void fplt__coordinator_forget_analysis(fplt__coordinator *c)
{
    struct fplt__coordinator_analysis *a = &c->analysis;
    for (uint32_t i = 0; a->words && i < c->members; i++)
        fplt__free(a->words[i]);
    fplt__free(a->words);
    fplt__analysis_close(a->analysis);
    fplt__analysis_report_clear(&a->report);
    memset(a, 0, sizeof *a);
}

fplt_status fplt__coordinator_check_idle(const char *folder, fplt_error *error)
{
    char path[4200];
    fplt__leader_store *store;
    fplt__leader_loaded loaded;
    uint32_t run;
    snprintf(path, sizeof path, "%s/federation.db", folder);
    if (access(path, F_OK) != 0)
        return FPLT_OK;
    fplt_status status = fplt__leader_store_open(path, &store, error);
    if (status)
        return status;
    if (!(status = fplt__leader_store_newest(store, 0, &run, error)) && run &&
        !(status = fplt__leader_store_load_end(store, run, &loaded, error))) {
        if (loaded.record.state != FPLT__DONE && loaded.record.state != FPLT__ENDED)
            status = fplt_error_set(error, FPLT_BAD_VALUE,
                                    "run %u of %s is not over, and agents keep the state of one "
                                    "run; finish it with `fedplt coordinator`, or end it with "
                                    "`fedplt federation end`",
                                    run, path);
        fplt__leader_loaded_clear(&loaded);
    }
    fplt__leader_store_close(store);
    return status;
}

fplt_status fplt__coordinator_begin_analysis(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_analysis *a = &c->analysis;
    fplt__coordinator_forget_analysis(c);
    fplt_status status = fplt__analysis_open(&c->proposal, &a->analysis, error);
    if (!status)
        status = fplt__alloc_into(&a->words, c->members, sizeof *a->words, "answers", error);
    if (status)
        return status;
    fplt__coordinator_log(c, -1, "analysis", "%s: all have agreed, and are asked for their counts",
                          a->analysis->kind->name);
    fplt__coordinator_ask(c, FPLT__FACTS_ANALYSIS, NULL, 0, 0,
                          a->analysis->kind->numbers(a->analysis));
    return FPLT_OK;
}

/* Without memory the answer is missing, which is said when all have come. */
void fplt__coordinator_remember_analysis(fplt__coordinator *c, const fplt__leader_action *action)
{
    struct fplt__coordinator_analysis *a = &c->analysis;
    uint64_t **words = &a->words[action->member_index];
    if (*words ||
        fplt__alloc_into(words, 2 * (size_t)action->numbers, sizeof **words, "answers", NULL))
        return;
    memcpy(*words, action->words, 2 * (size_t)action->numbers * sizeof **words);
    a->answered++;
    fplt__coordinator_log(c, action->member_index, "answered", "%u of %u members", a->answered,
                          c->members);
}

static fplt_status make_report(fplt__coordinator *c, fplt_error *error)
{
    struct fplt__coordinator_analysis *a = &c->analysis;
    const char **names;
    if (a->answered != c->members)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the answers of all members");
    fplt_status status = fplt__alloc_into(&names, c->members, sizeof *names, "names", error);
    for (uint32_t i = 0; i < c->members && !status; i++)
        names[i] = c->roster[i];
    if (!status)
        status = a->analysis->kind->report(a->analysis, names, (const uint64_t *const *)a->words,
                                           c->members, &a->report, error);
    fplt__free(names);
    a->is_made = !status;
    return status;
}

static fplt_status write_report(fplt__coordinator *c, fplt_error *error)
{
    const struct fplt__coordinator_analysis *a = &c->analysis;
    char out[4200], path[4300];
    fplt_status status = FPLT_OK;
    fplt__coordinator_make_out(c, out);
    for (size_t i = FPLT__ANALYSIS_FORMS; i > 0 && !status; i--) {
        const char *text = a->report.text[i - 1];
        snprintf(path, sizeof path, "%s/%s.%s", out, a->analysis->kind->name,
                 fplt__analysis_endings[i - 1]);
        if (text)
            status = fplt__file_save(path, 0666, text, strlen(text), error);
    }
    if (!status)
        snprintf(c->analysis.path, sizeof c->analysis.path, "%.500s", path);
    return status;
}

/* The run ends once the report is on disk: a coordinator that is killed before asks again, and gets the same answers. */
static void conclude(fplt__coordinator *c)
{
    struct fplt__coordinator_analysis *a = &c->analysis;
    char sentence[FPLT__SENTENCE];
    fplt_error error = {FPLT_OK, ""};
    a->write_at = 0;
    if (write_report(c, &error)) {
        fplt__coordinator_log(c, -1, "disk", "%s; trying again", error.text);
        a->write_at = fplt__now() + WRITE_SECONDS;
        return;
    }
    snprintf(sentence, sizeof sentence, "%s of %u members; result in %.300s",
             a->analysis->kind->name, c->members, a->path);
    fplt__leader_event event = {.kind = FPLT__LEADER_CONCLUDE, .sentence = sentence};
    fplt__coordinator_handle(c, &event);
}

fplt_status fplt__coordinator_end_analysis(fplt__coordinator *c, fplt_error *error)
{
    FPLT__ASSERT(c->analysis.analysis && !c->analysis.is_made);
    fplt_status status = make_report(c, error);
    if (!status)
        conclude(c);
    return status;
}

void fplt__coordinator_tend_analysis(fplt__coordinator *c)
{
    if (c->analysis.write_at && fplt__now() >= c->analysis.write_at)
        conclude(c);
}

void fplt__coordinator_add_analysis(const fplt__coordinator *c, json_t *status)
{
    const struct fplt__coordinator_analysis *a = &c->analysis;
    if (!fplt__is_analysis(&c->proposal))
        return;
    json_t *found = json_pack("{s:s, s:i, s:i}", "kind", c->proposal.analysis.kind, "answered",
                              (int)a->answered, "members", (int)c->members);
    if (a->is_made && a->report.text[0])
        json_object_set_new(found, "text", json_string(a->report.text[0]));
    if (a->is_made && a->report.text[2])
        json_object_set_new(found, "result", json_loads(a->report.text[2], 0, NULL));
    json_object_set_new(status, "analysis", found);
}
