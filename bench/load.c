/* The load of a federation without the agents' own work: one process plays all agents over mutual TLS.
 * They speak the real messages (join, consent, facts, next, update), but an update's words are made once
 * and sent in every round, with the task, chain and digest that belong to them. What is left is the
 * coordinator, which is the real one. And what it is held against:
 *
 *     load found FOLDER AGENTS                       makes the agents' certificates, all with one key
 *     load play FOLDER PORT AGENTS DIMENSION SECONDS PID
 *                                                    plays them against the coordinator of that PID
 *     load raw FOLDER AGENTS DOWN UP SECONDS         the same bytes over as many connections of TLS
 *                                                    alone: two processes with one thread each, as above
 *     load words                                     words added, beside a copy in memory
 *
 * play and raw say what they saw as JSON: seconds of the quickest round, since other programs on the
 * machine can only make one slower, and on average; processor time of the serving side a round. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "engine/hub_node.h"
#include "figure.h"
#include "base/file.h"
#include "base/sum.h"
#include "pki/authority.h"
#include "http/channel.h"
#include "http/server.h"
#include "federation/plan/plan_resolution.h"
#include "wire/frame.h"
#include "wire/message.h"

enum { KEPT = 2048, ROOM = 4096, EVENTS = 256, WARM_UP = 2, PARTS = 3, RECORD = 16384 };

static const char priority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3"; /* as the coordinator's */

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "load: %s: %s\n", what, why);
    exit(1);
}

static void check(fplt_status status, const fplt_error *error)
{
    if (status)
        fail("failed", error->text);
}

static double clock_of(clockid_t id)
{
    struct timespec time;
    clock_gettime(id, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static double drawn(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* What an agent sends in its first rounds: how a vector changed, exactly, at 8 bytes a number. */
static void make_words(size_t count, uint64_t *words)
{
    fplt_error error;
    fplt__sum *sum;
    uint64_t state = 1;
    double *x;
    check(fplt__alloc_into(&x, 2 * count, sizeof *x, "numbers", &error), &error);
    for (size_t i = 0; i < 2 * count; i++)
        x[i] = drawn(&state);
    check(fplt__sum_create(count, FPLT_SUM_EXPONENT, &sum, &error), &error);
    check(fplt__sum_add_change(sum, 0, x, x + count, count), &error);
    fplt__sum_export(sum, 0, words, count);
    fplt__sum_destroy(sum);
    fplt__free(x);
}

/* A connection */

typedef struct line {
    int descriptor;
    gnutls_session_t tls;
    struct {
        const uint8_t *bytes;
        size_t size;
    } out[PARTS]; /* what is being sent */
    size_t out_done;
    int out_part;
    size_t to_come;          /* raw: bytes of this round */
    fplt__http_channel lean; /* played: reads and sends as the coordinator does */
} line;

static uint64_t bytes_in, bytes_out;

static void say(line *l, const void *front, size_t front_size, const void *body, size_t body_size,
                const void *back, size_t back_size)
{
    l->out[0].bytes = front;
    l->out[0].size = front_size;
    l->out[1].bytes = body;
    l->out[1].size = body_size;
    l->out[2].bytes = back;
    l->out[2].size = back_size;
    l->out_done = 0;
    l->out_part = 0;
}

static int again(ssize_t code)
{
    return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED;
}

/* Bytes behind the part that is being sent. */
static size_t behind(const line *l)
{
    size_t size = 0;
    for (int part = l->out_part + 1; part < PARTS; part++)
        size += l->out[part].size;
    return size;
}

/* The next record where it has bytes of several parts. */
static size_t gather(const line *l, uint8_t *record)
{
    size_t used = 0, done = l->out_done;
    for (int part = l->out_part; part < PARTS && used < RECORD; part++, done = 0) {
        size_t left = l->out[part].size - done, room = RECORD - used;
        size_t take = left < room ? left : room;
        if (take)
            memcpy(record + used, l->out[part].bytes + done, take);
        used += take;
    }
    return used;
}

static void have_sent(line *l, size_t sent)
{
    bytes_out += sent;
    while (sent) {
        size_t left = l->out[l->out_part].size - l->out_done, take = left < sent ? left : sent;
        l->out_done += take;
        sent -= take;
        if (sent) {
            l->out_part++;
            l->out_done = 0;
        }
    }
}

/* Sends as much as the connection takes. */
static void push(line *l)
{
    static uint8_t record[RECORD];
    while (l->out_part < PARTS) {
        size_t left = l->out[l->out_part].size - l->out_done, later = behind(l);
        const uint8_t *bytes = l->out[l->out_part].bytes + l->out_done;
        if (!left) {
            l->out_part++;
            l->out_done = 0;
            continue;
        }
        l->lean.more = left + later > RECORD;
        if (left < RECORD && later) {
            left = gather(l, record);
            bytes = record;
        }
        ssize_t sent = gnutls_record_send(l->tls, bytes, left);
        if (again(sent))
            return;
        if (sent < 0)
            fail("sending", gnutls_strerror((int)sent));
        have_sent(l, (size_t)sent);
    }
}

/* Bytes received, 0 where there are none just now. */
static size_t pull(line *l, uint8_t *bytes, size_t room)
{
    ssize_t got = gnutls_record_recv(l->tls, bytes, room);
    if (again(got))
        return 0;
    if (got <= 0)
        fail("receiving", got ? gnutls_strerror((int)got) : "the connection was closed");
    bytes_in += (uint64_t)got;
    return (size_t)got;
}

static int watch_all(line *const *lines, size_t count)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = lines[i]};
        fcntl(lines[i]->descriptor, F_SETFL, O_NONBLOCK);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, lines[i]->descriptor, &event))
            fail("epoll", strerror(errno));
    }
    return epoll;
}

static void shake_hands(line *l, unsigned flags, gnutls_certificate_credentials_t credentials)
{
    int code, yes = 1;
    setsockopt(l->descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    gnutls_init(&l->tls, flags);
    gnutls_priority_set_direct(l->tls, priority, NULL);
    gnutls_credentials_set(l->tls, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(l->tls, l->descriptor);
    do
        code = gnutls_handshake(l->tls);
    while (code < 0 && !gnutls_error_is_fatal(code));
    if (code < 0)
        fail("handshake", gnutls_strerror(code));
}

static void dial(line *l, unsigned port, gnutls_certificate_credentials_t credentials)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    l->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->descriptor < 0 || connect(l->descriptor, (struct sockaddr *)&to, sizeof to))
        fail("connect", strerror(errno));
    shake_hands(l, GNUTLS_CLIENT, credentials);
}

static gnutls_certificate_credentials_t credentials_of(const char *folder, const char *certificate,
                                                       const char *key)
{
    gnutls_certificate_credentials_t made;
    char path[2][4200];
    snprintf(path[0], sizeof path[0], "%s/%s", folder, certificate);
    snprintf(path[1], sizeof path[1], "%s/%s", folder, key);
    gnutls_certificate_allocate_credentials(&made);
    int code = gnutls_certificate_set_x509_key_file(made, path[0], path[1], GNUTLS_X509_FMT_PEM);
    if (code < 0)
        fail(path[0], gnutls_strerror(code));
    return made;
}

/* An agent that is played */

enum step { JOINS, CONSENTS, ASKS, SENDS };

typedef struct player {
    line line; /* first: the loop finds the player by it */
    enum step step;
    uint64_t session, sequence;
    uint32_t member_index;
    fplt__digest document;
    int planned;
    uint64_t version;
    fplt__digest chain, next_chain;
    int staged;
    uint64_t round;
    fplt__digest work;
    uint8_t front[ROOM]; /* headers, and small bodies or the frame's head behind them */
    uint8_t frame[FPLT__FRAME_HEAD + 64]; /* waits for leave to be sent */
    size_t frame_size;
    const uint8_t *payload;
    size_t payload_size;
    char report[ROOM]; /* behind a small update */
    size_t report_size;
    char head[ROOM]; /* of the answer */
    size_t head_size;
    int in_body;
    unsigned status;
    uint64_t to_come, got;
    uint8_t kept[KEPT];
} player;

static struct {
    size_t dimension, agents, done;
    uint8_t *payload[2]; /* of even and odd rounds: the one takes back the other */
    size_t size[2];
    fplt__digest digest[2];
    double seconds, begun, ended, last, quickest, used, played;
    uint64_t newest, first, in, out, faults;
    int has_task;
    clockid_t coordinator;
} show;

static void make_payloads(size_t count)
{
    uint64_t *words;
    fplt_error error;
    check(fplt__alloc_into(&words, 2 * count, sizeof *words, "numbers", &error), &error);
    make_words(count, words);
    for (int k = 0; k < 2; k++) {
        show.size[k] = fplt__words_pack(words, count, NULL, 0);
        check(fplt__alloc_into(&show.payload[k], show.size[k], 1, "numbers", &error), &error);
        fplt__words_pack(words, count, show.payload[k], show.size[k]);
        show.digest[k] = fplt__body_hash(show.payload[k], show.size[k]);
        for (size_t i = 0; i < count; i++) { /* -x */
            uint64_t low = words[2 * i];
            words[2 * i] = -low;
            words[2 * i + 1] = ~words[2 * i + 1] + (low == 0);
        }
    }
    fplt__free(words);
}

/* Starts a request; `body` is copied where it is small, else sent when the coordinator says so. */
static void request(player *p, enum step step, const char *method, const char *path,
                    const void *body, size_t size, const uint8_t *payload, size_t payload_size)
{
    int waits = size + payload_size > FPLT_RECEIVE_BUFFER; /* as fplt__client_call */
    int used = snprintf((char *)p->front, sizeof p->front,
                        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n", method,
                        path, size + payload_size + (waits ? 0 : p->report_size));
    if (step != JOINS)
        used += snprintf((char *)p->front + used, sizeof p->front - (size_t)used,
                         "Fedplt-Session: %llu.%llu\r\n", (unsigned long long)p->session,
                         (unsigned long long)++p->sequence);
    used += snprintf((char *)p->front + used, sizeof p->front - (size_t)used, "%s\r\n",
                     waits ? "Expect: 100-continue\r\n" : "");
    p->step = step;
    p->head_size = 0;
    p->in_body = 0;
    p->payload = payload;
    p->payload_size = payload_size;
    if (!waits && size) {
        memcpy(p->front + used, body, size);
        used += (int)size;
    }
    say(&p->line, p->front, (size_t)used, waits ? NULL : payload, waits ? 0 : payload_size,
        p->report, waits ? 0 : p->report_size);
    p->report_size = 0;
    push(&p->line);
}

static void request_text(player *p, enum step step, const char *path, char *text)
{
    request(p, step, "POST", path, text, text ? strlen(text) : 0, NULL, 0);
    fplt__free(text);
}

static void join(player *p)
{
    request_text(p, JOINS, "/v1/join", NULL);
}

static void consent(player *p)
{
    fplt__consent consent = {.document = p->document, .agreed = 1, .records = 2};
    fplt_error error;
    char *text;
    check(fplt__consent_text(&consent, &text, &error), &error);
    request_text(p, CONSENTS, "/v1/consent", text);
}

static char *report_of(const player *p)
{
    fplt__report report = {.plan = p->document, .version = p->version, .chain = p->chain};
    fplt_error error;
    char *text;
    report.has_staged = p->staged;
    report.staged.round = p->round;
    report.staged.digest = p->work;
    check(fplt__report_text(&report, &text, &error), &error);
    return text;
}

static void ask(player *p)
{
    request_text(p, ASKS, "/v1/next", report_of(p));
}

static void update(player *p, fplt__frame *frame, const double *scalars, const uint8_t *payload,
                   size_t size)
{
    frame->payload = size;
    fplt__frame_write(frame, p->frame);
    p->frame_size = FPLT__FRAME_HEAD + 8 * frame->scalars;
    if (scalars)
        memcpy(p->frame + FPLT__FRAME_HEAD, scalars, 8 * frame->scalars);
    if (p->frame_size + size <= FPLT_RECEIVE_BUFFER) { /* as an agent does */
        char *text = report_of(p);
        p->report_size = (size_t)snprintf(p->report, sizeof p->report, "%s", text);
        fplt__free(text);
    }
    request(p, SENDS, "PUT", "/v1/update", p->frame, p->frame_size, payload, size);
}

static void answer_facts(player *p, fplt__frame *frame)
{
    fplt__form form = {FPLT_TASK_BINARY, show.dimension, 1, 1};
    double scalars[FPLT__FORM_ANSWERS] = {0}; /* the last: without names, which a schema has */
    int bend = frame->exchange == FPLT__FACTS_CURVATURE;
    fplt__form_scalars(&form, scalars);
    const double curves[FPLT__CURVATURE_SCALARS] = {0, 0.5, 0, (double)show.dimension};
    frame->scalars = bend ? FPLT__CURVATURE_SCALARS : FPLT__FORM_ANSWERS;
    frame->digest = fplt__body_hash(bend ? curves : scalars, 8 * frame->scalars);
    update(p, frame, bend ? curves : scalars, NULL, 0);
}

/* The criterion is asked for once, before the first round: zeros will do. */
static void answer_zeros(player *p, fplt__frame *frame)
{
    static uint8_t *zeros;
    fplt_error error;
    frame->count = show.dimension + (frame->kind == FPLT__MEASURE ? FPLT__MEASURES : 0);
    size_t size = 2 * ((frame->count + 63) / 64);
    if (!zeros) /* for the longer of both */
        check(fplt__alloc_into(&zeros, size + 64, 1, "zeros", &error), &error);
    frame->digest = fplt__body_hash(zeros, size);
    update(p, frame, NULL, zeros, size);
}

/* A round begins with the first task of it that arrives. */
static void note_round(uint64_t round)
{
    if (show.has_task && round <= show.newest)
        return;
    show.has_task = 1;
    show.newest = round;
    double time = now();
    if (round == WARM_UP) {
        show.begun = show.last = time;
        show.quickest = 1e9;
        show.first = round;
        show.in = bytes_in;
        show.out = bytes_out;
        show.used = clock_of(show.coordinator);
        show.played = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    } else if (round > WARM_UP) {
        double took = time - show.last;
        show.quickest = took < show.quickest ? took : show.quickest;
        show.last = time;
        show.ended = time - show.begun > show.seconds ? time : 0;
    }
}

static void train(player *p, fplt__frame *frame)
{
    unsigned k = frame->round % 2;
    note_round(frame->round);
    if (frame->count != show.dimension)
        fail("the coordinator", "asks for another dimension");
    frame->digest = show.digest[k];
    fplt__answer answer = {frame->task, frame->digest};
    fplt__digest none = {{0}};
    p->staged = 1;
    p->round = frame->round;
    p->work = fplt__work_digest(&answer, 1);
    p->next_chain = fplt__chain_next(&p->chain, frame->round, &p->work, &none);
    update(p, frame, NULL, show.payload[k], show.size[k]);
}

/* Answers the task among the frames that came; only their heads were kept. */
static void take_frames(player *p)
{
    uint64_t at = 0;
    fplt_error error;
    fplt__frame frame;
    while (at < p->to_come) {
        check(fplt__frame_read(p->kept + at, &frame, &error), &error);
        uint64_t behind = at + FPLT__FRAME_HEAD + fplt__frame_body(&frame);
        if (frame.kind == FPLT__VERDICT) {
            p->version += frame.cohort;
            p->chain = frame.cohort ? p->next_chain : p->chain;
            p->staged = 0;
        } else {
            frame.task = fplt__frame_task(p->kept + at);
            frame.encoding = FPLT__PACKED;
            frame.cohort = 1;
            frame.position = 0;
            frame.chain = p->chain;
            frame.scalars = 0;
            if (frame.kind == FPLT__MOMENTS) {
                frame.count = 0;
                answer_facts(p, &frame);
            } else if (frame.kind == FPLT__TRAIN) {
                train(p, &frame);
            } else {
                answer_zeros(p, &frame);
            }
            return;
        }
        at = behind;
    }
    ask(p);
}

static void take_join(player *p)
{
    fplt__joined joined;
    fplt__digest none = {{0}};
    fplt_error error;
    check(fplt__joined_read(p->kept, (size_t)p->got, &joined, &error), &error);
    p->session = joined.session;
    p->sequence = 0;
    p->member_index = joined.member_index;
    p->document = joined.document;
    p->planned = joined.planned;
    p->chain = fplt__chain_begin(&p->document, 0, p->member_index, &none);
    consent(p);
}

static void take_answer(player *p)
{
    if (p->step == JOINS && p->status == 200) {
        take_join(p);
    } else if (p->step == CONSENTS && p->status == 200) {
        ask(p);
    } else if ((p->step == ASKS || p->step == SENDS) && p->status == 200 && p->to_come) {
        take_frames(p);
    } else if ((p->step == ASKS || p->step == SENDS) && p->status < 300) {
        ask(p);
    } else if (p->status == 409 && !p->version) { /* the plan has come */
        join(p);
    } else if (p->status == 503) {
        show.faults++;
        ask(p);
    } else {
        p->kept[p->got < KEPT ? p->got : KEPT - 1] = 0;
        fail("refused", (const char *)p->kept);
    }
}

static void read_head(player *p)
{
    const char *length = NULL;
    p->head[p->head_size] = 0;
    p->status = (unsigned)strtoul(p->head + 9, NULL, 10);
    for (const char *at = p->head; (at = strstr(at, "\r\n")); at += 2)
        if (strncasecmp(at + 2, "Content-Length:", 15) == 0)
            length = at + 17;
    p->head_size = 0;
    if (p->status == 100) {
        say(&p->line, p->frame, p->frame_size, p->payload, p->payload_size, NULL, 0);
        push(&p->line);
        return;
    }
    p->to_come = length ? strtoull(length, NULL, 10) : 0;
    p->got = 0;
    p->in_body = 1;
    if (!p->to_come)
        take_answer(p);
}

/* A head mostly comes whole. */
static size_t take_head(player *p, const uint8_t *bytes, size_t size)
{
    const uint8_t *end = p->head_size ? NULL : memmem(bytes, size, "\r\n\r\n", 4);
    size_t used = end ? (size_t)(end - bytes) + 4 : 0;
    if (!used || used >= sizeof p->head)
        return 0;
    memcpy(p->head, bytes, used);
    p->head_size = used;
    read_head(p);
    return used;
}

static void take_bytes(player *p, const uint8_t *bytes, size_t size)
{
    if (!p->in_body) {
        size_t used = take_head(p, bytes, size);
        bytes += used;
        size -= used;
    }
    while (size && !p->in_body) {
        if (p->head_size + 1 == sizeof p->head)
            fail("an answer", "its headers do not end");
        p->head[p->head_size++] = (char)*bytes++;
        size--;
        if (p->head_size > 3 && memcmp(p->head + p->head_size - 4, "\r\n\r\n", 4) == 0)
            read_head(p);
    }
    if (!size)
        return;
    if (p->got < KEPT)
        memcpy(p->kept + p->got, bytes, size < KEPT - p->got ? size : KEPT - p->got);
    p->got += size;
    if (p->got == p->to_come)
        take_answer(p);
}

static double peak_of(const char *pid)
{
    char path[64], text[256];
    double peak = 0;
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(text, sizeof text, file))
        sscanf(text, "VmHWM: %lf", &peak);
    if (file)
        fclose(file);
    return peak / 1024;
}

static void report(const char *pid)
{
    double rounds = (double)(show.newest - show.first);
    printf("{\"rounds\": %.0f, \"quickest\": %.6f, \"average\": %.6f, \"processor\": %.6f, "
           "\"players\": %.6f, \"up\": %.0f, \"down\": %.0f, \"payload\": %zu, \"memory\": %.1f, "
           "\"faults\": %llu}\n",
           rounds, show.quickest, (show.ended - show.begun) / rounds,
           (clock_of(show.coordinator) - show.used) / rounds,
           (clock_of(CLOCK_PROCESS_CPUTIME_ID) - show.played) / rounds,
           (double)(bytes_out - show.out) / rounds, (double)(bytes_in - show.in) / rounds,
           show.size[0], peak_of(pid), (unsigned long long)show.faults);
}

static int play(char **words)
{
    const char *folder = words[0];
    unsigned port = (unsigned)atoi(words[1]);
    static uint8_t buffer[65536];
    fplt_error error;
    show.agents = strtoul(words[2], NULL, 10);
    show.dimension = strtoul(words[3], NULL, 10);
    show.seconds = atof(words[4]);
    if (clock_getcpuclockid(atoi(words[5]), &show.coordinator))
        fail(words[5], "no such process");
    make_payloads(show.dimension);
    player *players;
    line **lines;
    check(fplt__alloc_into(&players, show.agents, sizeof *players, "agents", &error), &error);
    check(fplt__alloc_into(&lines, show.agents, sizeof *lines, "agents", &error), &error);
    for (size_t i = 0; i < show.agents; i++) {
        char name[64];
        snprintf(name, sizeof name, "agents/agent-%zu.pem", i);
        lines[i] = &players[i].line;
        dial(lines[i], port, credentials_of(folder, name, "agents/agent.key"));
        fplt__http_channel_begin(&lines[i]->lean, lines[i]->descriptor, lines[i]->tls);
        join(&players[i]); /* at once: a connection that says nothing is closed */
    }
    int epoll = watch_all(lines, show.agents);
    while (!show.ended) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, 120000);
        if (!count)
            fail("the coordinator", "has said nothing for two minutes");
        for (int k = 0; k < count; k++) {
            player *p = events[k].data.ptr;
            size_t got;
            p->line.lean.empty = 0;
            push(&p->line);
            /* nothing follows an answer until the next request was sent */
            while ((got = pull(&p->line, buffer, sizeof buffer))) {
                take_bytes(p, buffer, got);
                if (!p->in_body && !p->head_size)
                    break;
            }
        }
    }
    report(words[5]);
    return 0;
}

/* TLS alone: the server sends DOWN bytes to all, each answers with UP bytes, and so on. */

struct raw {
    size_t agents, down, up;
    double seconds;
    uint8_t *bytes; /* noise, as long as the longer of the two */
};

static void raw_client(const struct raw *raw, unsigned port, const char *folder)
{
    static uint8_t buffer[65536];
    line *all, **lines;
    fplt_error error;
    gnutls_certificate_credentials_t own =
        credentials_of(folder, "agents/agent-0.pem", "agents/agent.key");
    check(fplt__alloc_into(&all, raw->agents, sizeof *all, "lines", &error), &error);
    check(fplt__alloc_into(&lines, raw->agents, sizeof *lines, "lines", &error), &error);
    for (size_t i = 0; i < raw->agents; i++) {
        lines[i] = &all[i];
        dial(&all[i], port, own);
        all[i].to_come = raw->down;
        all[i].out_part = PARTS;
    }
    int epoll = watch_all(lines, raw->agents);
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int k = 0; k < count; k++) {
            line *l = events[k].data.ptr;
            size_t got;
            push(l);
            while ((got = pull(l, buffer, sizeof buffer))) {
                if (!(l->to_come -= got)) {
                    l->to_come = raw->down;
                    say(l, raw->bytes, raw->up, NULL, 0, NULL, 0);
                    push(l);
                }
            }
        }
    }
}

static void raw_server(const struct raw *raw, int listener, const char *folder)
{
    static uint8_t buffer[65536];
    line *all, **lines;
    fplt_error error;
    double begun = 0, used = 0, quickest = 1e9;
    size_t rounds = 0;
    gnutls_certificate_credentials_t own =
        credentials_of(folder, "coordinator.pem", "coordinator.key");
    check(fplt__alloc_into(&all, raw->agents, sizeof *all, "lines", &error), &error);
    check(fplt__alloc_into(&lines, raw->agents, sizeof *lines, "lines", &error), &error);
    for (size_t i = 0; i < raw->agents; i++) {
        lines[i] = &all[i];
        all[i].descriptor = accept(listener, NULL, NULL);
        shake_hands(&all[i], GNUTLS_SERVER | GNUTLS_NO_TICKETS, own);
    }
    int epoll = watch_all(lines, raw->agents);
    for (;; rounds++) {
        if (rounds == WARM_UP) {
            begun = now();
            used = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        }
        if (rounds > WARM_UP && now() - begun > raw->seconds)
            break;
        size_t done = 0;
        double opened = now();
        for (size_t i = 0; i < raw->agents; i++) {
            all[i].to_come = raw->up;
            say(&all[i], raw->bytes, raw->down, NULL, 0, NULL, 0);
            push(&all[i]);
        }
        while (done < raw->agents) {
            struct epoll_event events[EVENTS];
            int count = epoll_wait(epoll, events, EVENTS, -1);
            for (int k = 0; k < count; k++) {
                line *l = events[k].data.ptr;
                size_t got;
                push(l);
                while (l->to_come && (got = pull(l, buffer, sizeof buffer)))
                    done += !(l->to_come -= got);
            }
        }
        double took = now() - opened;
        quickest = rounds >= WARM_UP && took < quickest ? took : quickest;
    }
    double counted = (double)(rounds - WARM_UP);
    printf("{\"rounds\": %.0f, \"quickest\": %.6f, \"average\": %.6f, \"processor\": %.6f, "
           "\"cipher\": \"%s\"}\n",
           counted, quickest, (now() - begun) / counted,
           (clock_of(CLOCK_PROCESS_CPUTIME_ID) - used) / counted,
           gnutls_cipher_get_name(gnutls_cipher_get(all[0].tls)));
    fflush(stdout);
}

static int raw(char **words)
{
    struct raw raw = {strtoul(words[1], NULL, 10), strtoul(words[2], NULL, 10),
                      strtoul(words[3], NULL, 10), atof(words[4]), NULL};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int buffer = FPLT_RECEIVE_BUFFER, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t most = raw.down > raw.up ? raw.down : raw.up;
    fplt_error error;
    uint64_t state = 2;
    check(fplt__alloc_into(&raw.bytes, most, 1, "bytes", &error), &error);
    for (size_t i = 0; i < most; i++)
        raw.bytes[i] = (uint8_t)(128 + 127 * drawn(&state));
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1024) ||
        getsockname(listener, (struct sockaddr *)&at, &length))
        fail("listen", strerror(errno));
    pid_t client = fork();
    if (client == 0) {
        raw_client(&raw, ntohs(at.sin_port), words[0]);
        _exit(0);
    }
    raw_server(&raw, listener, words[0]);
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    return 0;
}

/* Certificates */

static int found(char **words)
{
    fplt__authority authority;
    fplt_error error;
    char path[4200], *key, *request, *certificate;
    unsigned agents = (unsigned)atoi(words[1]);
    check(fplt__authority_open(words[0], &authority, &error), &error);
    check(fplt__key_make(&key, &error), &error);
    snprintf(path, sizeof path, "%s/agents", words[0]);
    if (mkdir(path, 0700))
        fail(path, strerror(errno));
    snprintf(path, sizeof path, "%s/agents/agent.key", words[0]);
    check(fplt__file_save(path, 0600, key, strlen(key), &error), &error);
    for (unsigned i = 0; i < agents; i++) {
        char name[FPLT_NAME_SIZE];
        snprintf(name, sizeof name, "agent-%u", i);
        check(fplt__request_make(key, name, &request, &error), &error);
        check(fplt__authority_sign(&authority, request, name, &certificate, &error), &error);
        snprintf(path, sizeof path, "%s/agents/%s.pem", words[0], name);
        check(fplt__file_save(path, 0600, certificate, strlen(certificate), &error), &error);
        fplt__free(request);
        fplt__free(certificate);
    }
    fplt__free(key);
    fplt__authority_close(&authority);
    return 0;
}

/* Words */

enum { REPEATS = 41, SMALL = 500, LARGE = 1000000 };

struct timing {
    size_t count, batch;
    uint64_t *words, *target;
    uint8_t *packed;
    size_t packed_size;
    fplt__sum *sum;
};

static void add(const struct timing *t)
{
    fplt_error error = {FPLT_OK, "the sum is out of range"};
    check(fplt__sum_add_words(t->sum, 0, t->words, t->count), &error);
}

static void add_packed(const struct timing *t)
{
    fplt_error error;
    check(fplt__sum_add_packed(t->sum, 0, t->packed, t->packed_size, t->count, &error), &error);
}

static void copy(const struct timing *t)
{
    memcpy(t->target, t->words, 16 * t->count);
    __asm__ volatile("" ::"r"(t->target) : "memory");
}

static void hash(const struct timing *t)
{
    fplt__digest digest = fplt__body_hash(t->packed, t->packed_size);
    __asm__ volatile("" ::"r"(&digest) : "memory");
}

/* Nanoseconds a number; of many repetitions the quickest counts. */
static double time_of(void (*work)(const struct timing *), const struct timing *t)
{
    double best = 1e9;
    for (int r = 0; r < REPEATS; r++) {
        double begun = now();
        for (size_t b = 0; b < t->batch; b++)
            work(t);
        double took = (now() - begun) / (double)(t->batch * t->count) * 1e9;
        best = took < best ? took : best;
    }
    return best;
}

static struct timing make_timing(size_t count, size_t batch)
{
    struct timing t = {.count = count, .batch = batch};
    fplt_error error;
    check(fplt__alloc_into(&t.words, 2 * count, 8, "words", &error), &error);
    check(fplt__alloc_into(&t.target, 2 * count, 8, "words", &error), &error);
    check(fplt__alloc_into(&t.packed, fplt__words_most(count), 1, "words", &error), &error);
    check(fplt__sum_create_words(count, FPLT_SUM_EXPONENT, &t.sum, &error), &error);
    make_words(count, t.words);
    memcpy(t.target, t.words, 16 * count);
    t.packed_size = fplt__words_pack(t.words, count, t.packed, fplt__words_most(count));
    return t;
}

static int time_words(char **words)
{
    (void)words;
    if (sodium_init() < 0)
        fail("libsodium", "does not begin");
    struct timing small = make_timing(SMALL, 2000), large = make_timing(LARGE, 1);
    double in_cache = time_of(add, &small), far = time_of(add, &large);
    double copied = time_of(copy, &large);
    printf("ns a number         in cache   n = 10^6\n");
    printf("copy                %8.2f   %8.2f\n", time_of(copy, &small), copied);
    printf("words added         %8.2f   %8.2f\n", in_cache, far);
    printf("packed words added  %8.2f   %8.2f\n", time_of(add_packed, &small),
           time_of(add_packed, &large));
    printf("digest              %8.2f   %8.2f\n", time_of(hash, &small), time_of(hash, &large));
    figure("words added in cache", in_cache, "ns a number", AT_MOST, 3.5);
    figure("words added, n = 10^6, beside a copy", far / copied, "times", AT_MOST, 2);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } parts[] = {{"found", 2, found}, {"play", 6, play}, {"raw", 5, raw}, {"words", 0, time_words}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0 && argc - 2 == parts[i].words)
            return parts[i].run(argv + 2);
    fprintf(stderr, "usage: see the head of bench/load.c\n");
    return 2;
}
