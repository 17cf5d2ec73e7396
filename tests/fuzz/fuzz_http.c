/* Requests to the coordinator and to its door, from the first header to the last byte of the answer, without
 * a socket: the server's functions are called as libmicrohttpd calls them, whose own part is played here.
 *
 * An input is a conversation; requests are separated by a line `--`:
 *
 *     METHOD PATH WHO          0, 1, 2: a member; 8: nobody's name; 9: revoked; d: at the door
 *     Header: value
 *
 *     body
 *
 * Every request must be answered, a refusal with a sentence, and whoever is refused changes nothing that
 * would stop the others. */
#include "target.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../simulator/tiny.h"
#include "net/coordinator.h"

enum { MOST_CONNECTIONS = 32, MOST_HEADERS = 16, CHUNK = 97 };

/* ---- libmicrohttpd, as far as the server knows it ---- */

struct MHD_Daemon {
    MHD_AccessHandlerCallback handle;
    void *handle_context;
    MHD_NotifyConnectionCallback notice;
    void *notice_context;
    MHD_RequestCompletedCallback completed;
    void *completed_context;
    void *(*begin)(void *, const char *, struct MHD_Connection *);
    void *begin_context;
    int listener;
};

struct MHD_Response {
    unsigned holders;
    MHD_ContentReaderFreeCallback release;
    void *release_context;
    size_t size, copied;
    uint8_t text[4096]; /* the beginning */
};

struct MHD_Connection {
    struct MHD_Daemon *daemon;
    int used, headed, suspended, answered;
    unsigned code;
    void *socket_context, *place;
    union MHD_ConnectionInfo info;
    char *line, *method, *path; /* owned: all of the head */
    char who;
    struct {
        const char *name, *value;
    } header[MOST_HEADERS];
    size_t headers;
    const uint8_t *body;
    size_t size, fed;
};

static struct MHD_Connection connections[MOST_CONNECTIONS];
static struct MHD_Daemon *daemons[2]; /* of the federation, of the door */
static size_t started;

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback policy,
                                    void *policy_context, MHD_AccessHandlerCallback handle,
                                    void *handle_context, ...)
{
    struct MHD_Daemon *daemon = calloc(1, sizeof *daemon);
    va_list list;
    int option;
    (void)flags, (void)port, (void)policy, (void)policy_context;
    promise(daemon != NULL && started < 2);
    daemons[started++] = daemon;
    daemon->handle = handle;
    daemon->handle_context = handle_context;
    va_start(list, handle_context);
    while ((option = va_arg(list, int)) != MHD_OPTION_END)
        switch (option) {
        case MHD_OPTION_NOTIFY_CONNECTION:
            daemon->notice = va_arg(list, MHD_NotifyConnectionCallback);
            daemon->notice_context = va_arg(list, void *);
            break;
        case MHD_OPTION_NOTIFY_COMPLETED:
            daemon->completed = va_arg(list, MHD_RequestCompletedCallback);
            daemon->completed_context = va_arg(list, void *);
            break;
        case MHD_OPTION_URI_LOG_CALLBACK:
            daemon->begin = va_arg(list, void *(*)(void *, const char *, struct MHD_Connection *));
            daemon->begin_context = va_arg(list, void *);
            break;
        case MHD_OPTION_EXTERNAL_LOGGER:
            (void)va_arg(list, void *);
            (void)va_arg(list, void *);
            break;
        case MHD_OPTION_LISTEN_SOCKET: daemon->listener = va_arg(list, int); break;
        case MHD_OPTION_CONNECTION_MEMORY_LIMIT: (void)va_arg(list, size_t); break;
        case MHD_OPTION_CONNECTION_LIMIT:
        case MHD_OPTION_CONNECTION_TIMEOUT: (void)va_arg(list, unsigned); break;
        case MHD_OPTION_ARRAY: (void)va_arg(list, void *); break;
        default: promise(!"an option that is not known here");
        }
    va_end(list);
    return daemon;
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
    close(daemon->listener);
    free(daemon);
}

const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon,
                                                enum MHD_DaemonInfoType what, ...)
{
    (void)daemon, (void)what;
    return NULL;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType what, ...)
{
    if (what == MHD_CONNECTION_INFO_CONNECTION_FD)
        connection->info.connect_fd = -1;
    else
        connection->info.socket_context = connection->socket_context;
    return &connection->info;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *name)
{
    (void)kind;
    for (size_t k = 0; k < connection->headers; k++)
        if (strcasecmp(connection->header[k].name, name) == 0)
            return connection->header[k].value;
    return NULL;
}

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    promise(!connection->suspended);
    connection->suspended = 1;
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    promise(connection->suspended);
    connection->suspended = 0;
}

static struct MHD_Response *new_response(void)
{
    struct MHD_Response *response = calloc(1, sizeof *response);
    promise(response != NULL);
    response->holders = 1;
    return response;
}

static void add_bytes(struct MHD_Response *response, const void *bytes, size_t size)
{
    size_t room = sizeof response->text - 1 - response->copied;
    size_t part = size < room ? size : room;
    if (part)
        memcpy(response->text + response->copied, bytes, part);
    response->copied += part;
    response->size += size;
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
                                                     enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = new_response();
    (void)mode;
    add_bytes(response, buffer, size);
    return response;
}

struct MHD_Response *MHD_create_response_from_iovec(const struct MHD_IoVec *parts, unsigned count,
                                                    MHD_ContentReaderFreeCallback release,
                                                    void *context)
{
    struct MHD_Response *response = new_response();
    response->release = release;
    response->release_context = context;
    for (unsigned k = 0; k < count; k++)
        add_bytes(response, parts[k].iov_base, parts[k].iov_len);
    return response;
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *name,
                                        const char *value)
{
    (void)response;
    promise(*name && !strpbrk(value, "\r\n"));
    return MHD_YES;
}

void MHD_destroy_response(struct MHD_Response *response)
{
    if (--response->holders)
        return;
    if (response->release)
        response->release(response->release_context);
    free(response);
}

/* A refusal has a sentence. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned code,
                                   struct MHD_Response *response)
{
    fplt__fault fault;
    fplt_error error;
    promise(!connection->answered && !connection->suspended);
    promise(code == 200 || code == 202 || code == 204 || (code >= 400 && code < 600));
    if (code >= 400) {
        promise(response->size == response->copied);
        promise(!fplt__fault_read(response->text, response->size, &fault, &error));
        promise(fault.word[0] && fault.sentence[0]);
    }
    connection->answered = 1;
    connection->code = code;
    return MHD_YES;
}

enum MHD_Result MHD_get_timeout(struct MHD_Daemon *daemon, MHD_UNSIGNED_LONG_LONG *timeout)
{
    (void)daemon, (void)timeout;
    return MHD_NO;
}

enum MHD_Result MHD_run(struct MHD_Daemon *daemon)
{
    (void)daemon;
    return MHD_YES;
}

/* ---- the coordinator around its requests ---- */

static fplt__coordinator lead_place;
static fplt__authority authority;
static uint64_t now;
static uint8_t weather; /* of commits */

void fplt__coordinator_say(fplt__coordinator *c, int64_t identity, const char *word,
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
                                  size_t size, fplt_error *error)
{
    (void)own, (void)error;
    snprintf(why, size, "%s", strcmp(identity->name, "gone") == 0 ? "gone was revoked" : "");
    return FPLT_OK;
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
        fplt__lead_event event = {.kind = FPLT__LEAD_ASK,
                                  .ask = {.down = down, .count = 1, .scalars = 1, .numbers = 1}};
        fplt__coordinator_handle(c, &event);
        return;
    }
    fplt__lead_plan made = tiny_lead_plan(&plan, "all", 0, NULL);
    fplt__lead_event event = {.kind = FPLT__LEAD_PLAN,
                              .document = tiny_document,
                              .document_size = sizeof tiny_document,
                              .plan = &made};
    fplt__coordinator_handle(c, &event);
}

void fplt__coordinator_handle(fplt__coordinator *c, fplt__lead_event *event)
{
    const fplt__lead_action *action;
    fplt_error error;
    event->now = now;
    promise(!fplt__lead_handle(c->lead, event, &error));
    if (c->acting)
        return;
    c->acting = 1;
    for (int more = 1; more;) {
        int commits = 0, resolves = 0, step = 0;
        while ((action = fplt__lead_action_take(c->lead))) {
            if (action->kind == FPLT__LEAD_REPLY)
                fplt__coordinator_reply(c, &action->reply);
            commits |= action->kind == FPLT__LEAD_COMMIT;
            if (action->kind == FPLT__LEAD_RESOLVE) {
                resolves = 1;
                step = action->step;
            }
        }
        more = commits || resolves;
        fplt__lead_event then = {.kind = FPLT__LEAD_COMMITTED};
        if (commits && (weather = (uint8_t)(weather * 5 + 1)) > 240)
            then.kind = FPLT__LEAD_FAILED;
        if (resolves)
            resolve(c, step);
        if (commits)
            fplt__coordinator_handle(c, &then);
    }
    c->acting = 0;
}

static char names[TINY_AGENTS][FPLT__NAME] = {"basel", "bern", "zurich"};
static void (*judge_head)(void *, fplt__exchange *, uint64_t, uint64_t *);
static const struct MHD_Connection *at_hand;

/* The name that a certificate would have said. */
static void take_head(void *context, fplt__exchange *exchange, uint64_t length, uint64_t *limit)
{
    fplt__identity *identity = (fplt__identity *)fplt__exchange_identity(exchange);
    char who = at_hand->who;
    const char *name = who == '9'                              ? "gone"
                       : who >= '0' && who < '0' + TINY_AGENTS ? names[who - '0']
                                                               : "nobody";
    identity->role = FPLT_ROLE_AGENT;
    identity->ends = INT32_MAX;
    snprintf(identity->name, sizeof identity->name, "%s", name);
    judge_head(context, exchange, length, limit);
}

static void tell_door(void *context, const char *word, const char *sentence)
{
    (void)context;
    promise(*word && *sentence);
}

static void open_servers(void)
{
    static uint8_t flags[2][TINY_AGENTS];
    static fplt__door door = {&authority, tell_door, NULL};
    static char certificate[] = "certificate";
    fplt__coordinator *c = &lead_place;
    fplt__service service = fplt__coordinator_service(c);
    fplt_error error;
    judge_head = service.head;
    service.head = take_head;
    authority.certificate = certificate;
    c->run = 1;
    c->members = TINY_AGENTS;
    c->roster = names;
    c->revoked = flags[0];
    c->fetched = flags[1];
    fplt__server_settings settings = {.listen = "127.0.0.1:0", .connections = 32, .window = 1};
    promise(!fplt__server_create(&settings, &service, &c->server, &error));
    promise(!fplt__door_open(&door, "127.0.0.1:0", &c->door, &error));
}

static void open_run(void)
{
    fplt_error error;
    fplt__lead_settings settings = {
        .members = TINY_AGENTS, .receipt_key = {7}, .deadline = 20000, .check = 1};
    fplt__lead_record record = {.state = FPLT__FORMING,
                                .document = tiny_proposal,
                                .document_size = sizeof tiny_proposal,
                                .hash = fplt__document_hash(tiny_proposal, sizeof tiny_proposal)};
    memset(lead_place.revoked, 0, TINY_AGENTS);
    memset(lead_place.fetched, 0, TINY_AGENTS);
    now = 1000;
    promise(!fplt__lead_create(&settings, &lead_place.lead, &error));
    promise(!fplt__lead_open(lead_place.lead, now, &record, NULL, &error));
}

/* ---- connections ---- */

static void end(struct MHD_Connection *connection)
{
    struct MHD_Daemon *daemon = connection->daemon;
    daemon->completed(daemon->completed_context, connection, &connection->place,
                      MHD_REQUEST_TERMINATED_COMPLETED_OK);
    daemon->notice(daemon->notice_context, connection, &connection->socket_context,
                   MHD_CONNECTION_NOTIFY_CLOSED);
    free(connection->line);
    connection->used = 0;
}

/* The head, the body in pieces, and once more when it is whole; again after a suspension. */
static void feed(struct MHD_Connection *connection)
{
    struct MHD_Daemon *daemon = connection->daemon;
    enum MHD_Result going = MHD_YES;
    int last = 0;
    while (going == MHD_YES && !last && !connection->suspended && !connection->answered) {
        size_t left = connection->size - connection->fed, part = left < CHUNK ? left : CHUNK;
        last = connection->headed && !part;
        part = connection->headed ? part : 0;
        size_t size = part;
        const char *data = (const char *)connection->body + connection->fed;
        connection->headed = 1;
        at_hand = connection;
        going =
            daemon->handle(daemon->handle_context, connection, connection->path, connection->method,
                           "HTTP/1.1", part ? data : NULL, &size, &connection->place);
        promise(size <= part);
        connection->fed += part - size;
    }
    const char *said = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    int whole = said && strtoull(said, NULL, 10) == connection->size;
    promise(connection->answered || connection->suspended || !whole);
    if (!connection->suspended)
        end(connection);
}

static void resume_all(void)
{
    for (int again = 1; again;) {
        again = 0;
        for (int k = 0; k < MOST_CONNECTIONS; k++)
            if (connections[k].used && !connections[k].suspended) {
                feed(&connections[k]);
                again = 1;
            }
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

static void parse(struct MHD_Connection *connection, char *head)
{
    char *cursor = head, *line = next_line(&cursor), *value;
    connection->method = line;
    connection->path = line + strcspn(line, " ");
    if (*connection->path)
        *connection->path++ = 0;
    char *who = connection->path + strcspn(connection->path, " ");
    if (*who)
        *who++ = 0;
    connection->who = *who;
    while (*(line = next_line(&cursor)) && connection->headers < MOST_HEADERS) {
        if (!(value = strchr(line, ':')))
            continue;
        *value++ = 0;
        connection->header[connection->headers].name = line;
        connection->header[connection->headers++].value = value + (*value == ' ');
    }
}

static void request(const uint8_t *bytes, size_t size)
{
    static char length[24];
    struct MHD_Connection *connection = NULL;
    for (int k = 0; k < MOST_CONNECTIONS && !connection; k++)
        connection = connections[k].used ? NULL : &connections[k];
    if (!connection)
        return;
    const uint8_t *body = memmem(bytes, size, "\n\n", 2);
    size_t head = body ? (size_t)(body - bytes) + 1 : size;
    memset(connection, 0, sizeof *connection);
    connection->line = malloc(head + 1);
    promise(connection->line != NULL);
    memcpy(connection->line, bytes, head);
    connection->line[head] = 0;
    connection->body = body ? body + 2 : bytes + size;
    connection->size = body ? size - head - 1 : 0;
    parse(connection, connection->line);
    connection->daemon = daemons[connection->who == 'd'];
    connection->used = 1;
    if (!MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") &&
        connection->headers < MOST_HEADERS) {
        snprintf(length, sizeof length, "%zu", connection->size);
        connection->header[connection->headers].name = "Content-Length";
        connection->header[connection->headers++].value = length;
    }
    struct MHD_Daemon *daemon = connection->daemon;
    daemon->notice(daemon->notice_context, connection, &connection->socket_context,
                   MHD_CONNECTION_NOTIFY_STARTED);
    daemon->begin(daemon->begin_context, connection->path, connection);
    feed(connection);
    resume_all();
    now += 500;
    fplt__lead_event event = {.kind = FPLT__LEAD_TIME};
    fplt__coordinator_handle(&lead_place, &event);
    resume_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!lead_place.server)
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
    fplt__lead_event event = {.kind = FPLT__LEAD_TIME};
    fplt__coordinator_handle(&lead_place, &event);
    resume_all();
    fplt__lead *lead = lead_place.lead;
    lead_place.lead = NULL;
    for (int k = 0; k < MOST_CONNECTIONS; k++)
        if (connections[k].used) {
            connections[k].suspended = 0;
            end(&connections[k]);
        }
    fplt__lead_destroy(lead);
    return 0;
}
