/* The functions that R may call. */
#include "fedplt_r.h"

#include <R_ext/Rdynload.h>

#include "run.h"

SEXP fpltr_settings(SEXP names, SEXP texts, SEXP values, SEXP origins, SEXP kind, SEXP own_data);
SEXP fpltr_settings_rows(SEXP pointer);
SEXP fpltr_dataset(SEXP x, SEXP kept, SEXP order, SEXP label, SEXP weight, SEXP offset, SEXP sizes,
                   SEXP task, SEXP names);
SEXP fpltr_triangle(SEXP x, SEXP order, SEXP sizes, SEXP centred);
SEXP fpltr_train(SEXP settings, SEXP data, SEXP costs, SEXP start, SEXP callback);
SEXP fpltr_verify(SEXP certificate, SEXP model);
SEXP fpltr_version(void);
SEXP fpltr_look(void);
SEXP fpltr_member_start(SEXP settings, SEXP leads, SEXP agrees, SEXP cost);
SEXP fpltr_member_point(SEXP pointer, SEXP seconds);
SEXP fpltr_member_numbers(SEXP pointer, SEXP numbers);
SEXP fpltr_member_status(SEXP pointer);
SEXP fpltr_member_wait(SEXP pointer, SEXP seconds);
SEXP fpltr_member_stop(SEXP pointer);
SEXP fpltr_member_asked(SEXP pointer);
SEXP fpltr_member_answer(SEXP pointer, SEXP answer);
SEXP fpltr_federation_found(SEXP folder, SEXP name, SEXP address);
SEXP fpltr_federation_invite(SEXP folder, SEXP name);
SEXP fpltr_federation_join(SEXP code, SEXP folder, SEXP proxy);
SEXP fpltr_federation_revoke(SEXP folder, SEXP name);
SEXP fpltr_federation_members(SEXP folder);
SEXP fpltr_federation_port(void);
SEXP fpltr_federation_next(SEXP folder);
SEXP fpltr_theory(SEXP numbers);
SEXP fpltr_compare(SEXP settings, SEXP data, SEXP algorithms, SEXP numbers);
SEXP fpltr_tune(SEXP numbers, SEXP settings, SEXP data);
SEXP fpltr_paper_names(void);
SEXP fpltr_paper(SEXP numbers);
SEXP fpltr_describe(SEXP input, SEXP is_text, SEXP texts, SEXP numbers);
SEXP fpltr_meta(SEXP estimate, SEXP error, SEXP numbers);
SEXP fpltr_audit(SEXP settings, SEXP data, SEXP numbers);
SEXP fpltr_survival(SEXP input, SEXP is_text, SEXP texts, SEXP numbers);
SEXP fpltr_hazard(SEXP json, SEXP data, SEXP new_data, SEXP texts, SEXP numbers);
SEXP fpltr_hazard_test(SEXP json, SEXP data, SEXP names, SEXP numbers);
SEXP fpltr_evaluate(SEXP json, SEXP data, SEXP threshold);
SEXP fpltr_validate(SEXP settings, SEXP data, SEXP search, SEXP values, SEXP numbers);
SEXP fpltr_claims(SEXP numbers, SEXP delta);
SEXP fpltr_calibrate(SEXP numbers, SEXP threat, SEXP budget, SEXP by_noise);
SEXP fpltr_tradeoff(SEXP settings, SEXP epsilons, SEXP repeats);
SEXP fpltr_inspect(SEXP paths, SEXP texts);
SEXP fpltr_baseline(SEXP methods, SEXP names, SEXP data, SEXP numbers);

#define ENTRY(name, count)                   \
    {                                        \
#name, (DL_FUNC)&fpltr_##name, count \
    }

static const R_CallMethodDef entries[] = {ENTRY(settings, 6),
                                          ENTRY(settings_rows, 1),
                                          ENTRY(dataset, 9),
                                          ENTRY(triangle, 4),
                                          ENTRY(train, 5),
                                          ENTRY(verify, 2),
                                          ENTRY(version, 0),
                                          ENTRY(look, 0),
                                          ENTRY(member_start, 4),
                                          ENTRY(member_point, 2),
                                          ENTRY(member_numbers, 2),
                                          ENTRY(member_status, 1),
                                          ENTRY(member_wait, 2),
                                          ENTRY(member_stop, 1),
                                          ENTRY(member_asked, 1),
                                          ENTRY(member_answer, 2),
                                          ENTRY(federation_found, 3),
                                          ENTRY(federation_invite, 2),
                                          ENTRY(federation_join, 3),
                                          ENTRY(federation_revoke, 2),
                                          ENTRY(federation_members, 1),
                                          ENTRY(federation_port, 0),
                                          ENTRY(federation_next, 1),
                                          ENTRY(theory, 1),
                                          ENTRY(compare, 4),
                                          ENTRY(tune, 3),
                                          ENTRY(paper_names, 0),
                                          ENTRY(paper, 1),
                                          ENTRY(audit, 3),
                                          ENTRY(describe, 4),
                                          ENTRY(meta, 3),
                                          ENTRY(survival, 4),
                                          ENTRY(hazard, 5),
                                          ENTRY(hazard_test, 4),
                                          ENTRY(evaluate, 3),
                                          ENTRY(validate, 5),
                                          ENTRY(baseline, 4),
                                          ENTRY(claims, 2),
                                          ENTRY(calibrate, 4),
                                          ENTRY(tradeoff, 3),
                                          ENTRY(inspect, 2),
                                          {NULL, NULL, 0}};

void R_init_fedplt(DllInfo *info);
void R_unload_fedplt(DllInfo *info);

void R_unload_fedplt(DllInfo *info)
{
    (void)info;
    fpltr_run_wait_for_all();
}

void R_init_fedplt(DllInfo *info)
{
    R_registerRoutines(info, NULL, entries, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
    R_forceSymbols(info, TRUE);
}
