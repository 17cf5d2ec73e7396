/* Requests to the coordinator and to its door, from the first byte to the last of the answer: the servers are the real
 * ones, in the clear, and every connection is one half of a pair of sockets.
 *
 * An input is a conversation; requests are separated by a line `--`:
 *
 *     METHOD PATH WHO          0, 1, 2: a member; 8: nobody's name; 9: revoked; d: at the door
 *     Header: value
 *
 *     body
 *
 * It is sent as HTTP has it, with a length where none is given, in pieces, and on the connection that whoever asks has
 * already, unless that one is waiting. A request whose method is RAW is only a body: it is sent as it is. Every request
 * must be answered, a refusal with a sentence, and whoever is refused changes nothing that would stop the others. */
#include "target.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../simulator/tiny.h"
#include "base/buffer.h"
#include "federation/coordinator/coordinator.h"

enum { MAX_CONNECTIONS = 32, CHUNK = 97, ROOM = 1 << 16, MAX_TURNS = 2000 };

struct connection {
    int used, descriptor;
    char who;
    int raw;          /* bytes that need not be one request were sent: anything may be answered */
    unsigned waiting; /* requests that are not answered yet */
    size_t size;
    char answer[ROOM + 1]; /* what came and is not read yet */
};

static struct connection connections[MAX_CONNECTIONS];

/* ---- the coordinator around its requests ---- */

static fplt__coordinator lead_place;
static fplt__authority authority;
static uint64_t now;
static uint8_t weather; /* of commits */

void fplt__coordinator_log(fplt__coordinator *c, int64_t identity, const char *word,
                           const char *format, ...)
{
    (void)c, (void)identity, (void)format;
    promise(*word);
}

/* Nobody else changes the table. */
fplt_status fplt__authority_version(fplt__authority *own, uint64_t *version, fplt_error *error)
{
    (void)own, (void)error;
    *version = 1;
    return FPLT_OK;
}

fplt_status fplt__authority_judge(fplt__authority *own, const fplt__identity *identity, char *why,
                                  size_t size, int *final, fplt_error *error)
{
    (void)own, (void)error;
    *final = 1;
    snprintf(why, size, "%s", strcmp(identity->name, "gone") == 0 ? "gone was revoked" : "");
    return FPLT_OK;
}

fplt_status fplt__authority_sign(fplt__authority *own, const char *request, const char *name,
                                 char **certificate, fplt_error *error)
{
    (void)own;
    (void)request;
    (void)name;
    *certificate = NULL;
    return fplt_error_set(error, FPLT_BAD_DATA, "nobody signs here");
}

fplt_status fplt__authority_redeem(fplt__authority *own, const char *secret, const char *request,
                                   char **certificate, fplt_error *error)
{
    (void)own;
    *certificate = NULL;
    if (strlen(secret) != 32 || !*request)
        return fplt_error_set(error, FPLT_FAILED, "this invitation is not known");
    *certificate = fplt__strdup("certificate");
    return FPLT_OK;
}

static void resolve(fplt__coordinator *c, int step)
{
    static const double down[1] = {1};
    fplt_plan plan = tiny_plan("fed-plt");
    if (step < 0) {
        fplt__leader_event event = {.kind = FPLT__LEADER_ASK,
                                    .ask = {.down = down, .count = 1, .scalars = 1, .numbers = 1}};
        fplt__coordinator_handle(c, &event);
        return;
    }
    fplt__leader_plan made = tiny_lead_plan(&plan, "all", 0, NULL);
    fplt__leader_event event = {.kind = FPLT__LEADER_PLAN,
                                .document = tiny_document,
                                .document_size = sizeof tiny_document,
                                .plan = &made};
    fplt__coordinator_handle(c, &event);
}

void fplt__coordinator_handle(fplt__coordinator *c, fplt__leader_event *event)
{
    const fplt__leader_action *action;
    fplt_error error;
    event->now = now;
    promise(!fplt__leader_handle(c->leader, event, &error));
    if (c->turn.acting)
        return;
    c->turn.acting = 1;
    for (int more = 1; more;) {
        int commits = 0, resolves = 0, step = 0;
        while ((action = fplt__leader_action_take(c->leader))) {
            if (action->kind == FPLT__LEADER_REPLY)
                fplt__coordinator_reply(c, &action->reply);
            commits |= action->kind == FPLT__LEADER_COMMIT;
            if (action->kind == FPLT__LEADER_RESOLVE) {
                resolves = 1;
                step = action->step;
            }
        }
        more = commits || resolves;
        fplt__leader_event then = {.kind = FPLT__LEADER_COMMITTED};
        if (commits && (weather = (uint8_t)(weather * 5 + 1)) > 240)
            then.kind = FPLT__LEADER_FAILED;
        if (resolves)
            resolve(c, step);
        if (commits)
            fplt__coordinator_handle(c, &then);
    }
    c->turn.acting = 0;
}

static char names[TINY_AGENTS][FPLT__NAME] = {"basel", "bern", "zurich"};

static void tell_door(void *context, const char *word, const char *sentence)
{
    (void)context;
    promise((word && *word) || (sentence && *sentence));
}

static void open_servers(void)
{
    static uint8_t flags[2][TINY_AGENTS];
    static fplt__door door = {&authority, tell_door, NULL};
    static char certificate[] = "certificate";
    fplt__coordinator *c = &lead_place;
    fplt__service service = fplt__coordinator_service(c);
    fplt_error error;
    authority.certificate = certificate;
    c->run = 1;
    c->members = TINY_AGENTS;
    c->roster = names;
    c->revoked = flags[0];
    c->last = flags[1];
    fplt__server_settings settings = {.listen = "127.0.0.1:0", .connections = 32, .window = 1};
    promise(!fplt__server_create(&settings, &service, &c->doors.agents, &error));
    promise(!fplt__door_open(&door, "127.0.0.1:0", &c->doors.invitations, &error));
}

static void open_run(void)
{
    fplt_error error;
    fplt__leader_settings settings = {
        .members = TINY_AGENTS, .receipt_key = {7}, .deadline = 20000, .check = 1};
    fplt__leader_record record = {.state = FPLT__FORMING,
                                  .document = tiny_proposal,
                                  .document_size = sizeof tiny_proposal,
                                  .hash = fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
    memset(lead_place.revoked, 0, TINY_AGENTS);
    memset(lead_place.last, 0, TINY_AGENTS);
    now = 1000;
    promise(!fplt__leader_create(&settings, &lead_place.leader, &error));
    promise(!fplt__leader_open(lead_place.leader, now, &record, NULL, &error));
}

/* ---- connections ---- */

static void turn(void)
{
    fplt__server *const servers[] = {lead_place.doors.agents, lead_place.doors.invitations};
    fplt__servers_turn(servers, 2, -1, 0);
}

/* The name that a certificate would have said. */
static fplt__identity identity_of(char who)
{
    fplt__identity identity = {.role = FPLT_ROLE_AGENT, .ends = INT32_MAX};
    const char *name = who == '9'                              ? "gone"
                       : who >= '0' && who < '0' + TINY_AGENTS ? names[who - '0']
                                                               : "nobody";
    snprintf(identity.name, sizeof identity.name, "%s", name);
    return identity;
}

static void hang_up(struct connection *c)
{
    close(c->descriptor);
    c->used = 0;
}

static struct connection *connect_as(char who)
{
    struct connection *c = NULL;
    int pair[2];
    fplt_error error;
    for (int k = 0; k < MAX_CONNECTIONS; k++)
        if (connections[k].used && connections[k].who == who && !connections[k].waiting &&
            !connections[k].raw)
            return &connections[k];
    for (int k = 0; k < MAX_CONNECTIONS && !c; k++)
        c = connections[k].used ? NULL : &connections[k];
    if (!c)
        return NULL;
    *c = (struct connection){.used = 1, .who = who};
    promise(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair));
    c->descriptor = pair[0];
    fplt__coordinator_peer peer = {.identity = identity_of(who)};
    fplt__server *server = who == 'd' ? lead_place.doors.invitations : lead_place.doors.agents;
    promise(!fplt__server_adopt(server, pair[1], &peer, &error));
    return c;
}

static void check_answer(unsigned status, const char *body, size_t size)
{
    fplt__fault fault;
    fplt_error error;
    promise(status == 200 || status == 202 || status == 204 || (status >= 400 && status < 600));
    if (status < 400)
        return;
    promise(!fplt__fault_read(body, size, &fault, &error));
    promise(fault.word[0] && fault.sentence[0]);
}

/* The answers that are whole. */
static void read_answers(struct connection *c)
{
    char *body;
    c->answer[c->size] = 0;
    if (c->raw) {
        c->size = 0;
        return;
    }
    while ((body = strstr(c->answer, "\r\n\r\n"))) {
        const char *length = strstr(c->answer, "Content-Length: ");
        promise(memcmp(c->answer, "HTTP/1.1 ", 9) == 0);
        unsigned status = (unsigned)strtoul(c->answer + 9, NULL, 10);
        promise((length && length < body) == (status != 204 && status != 100));
        size_t size = length && length < body ? strtoul(length + 16, NULL, 10) : 0;
        body += 4;
        size_t used = (size_t)(body - c->answer) + size;
        if (used > c->size)
            return;
        if (status != 100) {
            check_answer(status, body, size);
            promise(c->waiting > 0);
            c->waiting--;
        }
        c->size -= used;
        memmove(c->answer, c->answer + used, c->size + 1);
    }
}

/* Whether the other side is still there. */
static int listen_to(struct connection *c)
{
    ssize_t got;
    while ((got = recv(c->descriptor, c->answer + c->size, ROOM - c->size, 0)) > 0) {
        c->size += (size_t)got;
        read_answers(c);
        promise(c->size < ROOM);
    }
    return got < 0;
}

static void listen_to_all(void)
{
    turn();
    for (int k = 0; k < MAX_CONNECTIONS; k++)
        if (connections[k].used && !listen_to(&connections[k])) {
            promise(!connections[k].waiting);
            hang_up(&connections[k]);
        }
}

/* In pieces, as long as it is read. */
static void send_all(struct connection *c, const char *bytes, size_t size)
{
    for (int turns = 0; size && c->used && turns < MAX_TURNS; turns++) {
        size_t part = size < CHUNK || size > 20000 ? size : CHUNK;
        ssize_t sent = send(c->descriptor, bytes, part, MSG_NOSIGNAL);
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
        listen_to_all();
    }
}

/* The next line of the head, ended by a zero. */
static char *next_line(char **cursor)
{
    char *line = *cursor, *stop = strchr(line, '\n');
    if (stop)
        *stop = 0;
    *cursor = stop ? stop + 1 : line + strlen(line);
    return line;
}

/* As HTTP has it; whether it says how long its body is, and says so rightly. */
static int write_request(char *head, const uint8_t *body, size_t size, fplt__buffer *out, char *who)
{
    char *cursor = head, *line = next_line(&cursor), *at = strrchr(line, ' ');
    int lengths = 0, right = strncmp(line, "HEAD ", 5) != 0; /* whose answer has no body */
    *who = at ? at[1] : 0;
    if (at)
        *at = 0;
    fplt__buffer_format(out, "%s HTTP/1.1\r\nHost: x\r\n", line);
    while (*(line = next_line(&cursor))) {
        int length = strncasecmp(line, "Content-Length:", 15) == 0;
        lengths += length;
        right = right && (!length || strtoull(line + 15, NULL, 10) == size);
        right = right && strncasecmp(line, "Expect:", 7) != 0;
        fplt__buffer_format(out, "%s\r\n", line);
    }
    if (!lengths)
        fplt__buffer_format(out, "Content-Length: %zu\r\n", size);
    fplt__buffer_add(out, "\r\n");
    fplt__buffer_add_bytes(out, (const char *)body, size);
    return right && lengths < 2;
}

static void request(const uint8_t *bytes, size_t size)
{
    fplt__buffer out = {NULL, 0, 0, FPLT_OK};
    const uint8_t *body = memmem(bytes, size, "\n\n", 2);
    size_t front = body ? (size_t)(body - bytes) + 1 : size;
    char who = 0, *head = calloc(front + 1, 1);
    promise(head != NULL);
    memcpy(head, bytes, front);
    int raw = strncmp(head, "RAW ", 4) == 0;
    size_t length = body ? size - front - 1 : 0;
    body = body ? body + 2 : bytes + size;
    int whole = write_request(head, body, length, &out, &who);
    struct connection *c = connect_as(who);
    if (c && raw) {
        c->raw = 1;
        send_all(c, (const char *)body, length);
    } else if (c) {
        c->raw |= !whole;
        c->waiting += (unsigned)whole;
        send_all(c, out.text, out.length);
    }
    fplt__buffer_clear(&out);
    free(head);
    listen_to_all();
    now += 500;
    fplt__leader_event event = {.kind = FPLT__LEADER_TIME};
    fplt__coordinator_handle(&lead_place, &event);
    listen_to_all();
}

/* Bodies may be with another thread still. */
static void wait_for_answers(void)
{
    int waiting = 1;
    for (int turns = 0; waiting && turns < MAX_TURNS; turns++) {
        if (turns > 3)
            usleep(500);
        listen_to_all();
        waiting = 0;
        for (int k = 0; k < MAX_CONNECTIONS; k++)
            waiting |= connections[k].used && connections[k].waiting;
    }
    promise(!waiting);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!lead_place.doors.agents)
        open_servers();
    open_run();
    weather = size ? bytes[size - 1] : 0;
    while (size) {
        const uint8_t *stop = memmem(bytes, size, "\n--\n", 4);
        size_t length = stop ? (size_t)(stop - bytes) : size;
        request(bytes, length);
        size -= length + (stop ? 4 : 0);
        bytes += length + (stop ? 4 : 0);
    }
    now += 60000; /* held polls are let go */
    fplt__leader_event event = {.kind = FPLT__LEADER_TIME};
    fplt__coordinator_handle(&lead_place, &event);
    wait_for_answers();
    for (int k = 0; k < MAX_CONNECTIONS; k++)
        if (connections[k].used)
            hang_up(&connections[k]);
    while (fplt__server_connections(lead_place.doors.agents) +
           fplt__server_connections(lead_place.doors.invitations))
        turn();
    fplt__leader *leader = lead_place.leader;
    lead_place.leader = NULL;
    fplt__leader_destroy(leader);
    return 0;
}
