/* A thread pool with one job at a time. A round may last a quarter of a millisecond, so a thread
 * watches an atomic for a moment before it sleeps; only where there is a core for every thread. Helpers
 * join a job while it is open. The caller closes it when it has nothing left to do itself, and waits for
 * the helpers that joined: a helper that has not started delays nothing.
 *
 * A thread may divide its job into parts and offer them; idle threads take some. An offer
 * is a small job of its own, opened, joined and closed in the same way.
 *
 * A helper that joined and is then descheduled delays the job until it runs again. The thread that waits for it
 * spins for a moment and then sleeps, so that the kernel can run the helper on its core. The pool never changes CPU
 * affinity, neither of its workers nor of its caller: the workers inherit that of the thread that made the pool.
 *
 * Beside other busy programs helpers can cost more than they bring. So the pool keeps an account: the processor time
 * that the work took, which alone would have lasted as long, less the time that passed. After a loss it works alone
 * for many times as long. */
#include "engine/pool.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/machine.h"
#include "base/memory.h"

enum { WATCH = 4000 };

/* The state of a job: its number, whether it is closed, helpers at it. */
enum { JOB = 32, CLOSED = 1 << 16, HELPERS = CLOSED - 1, BACK = 32 };

/* Seconds. Credit is bounded, so that a program that starts later is noticed soon. One loss may be an accident:
 * it is followed by `first_alone` at most. A second loss soon after that makes the pool work alone for longer. */
struct account {
    double credit, alone_until, backoff, longest;
    double core,
        begun; /* core: the share of one that the owner has; begun: its processor time, or -1 */
    unsigned asked;
};

static const double most_credit = 2e-3, most_debt = 1e-3, times_alone = 50, first_alone = 0.05,
                    longest_alone = 1, soon = 0.1;

/* The owner's processor time is asked for now and then, because the system call takes as long as a small part; every time once it
 * was seen to have lost its core. */
enum { ASK_EVERY = 16 };
static const double whole_core = 0.95;

struct offer {
    _Alignas(64) atomic_ullong state;
    atomic_ullong taken;  /* parts taken from the front, and above BACK from the back */
    atomic_size_t helped; /* parts done by others */
    size_t count;
    void (*part)(void *, size_t, unsigned);
    void *context;
    _Alignas(64) struct account account; /* its owner writes it while others take parts */
};

struct worker {
    struct fplt__pool *pool;
    pthread_t started;
    unsigned number; /* 1 to threads - 1: number 0 is the caller */
};

struct fplt__pool {
    unsigned threads, started;
    int watch;
    struct worker *workers; /* owned; one for each thread but the caller's */
    struct offer *offers;   /* owned; one a thread */
    pthread_mutex_t mutex;
    pthread_cond_t begin, end;
    _Alignas(64) atomic_ullong state; /* what idle helpers watch is on a line of its own */
    atomic_uint open;                 /* offers that have parts left */
    _Alignas(64) atomic_uint sleepers;
    atomic_int quit;
    atomic_ullong spent; /* nanoseconds that helpers were at the job */
    struct account account;
    void (*task)(void *, unsigned);
    void *context;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static uint32_t job_of(unsigned long long state)
{
    return (uint32_t)(state >> JOB);
}

/* ---- jobs and offers ---- */

/* 0 if it is closed; `seen` is its state in both cases. */
static int join(atomic_ullong *state, unsigned long long *seen)
{
    *seen = atomic_load(state);
    while (!(*seen & CLOSED)) {
        FPLT__ASSERT((*seen & HELPERS) < HELPERS); /* one more does not reach CLOSED */
        if (atomic_compare_exchange_weak(state, seen, *seen + 1))
            return 1;
    }
    return 0;
}

static void leave(fplt__pool *pool, atomic_ullong *state)
{
    unsigned long long before = atomic_fetch_sub(state, 1);
    FPLT__ASSERT((before & HELPERS) > 0);
    if ((before & HELPERS) == 1 && before & CLOSED) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->end);
        pthread_mutex_unlock(&pool->mutex);
    }
}

static void reopen(atomic_ullong *state)
{
    unsigned long long before = atomic_load(state), next = job_of(before) + 1;
    FPLT__ASSERT((before & HELPERS) == 0); /* those of the last job have left */
    FPLT__ASSERT(before & CLOSED || before == 0);
    atomic_store(state, (next & UINT32_MAX) << JOB);
}

static void wake(fplt__pool *pool)
{
    if (!atomic_load(&pool->sleepers))
        return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->mutex);
}

/* The next parts of an offer: many at first, in the end single ones, so that all are done at the same
 * time. Half of the threads come from the front and half from the back, whichever thread makes the offer: what a thread
 * did the last time is in its cache. How many; zero when none is left. */
static size_t take_parts(const fplt__pool *pool, struct offer *offer, unsigned number,
                         size_t *first, int *last)
{
    unsigned long long seen = atomic_load(&offer->taken), unit = number & 1 ? 1ULL << BACK : 1;
    size_t taken, front, back, left;
    FPLT__ASSERT(number < pool->threads);
    do {
        front = seen & UINT32_MAX;
        back = seen >> BACK;
        FPLT__ASSERT(front + back <= offer->count);
        left = offer->count - front - back;
        if (!left)
            return 0;
        taken = left / (2 * (size_t)pool->threads);
        taken = taken ? taken : 1;
    } while (!atomic_compare_exchange_weak(&offer->taken, &seen, seen + taken * unit));
    *first = number & 1 ? offer->count - back - taken : front;
    *last = taken == left;
    FPLT__ASSERT(taken <= left);
    FPLT__ASSERT(*first >= front && *first + taken <= offer->count - (number & 1 ? back : 0));
    return taken;
}

/* Does parts of an offer until none is left and returns how many. The thread that takes the last one marks the offer. */
static size_t do_parts(fplt__pool *pool, struct offer *offer, unsigned number)
{
    size_t done = 0, first;
    int last;
    for (size_t taken; (taken = take_parts(pool, offer, number, &first, &last)) > 0;
         done += taken) {
        if (last) {
            unsigned open = atomic_fetch_sub(&pool->open, 1);
            FPLT__ASSERT(open > 0 && open <= pool->threads);
        }
        for (size_t k = 0; k < taken; k++)
            offer->part(offer->context, first + k, number);
    }
    FPLT__ASSERT(done <= offer->count);
    return done;
}

/* Parts of what others do, as long as there are any. */
static void help_with_offers(fplt__pool *pool, unsigned number)
{
    for (unsigned i = 0; i < pool->threads && atomic_load(&pool->open); i++) {
        struct offer *offer = &pool->offers[i];
        unsigned long long seen;
        if (i == number || !join(&offer->state, &seen))
            continue;
        atomic_fetch_add(&offer->helped, do_parts(pool, offer, number));
        leave(pool, &offer->state);
    }
}

/* Closes it and waits for those who joined, helping others in the meantime. */
static void close_and_wait(fplt__pool *pool, atomic_ullong *state, unsigned number, int helps)
{
    unsigned long long before = atomic_fetch_or(state, CLOSED);
    FPLT__ASSERT(!(before & CLOSED)); /* closed once */
    FPLT__ASSERT((before & HELPERS) < pool->threads);
    for (int i = 0; i < pool->watch; i++) {
        if (!(atomic_load(state) & HELPERS))
            return;
        if (helps && atomic_load(&pool->open)) {
            help_with_offers(pool, number);
            i = 0;
        }
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(state) & HELPERS)
        pthread_cond_wait(&pool->end, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

/* ---- the account ---- */

static void begin_work(struct account *account)
{
    int ask = account->core < whole_core || account->asked++ % ASK_EVERY == 0;
    account->begun = ask ? fplt__thread_time() : -1;
}

/* The processor time of work that lasted so long. */
static double end_work(struct account *account, double lasted)
{
    if (account->begun >= 0)
        account->core = lasted > 0 ? (fplt__thread_time() - account->begun) / lasted : 1;
    return account->core * lasted;
}

static void book(struct account *account, double gained, double now)
{
    FPLT__ASSERT(account->credit <= most_credit && account->credit >= -most_debt);
    account->credit += gained;
    if (account->credit > most_credit)
        account->credit = most_credit;
    if (account->credit >= -most_debt)
        return;
    int again = account->alone_until > 0 && now - account->alone_until < soon;
    account->backoff = again ? 2 * account->backoff : times_alone;
    account->longest = again ? fmin(2 * account->longest, longest_alone) : first_alone;
    account->alone_until = now + fmin(-account->backoff * account->credit, account->longest);
    FPLT__ASSERT(account->backoff >= times_alone && account->longest <= longest_alone);
    FPLT__ASSERT(account->alone_until > now);
    account->credit = 0;
    account->core = 0; /* what was known was of then */
}

/* ---- helpers ---- */

static int is_idle(const fplt__pool *pool, uint32_t done)
{
    return job_of(atomic_load(&pool->state)) == done && !atomic_load(&pool->open) &&
           !atomic_load(&pool->quit);
}

static void wait_for_work(fplt__pool *pool, uint32_t done)
{
    for (int i = 0; i < pool->watch; i++) {
        if (!is_idle(pool, done))
            return;
        relax();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (is_idle(pool, done))
        pthread_cond_wait(&pool->begin, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *help(void *argument)
{
    const struct worker *worker = argument;
    struct fplt__pool *pool = worker->pool;
    FPLT__ASSERT(worker->number > 0 && worker->number < pool->threads);
    for (uint32_t done = 0;;) {
        unsigned long long seen;
        wait_for_work(pool, done);
        if (atomic_load(&pool->quit))
            return NULL;
        if (job_of(atomic_load(&pool->state)) != done) {
            int joined = join(&pool->state, &seen);
            done = job_of(seen);
            if (joined) {
                FPLT__ASSERT(pool->task != NULL);
                double begun = fplt__thread_time();
                pool->task(pool->context, worker->number);
                atomic_fetch_add(&pool->spent,
                                 (unsigned long long)(1e9 * (fplt__thread_time() - begun)));
                leave(pool, &pool->state);
            }
        }
        help_with_offers(pool, worker->number);
    }
}

/* ---- the pool ---- */

fplt_status fplt__pool_create(unsigned threads, fplt__pool **out, fplt_error *error)
{
    *out = NULL;
    FPLT__ASSERT(threads > 0 && threads < HELPERS);
    fplt__pool *pool;
    fplt_status status = fplt__alloc_into(&pool, 1, sizeof *pool, "threads", error);
    if (status)
        return status;
    pool->threads = threads;
    pool->watch = threads <= fplt__cores(0) ? WATCH : 0;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    status = fplt__alloc_into(&pool->workers, threads, sizeof *pool->workers, "threads", error);
    if (!status)
        status = fplt__alloc_into(&pool->offers, threads, sizeof *pool->offers, "threads", error);
    for (unsigned i = 0; !status && i < threads; i++)
        atomic_store(&pool->offers[i].state, CLOSED);
    for (unsigned i = 0; !status && i + 1 < threads; i++) {
        struct worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->number = i + 1;
        if (pthread_create(&worker->started, NULL, help, worker))
            status = fplt_error_set(error, FPLT_FAILED, "thread %u of %u could not be started",
                                    i + 1, threads);
        else
            pool->started++;
    }
    if (status) {
        fplt__pool_destroy(pool);
        return status;
    }
    FPLT__ASSERT(pool->started + 1 == threads);
    *out = pool;
    return FPLT_OK;
}

void fplt__pool_destroy(fplt__pool *pool)
{
    if (!pool)
        return;
    FPLT__ASSERT(pool->started < pool->threads);
    atomic_store(&pool->quit, 1);
    wake(pool);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].started, NULL);
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->begin);
    pthread_cond_destroy(&pool->end);
    fplt__free(pool->workers);
    fplt__free(pool->offers);
    fplt__free(pool);
}

unsigned fplt__pool_threads(const fplt__pool *pool)
{
    return pool->threads;
}

void fplt__pool_run(fplt__pool *pool, void (*task)(void *context, unsigned number), void *context)
{
    if (pool->threads == 1 ||
        (pool->account.alone_until > 0 && fplt__now() < pool->account.alone_until)) {
        task(context, 0);
        return;
    }
    pool->task = task;
    pool->context = context;
    atomic_store(&pool->spent, 0);
    double begun = fplt__now();
    begin_work(&pool->account);
    reopen(&pool->state);
    wake(pool);
    task(context, 0);
    double own = end_work(&pool->account, fplt__now() - begun);
    close_and_wait(pool, &pool->state, 0, 1);
    double ended = fplt__now();
    unsigned open = atomic_load(&pool->open);
    FPLT__ASSERT(open == 0); /* offers are made inside tasks and end with them */
    book(&pool->account, own + 1e-9 * (double)atomic_load(&pool->spent) - (ended - begun), ended);
}

void fplt__pool_share(fplt__pool *pool, unsigned number, size_t count,
                      void (*part)(void *context, size_t index, unsigned who), void *context)
{
    struct offer *offer = &pool->offers[number];
    double begun = fplt__now();
    FPLT__ASSERT(number < pool->threads);
    FPLT__ASSERT(count > 0 && count <= UINT32_MAX); /* `taken` has 32 bits for each end */
    if (pool->threads == 1 || begun < offer->account.alone_until) {
        for (size_t k = 0; k < count; k++)
            part(context, k, number);
        return;
    }
    offer->count = count;
    offer->part = part;
    offer->context = context;
    atomic_store(&offer->taken, 0);
    atomic_store(&offer->helped, 0);
    atomic_fetch_add(&pool->open, 1);
    reopen(&offer->state);
    wake(pool);
    begin_work(&offer->account);
    size_t own = do_parts(pool, offer, number);
    double spent = end_work(&offer->account, fplt__now() - begun);
    close_and_wait(pool, &offer->state, number, 0);
    size_t helped = atomic_load(&offer->helped);
    FPLT__ASSERT(own + helped == count); /* each part was done once */
    double ended = fplt__now(), share = (double)helped / (double)(own ? own : 1);
    if (own)
        book(&offer->account, spent * (1 + share) - (ended - begun), ended);
}
