/* A federation over a network: coordinators and agents in threads beside R's. */
#include "fedplt/federation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "beside.h"
#include "fedplt/memory.h"
#include "fedplt_r.h"
#include "member_cost.h"

enum { EVENTS_MAX = 512, SENTENCE_MAX = 512, WORD_MAX = 64 };

typedef struct fpltr_event {
    char word[WORD_MAX], who[WORD_MAX], sentence[SENTENCE_MAX];
    double round, criterion;
} fpltr_event;

enum { QUESTION_NONE, QUESTION_ASKED, QUESTION_ANSWERED };

/* A side of a federation. `lock` protects the events, of which the last EVENTS_MAX are kept, and the question with its
 * texts and answer; outcome, status and error are written before the thread is done. */
typedef struct fpltr_member {
    fpltr_beside beside;
    fplt_settings *settings; /* belongs to an external pointer that this one keeps alive */
    int leads, agrees;
    fpltr_member_cost cost; /* zeros: it has none */
    int asks;               /* consent is a question to R's thread, which answers while it waits */
    int question;           /* QUESTION_... */
    int answer;
    char *proposal, *hash; /* owned, while the question is asked */
    fplt_federation_outcome outcome;
    fplt_status status;
    fplt_error error;
    pthread_mutex_t lock;
    size_t told; /* events in all */
    fpltr_event event[EVENTS_MAX];
} fpltr_member;

static void tell(void *context, const fplt_federation_event *event)
{
    fpltr_member *member = context;
    pthread_mutex_lock(&member->lock);
    fpltr_event *kept = &member->event[member->told++ % EVENTS_MAX];
    snprintf(kept->word, sizeof kept->word, "%s", event->word ? event->word : "");
    snprintf(kept->who, sizeof kept->who, "%s", event->who ? event->who : "");
    snprintf(kept->sentence, sizeof kept->sentence, "%s", event->sentence ? event->sentence : "");
    kept->round = (double)event->round;
    kept->criterion = event->criterion;
    pthread_mutex_unlock(&member->lock);
}

static int should_stop(void *context)
{
    return atomic_load(&((fpltr_member *)context)->beside.stop);
}

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static void end_question(fpltr_member *member)
{
    free(member->proposal);
    free(member->hash);
    member->proposal = member->hash = NULL;
    member->question = QUESTION_NONE;
}

/* Called in the member's thread. R's thread runs the person's function and answers; an end of the member is no consent. */
static int ask_main_thread(fpltr_member *member, const char *proposal, const char *hash)
{
    const struct timespec tick = {0, 10000000};
    int answer = 0, open = 1;
    pthread_mutex_lock(&member->lock);
    member->proposal = copy_text(proposal);
    member->hash = copy_text(hash);
    if (!member->proposal || !member->hash)
        open = 0;
    else
        member->question = QUESTION_ASKED;
    pthread_mutex_unlock(&member->lock);
    while (open && !atomic_load(&member->beside.stop)) {
        nanosleep(&tick, NULL);
        pthread_mutex_lock(&member->lock);
        open = member->question != QUESTION_ANSWERED;
        if (!open)
            answer = member->answer;
        pthread_mutex_unlock(&member->lock);
    }
    pthread_mutex_lock(&member->lock);
    end_question(member);
    pthread_mutex_unlock(&member->lock);
    return answer;
}

static int agree(void *context, const char *proposal, const char *hash)
{
    fpltr_member *member = context;
    return member->asks ? ask_main_thread(member, proposal, hash) : member->agrees;
}

static void take_part(void *context)
{
    fpltr_member *member = context;
    fplt_federation_watch watch = {
        .size = sizeof watch, .context = member, .tell = tell, .stop = should_stop, .agree = agree};
    if (member->cost.stop)
        watch.cost = &member->cost.table;
    member->status = (member->leads ? fplt_federation_lead : fplt_federation_take_part)(
        member->settings, &watch, &member->outcome, &member->error);
}

static void finalize_member(SEXP pointer)
{
    fpltr_member *member = R_ExternalPtrAddr(pointer);
    if (!member)
        return;
    fpltr_beside_end(&member->beside);
    end_question(member);
    fpltr_member_cost_end(&member->cost);
    pthread_mutex_destroy(&member->lock);
    free(member);
    R_ClearExternalPtr(pointer);
}

static fpltr_member *member_of(SEXP pointer)
{
    fpltr_member *member = R_ExternalPtrAddr(pointer);
    if (!member)
        Rf_error("this coordinator or agent belongs to an R process that has ended");
    return member;
}

/* Starts a coordinator (leads) or an agent. agrees: consent to every proposal that no policy answers; NA: each is a
 * question, which fpltr_member_asked gives and fpltr_member_answer answers. cost: as fpltr_member_cost_begin takes it, or
 * NULL. */
SEXP fpltr_member_start(SEXP settings, SEXP leads, SEXP agrees, SEXP cost)
{
    SEXP pointer = PROTECT(fpltr_pointer(finalize_member));
    fpltr_member *member = calloc(1, sizeof *member);
    if (!member)
        Rf_error("no memory");
    pthread_mutex_init(&member->lock, NULL);
    R_SetExternalPtrAddr(pointer, member);
    R_SetExternalPtrProtected(pointer, settings);
    member->settings = fpltr_settings_of(settings);
    member->leads = Rf_asLogical(leads);
    member->agrees = Rf_asLogical(agrees) == TRUE;
    member->asks = Rf_asLogical(agrees) == NA_LOGICAL;
    if (!Rf_isNull(cost))
        fpltr_member_cost_begin(&member->cost, cost, &member->beside.stop);
    member->beside.work = take_part;
    member->beside.context = member;
    if (fpltr_beside_start(&member->beside))
        Rf_error("no thread could be started");
    UNPROTECT(1);
    return pointer;
}

static SEXP events_list(fpltr_member *member)
{
    static const char *const names[] = {"word", "who", "sentence", "round", "criterion"};
    static const SEXPTYPE types[] = {STRSXP, STRSXP, STRSXP, REALSXP, REALSXP};
    fpltr_event *copy = (fpltr_event *)R_alloc(EVENTS_MAX, sizeof *copy);
    pthread_mutex_lock(&member->lock);
    size_t told = member->told, count = told < EVENTS_MAX ? told : EVENTS_MAX;
    for (size_t i = 0; i < count; i++)
        copy[i] = member->event[(told - count + i) % EVENTS_MAX];
    pthread_mutex_unlock(&member->lock);
    SEXP list = PROTECT(fpltr_list(names, 5));
    for (int k = 0; k < 5; k++)
        SET_VECTOR_ELT(list, k, Rf_allocVector(types[k], (R_xlen_t)count));
    for (size_t i = 0; i < count; i++) {
        R_xlen_t at = (R_xlen_t)i;
        SET_STRING_ELT(VECTOR_ELT(list, 0), at, Rf_mkCharCE(copy[i].word, CE_UTF8));
        SET_STRING_ELT(VECTOR_ELT(list, 1), at,
                       copy[i].who[0] ? Rf_mkCharCE(copy[i].who, CE_UTF8) : NA_STRING);
        SET_STRING_ELT(VECTOR_ELT(list, 2), at, Rf_mkCharCE(copy[i].sentence, CE_UTF8));
        REAL(VECTOR_ELT(list, 3))[at] = copy[i].round;
        REAL(VECTOR_ELT(list, 4))[at] = isnan(copy[i].criterion) ? NA_REAL : copy[i].criterion;
    }
    UNPROTECT(1);
    return list;
}

/* list(running, finished, rounds, outcome, sentence, model, failure, events); failure: the sentence of an error, or NA. */
SEXP fpltr_member_status(SEXP pointer)
{
    static const char *const names[] = {"running",  "finished", "rounds",  "outcome",
                                        "sentence", "model",    "failure", "events"};
    fpltr_member *member = member_of(pointer);
    int done = !member->beside.started || atomic_load(&member->beside.done);
    SEXP list = PROTECT(fpltr_list(names, sizeof names / sizeof *names));
    SET_VECTOR_ELT(list, 0, Rf_ScalarLogical(!done));
    SET_VECTOR_ELT(list, 1, Rf_ScalarLogical(done && member->outcome.finished));
    SET_VECTOR_ELT(list, 2, Rf_ScalarReal(done ? (double)member->outcome.rounds : NA_REAL));
    SET_VECTOR_ELT(list, 3, fpltr_text(done ? member->outcome.outcome : NULL));
    SET_VECTOR_ELT(list, 4, fpltr_text(done ? member->outcome.sentence : NULL));
    SET_VECTOR_ELT(list, 5,
                   fpltr_text(done && member->outcome.model[0] ? member->outcome.model : NULL));
    SET_VECTOR_ELT(list, 6, fpltr_text(done && member->status ? member->error.text : NULL));
    SET_VECTOR_ELT(list, 7, events_list(member));
    UNPROTECT(1);
    return list;
}

/* Waits at most so many seconds (negative: for ever). An interrupt ends the member in order. */
SEXP fpltr_member_wait(SEXP pointer, SEXP seconds)
{
    fpltr_member *member = member_of(pointer);
    if (fpltr_beside_wait(&member->beside, Rf_asReal(seconds)))
        fpltr_interrupt();
    return R_NilValue;
}

/* Asks it to end in order. */
SEXP fpltr_member_stop(SEXP pointer)
{
    atomic_store(&member_of(pointer)->beside.stop, 1);
    return R_NilValue;
}

/* The question of an agent, list(proposal, hash); NULL: there is none. */
SEXP fpltr_member_asked(SEXP pointer)
{
    static const char *const names[] = {"proposal", "hash"};
    fpltr_member *member = member_of(pointer);
    char *copy[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    pthread_mutex_lock(&member->lock);
    int asked = member->question == QUESTION_ASKED;
    if (asked) {
        size[0] = strlen(member->proposal) + 1;
        size[1] = strlen(member->hash) + 1;
    }
    pthread_mutex_unlock(&member->lock);
    if (!asked)
        return R_NilValue;
    for (int i = 0; i < 2; i++) /* no lock is held while R allocates */
        copy[i] = R_alloc(size[i], 1);
    pthread_mutex_lock(&member->lock);
    asked = member->question == QUESTION_ASKED; /* the member may have ended meanwhile */
    if (asked) {
        snprintf(copy[0], size[0], "%s", member->proposal);
        snprintf(copy[1], size[1], "%s", member->hash);
    }
    pthread_mutex_unlock(&member->lock);
    if (!asked)
        return R_NilValue;
    SEXP list = PROTECT(fpltr_list(names, 2));
    for (int i = 0; i < 2; i++)
        SET_VECTOR_ELT(list, i, fpltr_text(copy[i]));
    UNPROTECT(1);
    return list;
}

/* answer: TRUE is consent. */
SEXP fpltr_member_answer(SEXP pointer, SEXP answer)
{
    fpltr_member *member = member_of(pointer);
    int consent = Rf_asLogical(answer) == TRUE;
    pthread_mutex_lock(&member->lock);
    if (member->question == QUESTION_ASKED) {
        member->answer = consent;
        member->question = QUESTION_ANSWERED;
    }
    pthread_mutex_unlock(&member->lock);
    return R_NilValue;
}

/* The next question of an agent's cost within so many seconds, list(gradient, x), or NULL. */
SEXP fpltr_member_point(SEXP pointer, SEXP seconds)
{
    fpltr_member *member = member_of(pointer);
    return member->cost.stop ? fpltr_member_cost_asked(&member->cost, Rf_asReal(seconds))
                             : R_NilValue;
}

/* Answers it; whether the numbers were such that it could. */
SEXP fpltr_member_numbers(SEXP pointer, SEXP numbers)
{
    fpltr_member *member = member_of(pointer);
    return Rf_ScalarLogical(member->cost.stop && fpltr_member_cost_answer(&member->cost, numbers));
}

SEXP fpltr_federation_found(SEXP folder, SEXP name, SEXP address)
{
    fplt_error error = {.status = FPLT_OK};
    fpltr_check(fplt_federation_found(fpltr_string(folder), fpltr_string(name),
                                      fpltr_string(address), &error),
                &error);
    return R_NilValue;
}

SEXP fpltr_federation_invite(SEXP folder, SEXP name)
{
    fplt_error error = {.status = FPLT_OK};
    char *code = NULL;
    fpltr_check(fplt_federation_invite(fpltr_string(folder), fpltr_string(name), &code, &error),
                &error);
    char *copy = R_alloc(strlen(code) + 1, 1);
    strcpy(copy, code);
    fplt_free(code);
    return fpltr_text(copy);
}

SEXP fpltr_federation_join(SEXP code, SEXP folder, SEXP proxy)
{
    fplt_error error = {.status = FPLT_OK};
    char name[64] = "";
    fpltr_check(fplt_federation_join(fpltr_string(code), fpltr_string(folder), fpltr_string(proxy),
                                     name, &error),
                &error);
    return fpltr_text(name);
}

SEXP fpltr_federation_revoke(SEXP folder, SEXP name)
{
    fplt_error error = {.status = FPLT_OK};
    fpltr_check(fplt_federation_revoke(fpltr_string(folder), fpltr_string(name), &error), &error);
    return R_NilValue;
}

/* The number of the next analysis. */
SEXP fpltr_federation_next(SEXP folder)
{
    fplt_error error = {.status = FPLT_OK};
    uint32_t run;
    fpltr_check(fplt_federation_next_analysis(fpltr_string(folder), &run, &error), &error);
    return Rf_ScalarReal(run);
}

SEXP fpltr_federation_port(void)
{
    fplt_error error = {.status = FPLT_OK};
    unsigned port = 0;
    fpltr_check(fplt_federation_port(&port, &error), &error);
    return Rf_ScalarInteger((int)port);
}

enum { MEMBERS_MAX = 10000 };

typedef struct fpltr_roster {
    size_t count;
    char (*text)[3][WORD_MAX];
} fpltr_roster;

static void keep_member(void *context, const fplt_federation_member *member)
{
    fpltr_roster *roster = context;
    if (roster->count == MEMBERS_MAX)
        return;
    snprintf(roster->text[roster->count][0], WORD_MAX, "%s", member->name);
    snprintf(roster->text[roster->count][1], WORD_MAX, "%s", member->state);
    snprintf(roster->text[roster->count][2], WORD_MAX, "%s", member->until);
    roster->count++;
}

SEXP fpltr_federation_members(SEXP folder)
{
    static const char *const names[] = {"name", "state", "until"};
    fplt_error error = {.status = FPLT_OK};
    fpltr_roster roster = {.text = (char(*)[3][WORD_MAX])R_alloc(MEMBERS_MAX, sizeof *roster.text)};
    fpltr_check(fplt_federation_members(fpltr_string(folder), keep_member, &roster, &error),
                &error);
    SEXP list = PROTECT(fpltr_list(names, 3));
    for (int k = 0; k < 3; k++) {
        SET_VECTOR_ELT(list, k, Rf_allocVector(STRSXP, (R_xlen_t)roster.count));
        for (size_t i = 0; i < roster.count; i++)
            SET_STRING_ELT(VECTOR_ELT(list, k), (R_xlen_t)i,
                           Rf_mkCharCE(roster.text[i][k], CE_UTF8));
    }
    UNPROTECT(1);
    return list;
}
