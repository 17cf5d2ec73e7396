/* HTTP: heads that are taken and heads that are not, and the server's part of it, over loopback and in
 * one thread: what is sent is answered when the server has had its turn. */
#include "testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/machine.h"
#include "http/head.h"
#include "http/server.h"
#include "wire/message.h"

/* Heads */

static unsigned status_of(const char *text, fplt__http_head *head)
{
    static char bytes[FPLT__HTTP_HEAD];
    const char *why = NULL;
    size_t seen = 0, size = strlen(text), end;
    memcpy(bytes, text, size);
    for (size_t part = 0; part < size; part++) /* found as soon as it is there */
        assert_int_equal(fplt__http_end((uint8_t *)bytes, part, &seen), 0);
    end = fplt__http_end((uint8_t *)bytes, size, &seen);
    assert_int_equal(end, size);
    unsigned status = fplt__http_read(bytes, end, head, &why);
    if (status)
        assert_true(why && *why);
    return status;
}

static void heads_are_read(void **state)
{
    (void)state;
    fplt__http_head head;
    uint64_t length;
    const char *why;
    assert_int_equal(
        status_of("PUT /v1/update?x=1&y HTTP/1.1\r\nHost: a\r\nX-Odd:\t two words \t\r\n"
                  "content-length:  17\r\nEmpty:\r\n\r\n",
                  &head),
        0);
    assert_string_equal(head.method, "PUT");
    assert_string_equal(head.path, "/v1/update");
    assert_int_equal(head.minor, 1);
    assert_int_equal(head.headers, 4);
    assert_string_equal(fplt__http_value(&head, "x-odd"), "two words");
    assert_string_equal(fplt__http_value(&head, "EMPTY"), "");
    assert_null(fplt__http_value(&head, "x-od"));
    assert_int_equal(fplt__http_length(&head, &length, &why), 0);
    assert_int_equal(length, 17);
    assert_true(fplt__http_persists(&head));
    assert_int_equal(status_of("\r\nGET / HTTP/1.0\r\n\r\n", &head), 0);
    assert_string_equal(head.path, "/");
    assert_false(fplt__http_persists(&head));
    assert_int_equal(fplt__http_length(&head, &length, &why), 0);
    assert_int_equal(length, 0);
    assert_int_equal(status_of("GET HTTPS://a:1/b HTTP/1.1\r\nhost: a\r\n\r\n", &head), 0);
    assert_string_equal(head.path, "/b");
    assert_int_equal(status_of("GET http://a?b HTTP/1.1\r\nhost: a\r\n\r\n", &head), 0);
    assert_string_equal(head.path, "/");
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", &head),
                     0);
    assert_false(fplt__http_persists(&head));
    assert_int_equal(status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\n"
                               "connection:\tTE ,close\r\n\r\n",
                               &head),
                     0);
    assert_false(fplt__http_persists(&head));
    /* a part of a token is none */
    assert_int_equal(
        status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: x-close, closes\r\n\r\n", &head), 0);
    assert_true(fplt__http_persists(&head));
}

static void other_heads_are_refused(void **state)
{
    static const struct {
        unsigned status;
        const char *text;
    } cases[] = {
        {400, "GET /\r\nHost: a\r\n\r\n"},
        {400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / x HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1,1\r\nHost: a\r\n\r\n"},
        {400, "GET / http/1.1\r\nHost: a\r\n\r\n"},
        {400, " / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET x HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\nHost: a\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nX: y\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"},
        {400, "\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"},
        {505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"},
    };
    (void)state;
    fplt__http_head head;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (status_of(cases[i].text, &head) != cases[i].status)
            fail_msg("taken otherwise: %s", cases[i].text);
    char many[4096] = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < FPLT__HTTP_HEADERS; i++)
        strcat(many, "X: y\r\n");
    size_t size = strlen(many);
    strcpy(many + size, "\r\n");
    assert_int_equal(status_of(many, &head), 0);
    strcpy(many + size, "X: y\r\n\r\n");
    assert_int_equal(status_of(many, &head), 431);
}

static void lengths_are_one_number(void **state)
{
    static const char *const wrong[] = {"+1", "-1", "1,1", "0x1", "", "1 1", "1234567890123456789"};
    (void)state;
    fplt__http_head head;
    uint64_t length;
    const char *why;
    char text[200];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\n\r\n",
                 wrong[i]);
        assert_int_equal(status_of(text, &head), 0);
        assert_int_equal(fplt__http_length(&head, &length, &why), 400);
    }
    assert_int_equal(
        status_of("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-length: 1\r\n\r\n",
                  &head),
        0);
    assert_int_equal(fplt__http_length(&head, &length, &why), 400);
    assert_int_equal(status_of("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n",
                               &head),
                     0);
    assert_int_equal(fplt__http_length(&head, &length, &why), 411);
}

/* As RFC 9110 has them. */
static void reasons(void **state)
{
    (void)state;
    static const struct {
        unsigned status;
        const char *reason;
    } known[] = {{200, "OK"},
                 {202, "Accepted"},
                 {204, "No Content"},
                 {304, "Not Modified"},
                 {400, "Bad Request"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {409, "Conflict"},
                 {410, "Gone"},
                 {411, "Length Required"},
                 {413, "Content Too Large"},
                 {422, "Unprocessable Content"},
                 {431, "Request Header Fields Too Large"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        assert_string_equal(fplt__http_reason(known[k].status), known[k].reason);
    assert_string_equal(fplt__http_reason(299), "OK");
    assert_string_equal(fplt__http_reason(499), "Refused");
    assert_string_equal(fplt__http_reason(500), "Failed");
}

static void dates(void **state)
{
    (void)state;
    char text[FPLT__HTTP_DATE];
    fplt__http_date(784111777, text); /* the example of RFC 9110 */
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    fplt__http_date(1709210096, text);
    assert_string_equal(text, "Thu, 29 Feb 2024 12:34:56 GMT");
}

/* A server */

struct place {
    fplt__server *server;
    unsigned heads, wholes, ended, refused, lines, held, released;
    size_t limit;
    int hold, refuse;
    fplt__http_transaction *waiting;
    char word[32];
    char *large; /* an answer's owner, and its bytes */
    size_t large_size;
};

static void head(void *context, fplt__http_transaction *transaction, uint64_t length,
                 uint64_t *limit)
{
    struct place *place = context;
    (void)length;
    place->heads++;
    *limit = place->limit;
    if (place->refuse)
        fplt__http_transaction_refuse(transaction, 403, "no", 1, "not you");
}

static void whole(void *context, fplt__http_transaction *transaction)
{
    struct place *place = context;
    fplt__http_piece pieces[] = {{fplt__http_transaction_path(transaction),
                                  strlen(fplt__http_transaction_path(transaction)), NULL},
                                 {place->large, place->large_size, place->large},
                                 {fplt__http_transaction_body(transaction),
                                  fplt__http_transaction_size(transaction), NULL}};
    place->wholes++;
    assert_null(fplt__http_transaction_digest(transaction)); /* nor one of the request before */
    fplt__http_transaction_set_digest(transaction, (fplt__digest){{1}});
    if (place->hold) {
        place->waiting = transaction;
        fplt__http_transaction_hold(transaction);
        return;
    }
    if (!place->large)
        pieces[1] = pieces[2];
    fplt__http_transaction_add_header(transaction, "X-Own", "yes");
    fplt__http_transaction_answer(transaction, 200, "text/plain", pieces, place->large ? 3 : 2);
}

static void expired(void *context, fplt__http_transaction *transaction)
{
    (void)context;
    fplt__http_transaction_answer(transaction, 204, NULL, NULL, 0);
}

static void ended(void *context, fplt__http_transaction *transaction)
{
    struct place *place = context;
    place->ended++;
    if (place->waiting == transaction)
        place->waiting = NULL;
}

static void refused(void *context, const char *word, const char *sentence)
{
    struct place *place = context;
    place->refused += word != NULL;
    place->lines += sentence != NULL;
    if (word)
        snprintf(place->word, sizeof place->word, "%s", word);
}

static struct place *at; /* for who is told the owner alone */

static void hold(void *owner)
{
    assert_ptr_equal(owner, at->large);
    at->held++;
}

static void release(void *owner)
{
    assert_ptr_equal(owner, at->large);
    at->released++;
}

static int begin_with(void **state, double header_timeout)
{
    struct place *place = calloc(1, sizeof *place);
    fplt_error error;
    place->limit = 1 << 20;
    at = place;
    fplt__service service = {.context = place,
                             .head = head,
                             .whole = whole,
                             .expired = expired,
                             .ended = ended,
                             .refused = refused,
                             .fault = fplt__fault_body,
                             .hold = hold,
                             .release = release};
    fplt__server_settings settings = {
        .listen = "127.0.0.1:0", .connections = 4, .window = 1, .header_timeout = header_timeout};
    assert_ok(fplt__server_create(&settings, &service, &place->server, &error), error);
    *state = place;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, 0);
}

static int begin_in_haste(void **state)
{
    return begin_with(state, 0.2);
}

static int end(void **state)
{
    struct place *place = *state;
    fplt__server_destroy(place->server);
    assert_int_equal(place->held, place->released);
    free(place->large);
    free(place);
    return 0;
}

static int dial(struct place *place)
{
    int buffer = 65536, yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)fplt__server_port(place->server));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(made, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    assert_int_equal(connect(made, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    assert_true(fcntl(made, F_SETFL, O_NONBLOCK) >= 0);
    return made;
}

static void turn(struct place *place, int times)
{
    for (int i = 0; i < times; i++)
        fplt__servers_turn(&place->server, 1, -1, 0.002);
}

static void say(int line, const char *text)
{
    assert_int_equal(send(line, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* What comes until nothing more does; whether the other side closed. */
static char answer[1 << 24];
static int closed;

static const char *hear(struct place *place, int line)
{
    size_t size = 0;
    int idle = 0;
    closed = 0;
    while (idle < 3 && !closed) {
        turn(place, 1);
        ssize_t got = recv(line, answer + size, sizeof answer - 1 - size, 0);
        size += got > 0 ? (size_t)got : 0;
        idle = got > 0 ? 0 : idle + 1;
        closed = got == 0;
    }
    answer[size] = 0;
    return answer;
}

static unsigned count_in(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *found = text; (found = strstr(found, part)); found++)
        count++;
    return count;
}

static void one_after_the_other(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    hear(place, line);
    assert_true(strncmp(answer, "HTTP/1.1 200 OK\r\nDate: ", 23) == 0);
    assert_contains(answer, "\r\nContent-Length: 5\r\n");
    assert_contains(answer, "\r\nContent-Type: text/plain\r\n");
    assert_contains(answer, "\r\nX-Own: yes\r\n");
    assert_contains(answer, "\r\n\r\n/aabc");
    assert_null(strstr(answer, "Connection:"));
    say(line, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_contains(hear(place, line), "\r\n\r\n/b");
    assert_int_equal(count_in(answer, "X-Own"), 1);
    /* a body in pieces, a head in pieces */
    for (const char *c = "PUT /cd HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nef"; *c; c++) {
        assert_int_equal(send(line, c, 1, 0), 1);
        turn(place, 1);
    }
    assert_contains(hear(place, line), "\r\n\r\n/cdef");
    assert_int_equal(place->ended, 3);
    assert_false(closed);
    close(line);
}

/* Several at once are answered in their order, each with its own body. */
static void all_at_once(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    say(line, "PUT /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
              "\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
              "HEAD /3 HTTP/1.1\r\nHost: x\r\n\r\n"
              "PUT /4 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nz"
              "GET /5 HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(place, line);
    const char *first = strstr(answer, "/1abc"), *second = strstr(answer, "/2"),
               *fourth = strstr(answer, "/4z");
    assert_true(first && second > first && fourth > second);
    assert_int_equal(count_in(answer, "HTTP/1.1 200"), 4);
    assert_int_equal(count_in(answer, "Content-Length: 2\r\n"),
                     2); /* of 2, and of 3 without a body */
    assert_null(strstr(answer, "/3"));
    assert_int_equal(count_in(answer, "Connection: close"), 1);
    assert_true(closed);
    assert_int_equal(place->wholes, 4);
    close(line);
}

/* Whoever is refused before its body is read gets the answer, and may go on where the body is short. */
static void refused_early(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    place->refuse = 1;
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /");
    assert_contains(hear(place, line), "HTTP/1.1 403 ");
    assert_contains(answer, "not you");
    assert_false(closed);
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    assert_contains(hear(place, line), "HTTP/1.1 403 ");
    say(line, "ab");
    hear(place, line);
    place->refuse = 0;
    say(line, "cdeGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_contains(hear(place, line), "\r\n\r\n/b");
    /* of one that waits for leave nobody knows whether it sends its body */
    place->refuse = 1;
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_contains(hear(place, line), "HTTP/1.1 403 ");
    assert_contains(answer, "Connection: close\r\n");
    assert_true(closed);
    close(line);
    /* nor is a long one waited for */
    line = dial(place);
    place->refuse = 0;
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\nsome");
    assert_contains(hear(place, line), "at most 1048576 are legal");
    assert_true(closed);
    assert_int_equal(place->wholes, 1);
    close(line);
}

static void leave_to_send(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    say(line, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
    assert_string_equal(hear(place, line), "HTTP/1.1 100 Continue\r\n\r\n");
    say(line, "hi");
    assert_contains(hear(place, line), "\r\n\r\n/ahi");
    /* who does not wait for it needs none */
    say(line, "PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nno");
    assert_contains(hear(place, line), "\r\n\r\n/bno");
    assert_null(strstr(answer, "100 Continue"));
    close(line);
}

static void what_is_no_request(void **state)
{
    static const struct {
        const char *text, *status;
    } cases[] = {
        {"GET /\r\n\r\n", "HTTP/1.1 400 Bad Request"},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400 "},
        {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
         "HTTP/1.1 411 "},
        {"GET / HTTP/3.0\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 505 "}};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int line = dial(place);
        say(line, cases[i].text);
        hear(place, line);
        assert_true(strncmp(answer, cases[i].status, strlen(cases[i].status)) == 0);
        assert_contains(answer, "\"malformed\"");
        assert_int_equal(count_in(answer, "Content-Length:"), 1);
        assert_true(closed);
        assert_string_equal(place->word, "malformed");
        assert_int_equal(place->refused, i + 1);
        close(line);
    }
    /* a head is at most so long, to the byte */
    static const char last[] = "\r\n\r\n";
    char *text = calloc(1, 20001);
    for (size_t size = FPLT__HTTP_HEAD - 1; size < FPLT__HTTP_HEAD + 3; size++) {
        int line = dial(place);
        memset(text, 'x', size);
        memcpy(text, "GET / HTTP/1.1\r\nHost: ", 22);
        strcpy(text + size - 4, last);
        say(line, text);
        hear(place, line);
        assert_contains(answer, size > FPLT__HTTP_HEAD ? "HTTP/1.1 431 " : "HTTP/1.1 200 ");
        assert_int_equal(closed, size > FPLT__HTTP_HEAD);
        close(line);
    }
    int line = dial(place);
    memset(text, 'x', 20000);
    say(line, text);
    assert_contains(hear(place, line), "HTTP/1.1 431 ");
    assert_true(closed);
    assert_int_equal(place->heads, 2);
    free(text);
    close(line);
}

static void make_large(struct place *place, size_t size)
{
    free(place->large);
    place->large_size = size;
    place->large = malloc(size);
    for (size_t i = 0; i < size; i++)
        place->large[i] = (char)('a' + i % 26);
}

/* A long answer leaves as it is taken, in parts that begin and end wherever, and its owner is held as long. */
static void long_answers(void **state)
{
    static const size_t sizes[] = {20000, 12000000}; /* the second is more than the kernel takes */
    struct place *place = *state;
    int line = dial(place);
    char *end = malloc(100001), *request = malloc(100200);
    for (int i = 0; i < 100000; i++)
        end[i] = (char)('A' + i % 23);
    end[100000] = 0;
    snprintf(request, 100200, "PUT /begin HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n%s",
             end);
    for (unsigned k = 0; k < 2; k++) {
        make_large(place, sizes[k]);
        say(line, request);
        turn(place, 5);
        assert_int_equal(place->held, k + 1);
        assert_true(k == 0 || place->released == 1);
        hear(place, line);
        assert_int_equal(place->released, k + 1);
        const char *body = strstr(answer, "\r\n\r\n/begin");
        assert_non_null(body);
        assert_memory_equal(body + 10, place->large, place->large_size);
        assert_string_equal(body + 10 + place->large_size, end);
    }
    free(end);
    free(request);
    /* who goes away in the middle of it */
    say(line, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(place, 1);
    assert_int_equal(place->held, 3);
    close(line);
    turn(place, 3);
    assert_int_equal(place->released, 3);
    assert_int_equal(fplt__server_connections(place->server), 0);
}

static void who_waits_and_goes(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    place->hold = 1;
    say(line, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_string_equal(hear(place, line), "");
    assert_non_null(place->waiting);
    fplt__http_transaction_answer_text(place->waiting, 200, "text/plain", "news");
    assert_contains(hear(place, line), "\r\n\r\nnews");
    say(line, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(place, line);
    assert_non_null(place->waiting);
    close(line);
    turn(place, 3);
    assert_null(place->waiting); /* its end was told at once */
    assert_int_equal(fplt__server_connections(place->server), 0);
    /* somebody who has said all it will may still wait for an answer that is made at once */
    place->hold = 0;
    line = dial(place);
    say(line, "GET /last HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(line, SHUT_WR);
    assert_contains(hear(place, line), "\r\n\r\n/last");
    assert_true(closed);
    close(line);
}

/* What waits when the server ends is told so. */
static void the_server_ends(void **state)
{
    struct place *place = *state;
    int line = dial(place);
    place->hold = 1;
    say(line, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    hear(place, line);
    fplt__server_destroy(place->server);
    place->server = NULL;
    ssize_t got = recv(line, answer, sizeof answer - 1, 0);
    assert_true(got > 0);
    answer[got] = 0;
    assert_contains(answer, "HTTP/1.1 503 ");
    assert_contains(answer, "is ending");
    close(line);
}

static void send_body(struct place *place, int line, size_t left)
{
    static const char body[100000] = "x";
    while (left) {
        ssize_t sent = send(line, body, left < sizeof body ? left : sizeof body, MSG_NOSIGNAL);
        left -= sent > 0 ? (size_t)sent : 0;
        turn(place, 1);
    }
}

/* A body of more than half of what the kernel takes leaves the connection open for the next request. */
static void after_a_large_body(void **state)
{
    struct place *place = *state;
    enum { SIZE = 200000 };
    int line = dial(place);
    say(line, "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n");
    send_body(place, line, SIZE);
    assert_contains(hear(place, line), "HTTP/1.1 200 ");
    assert_null(strstr(answer, "Connection: close"));
    assert_false(closed);
    say(line, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_contains(hear(place, line), "\r\n\r\n/b");
    close(line);
}

/* The answer says whether the owner's descriptor can be read, whatever the server has to do. */
static void the_owners_descriptor(void **state)
{
    struct place *place = *state;
    int ends[2], line;
    assert_int_equal(pipe(ends), 0);
    for (int k = 0; k < 3; k++) {
        line = dial(place);
        say(line, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_false(fplt__servers_turn(&place->server, 1, ends[0], 0.05));
        hear(place, line);
        close(line);
    }
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_true(fplt__servers_turn(&place->server, 1, ends[0], 5));
    close(ends[0]);
    close(ends[1]);
}

/* A second body waits, before it is sent, until the first is taken. */
static void one_large_body_at_once(void **state)
{
    struct place *place = *state;
    int line[3];
    place->limit = 8 << 20;
    for (int k = 0; k < 3; k++) {
        line[k] = dial(place);
        say(line[k], "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\nExpect: "
                     "100-continue\r\n\r\n");
        turn(place, 3);
    }
    for (unsigned k = 0; k < 3; k++) {
        assert_contains(hear(place, line[k]), "100 Continue");
        if (k < 2)
            assert_string_equal(hear(place, line[k + 1]), "");
        send_body(place, line[k], 5000000);
        turn(place, 5);
        assert_int_equal(place->wholes, k + 1);
        close(line[k]);
    }
}

/* Time */

static void turn_while(struct place *place, unsigned connections, double seconds, int dripping)
{
    double begun = fplt__now();
    while (fplt__server_connections(place->server) > connections) {
        turn(place, 2);
        if (dripping >= 0)
            send(dripping, "x", 1, MSG_NOSIGNAL);
        if (fplt__now() > begun + seconds)
            fail_msg("still there after %g s", seconds);
    }
}

/* Handshakes, heads and bodies have their time; who waits for news has more. */
static void slow_ones(void **state)
{
    struct place *place = *state;
    int silent = dial(place), dripping = dial(place), waiting = dial(place);
    place->hold = 1;
    say(waiting, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    say(dripping, "GET / HTTP/1.1\r\nHost: ");
    turn(place, 3);
    turn_while(place, 1, 10, dripping);
    assert_int_equal(place->refused, 2);
    assert_string_equal(place->word, "slow");
    assert_non_null(place->waiting);
    close(silent);
    close(dripping);
    dripping = dial(place);
    say(dripping, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n");
    turn(place, 3);
    turn_while(place, 1, 10, dripping);
    assert_int_equal(place->refused, 3);
    assert_non_null(place->waiting);
    close(dripping);
    /* nor has one whose body nobody wants */
    place->refuse = 1;
    dripping = dial(place);
    say(dripping, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n");
    turn(place, 3);
    turn_while(place, 1, 10, dripping);
    assert_int_equal(place->refused, 4);
    close(dripping);
    close(waiting);
}

/* Who says nothing more goes after a while, and who was bidden farewell soon. */
static void idle_ones(void **state)
{
    struct place *place = *state;
    double begun = fplt__now();
    int idle = dial(place), parted = dial(place);
    say(idle, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    say(parted, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    turn(place, 3);
    assert_int_equal(fplt__server_connections(place->server), 2);
    turn_while(place, 1, 10, -1);
    assert_contains(hear(place, parted), "Connection: close");
    assert_true(closed);
    assert_contains(hear(place, idle), "200 OK");
    assert_true(!closed || fplt__now() > begun + 5);
    turn_while(place, 0, 20, -1);
    assert_int_equal(place->refused, 0);
    close(idle);
    close(parted);
}

/* A connection that waits for its client makes room for a newer one, the oldest first. One that waits for the server
 * does not: if all do, the next client waits until there is room. */
static void no_more_than_so_many(void **state)
{
    struct place *place = *state;
    int line[7];
    for (int k = 0; k < 6; k++) {
        line[k] = dial(place);
        say(line[k], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_contains(hear(place, line[k]), "200 OK");
    }
    assert_int_equal(fplt__server_connections(place->server), 4);
    assert_int_equal(place->wholes, 6);
    assert_int_equal(place->refused, 2);
    assert_string_equal(place->word, "limit");
    assert_int_equal(place->lines, 1); /* of one address and minute */
    for (int k = 0; k < 2; k++) {
        hear(place, line[k]);
        assert_true(closed);
    }
    place->hold = 1;
    for (int k = 2; k < 6; k++) {
        say(line[k], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(place, 3);
    }
    assert_int_equal(place->wholes, 10);
    line[6] = dial(place);
    say(line[6], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    turn(place, 3);
    assert_int_equal(place->wholes, 10);
    close(line[2]);
    turn(place, 5);
    assert_int_equal(place->wholes, 11);
    assert_int_equal(fplt__server_connections(place->server), 4);
    for (int k = 0; k < 7; k++)
        if (k != 2)
            close(line[k]);
}

/* What was sent quickly does not pay for a silence afterwards: a body that lacks its last byte is given up, and its
 * place in the window is free for the next. */
static void a_body_that_stops(void **state)
{
    struct place *place = *state;
    enum { SIZE = 5000000 };
    double begun;
    int stalls = dial(place), next = dial(place);
    place->limit = SIZE;
    say(stalls, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n");
    send_body(place, stalls, SIZE - 1);
    say(next, "PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\nExpect: "
              "100-continue\r\n\r\n");
    begun = fplt__now();
    turn_while(place, 1, 10, -1); /* it would be 488 s by the bytes */
    assert_true(fplt__now() - begun < 5);
    assert_string_equal(place->word, "slow");
    assert_contains(hear(place, next), "100 Continue");
    /* a slow line that goes on is borne with */
    place->limit = 1 << 20;
    close(stalls);
    close(next);
    turn_while(place, 0, 10, -1);
    unsigned before = place->refused;
    int slow = dial(place);
    char body[2048] = "x";
    say(slow, "PUT /c HTTP/1.1\r\nHost: x\r\nContent-Length: 20480\r\n\r\n");
    begun = fplt__now();
    for (int k = 0; k < 10; k++) { /* 20 kB/s for a second, five header timeouts */
        assert_int_equal(send(slow, body, sizeof body, MSG_NOSIGNAL), sizeof body);
        while (fplt__now() < begun + 0.1 * (k + 1))
            turn(place, 1);
    }
    assert_contains(hear(place, slow), "200 OK");
    assert_int_equal(place->refused, before);
    close(slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_read),
        cmocka_unit_test(other_heads_are_refused),
        cmocka_unit_test(lengths_are_one_number),
        cmocka_unit_test(dates),
        cmocka_unit_test(reasons),
        cmocka_unit_test_setup_teardown(one_after_the_other, begin, end),
        cmocka_unit_test_setup_teardown(all_at_once, begin, end),
        cmocka_unit_test_setup_teardown(refused_early, begin, end),
        cmocka_unit_test_setup_teardown(leave_to_send, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_request, begin, end),
        cmocka_unit_test_setup_teardown(long_answers, begin, end),
        cmocka_unit_test_setup_teardown(after_a_large_body, begin, end),
        cmocka_unit_test_setup_teardown(the_owners_descriptor, begin, end),
        cmocka_unit_test_setup_teardown(who_waits_and_goes, begin, end),
        cmocka_unit_test_setup_teardown(the_server_ends, begin, end),
        cmocka_unit_test_setup_teardown(one_large_body_at_once, begin, end),
        cmocka_unit_test_setup_teardown(slow_ones, begin_in_haste, end),
        cmocka_unit_test_setup_teardown(idle_ones, begin_in_haste, end),
        cmocka_unit_test_setup_teardown(no_more_than_so_many, begin, end),
        cmocka_unit_test_setup_teardown(a_body_that_stops, begin_in_haste, end),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
