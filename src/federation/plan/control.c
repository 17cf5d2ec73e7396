#include "federation/plan/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status.h"

enum { CLIENT_MILLISECONDS = 2000 };

static fplt_status socket_at(const char *folder, struct sockaddr_un *address, int *made,
                             fplt_error *error)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/control.socket", folder);
    if (length < 0 || (size_t)length >= sizeof address->sun_path)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: the folder's path is too long for a socket; use a shorter one, "
                              "or a relative one",
                              folder);
    *made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return *made < 0 ? fplt_error_set(error, FPLT_IO, "%s: %s", folder, strerror(errno)) : FPLT_OK;
}

fplt_status fplt__control_open(const char *folder, int *descriptor, fplt_error *error)
{
    struct sockaddr_un address;
    int made = -1;
    fplt_status status = socket_at(folder, &address, &made, error);
    if (status)
        return status;
    unlink(address.sun_path);
    /* Linux gives the file the mode of the socket, so there is no moment in which others may connect */
    if (fchmod(made, 0600) || bind(made, (struct sockaddr *)&address, sizeof address) ||
        listen(made, 8) || fcntl(made, F_SETFL, O_NONBLOCK) < 0) {
        status = fplt_error_set(error, FPLT_IO, "%s: %s", address.sun_path, strerror(errno));
        close(made);
        return status;
    }
    *descriptor = made;
    return FPLT_OK;
}

void fplt__control_close(const char *folder, int descriptor)
{
    char path[4200];
    if (descriptor < 0)
        return;
    snprintf(path, sizeof path, "%s/control.socket", folder);
    close(descriptor);
    unlink(path);
}

/* A line, without its end; empty where none comes in time. */
static void read_line(int client, char line[FPLT__CONTROL_LINE])
{
    size_t used = 0;
    struct pollfd wanted = {client, POLLIN, 0};
    while (used < FPLT__CONTROL_LINE - 1 && poll(&wanted, 1, CLIENT_MILLISECONDS) > 0) {
        ssize_t length = read(client, line + used, FPLT__CONTROL_LINE - 1 - used);
        if (length <= 0)
            break;
        used += (size_t)length;
        if (memchr(line, '\n', used))
            break;
    }
    line[used] = 0;
    line[strcspn(line, "\n")] = 0;
}

void fplt__control_serve(int descriptor, char *(*obey)(void *context, const char *line),
                         void *context)
{
    char line[FPLT__CONTROL_LINE];
    int client = descriptor < 0 ? -1 : accept4(descriptor, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return;
    read_line(client, line);
    char *answer = *line ? obey(context, line) : NULL;
    for (size_t done = 0, size = answer ? strlen(answer) : 0; done < size;) {
        ssize_t sent = send(client, answer + done, size - done, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        done += (size_t)sent;
    }
    free(answer);
    close(client);
}

static char *answer_of(const char *key, const char *sentence)
{
    json_t *document = json_pack("{s:s}", key, sentence);
    char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return text;
}

char *fplt__control_done(const char *sentence)
{
    return answer_of("done", sentence);
}

char *fplt__control_error(const fplt_error *error)
{
    return answer_of("error", error->text);
}

/* An answer that reports an error becomes one. */
static fplt_status read_answer(fplt__buffer *text, const char *folder, char **answer,
                               fplt_error *error)
{
    if (!text->length)
        return fplt_error_set(error, FPLT_IO, "%s: the process there did not answer", folder);
    fplt_status status = fplt__buffer_take(text, answer, error);
    if (status)
        return status;
    json_t *document = json_loads(*answer, 0, NULL);
    const char *sentence = json_string_value(json_object_get(document, "error"));
    if (sentence) {
        status = fplt_error_set(error, FPLT_BAD_VALUE, "%s", sentence);
        fplt_free(*answer);
        *answer = NULL;
    }
    json_decref(document);
    return status;
}

fplt_status fplt__control_ask(const char *folder, const char *line, int *is_there, char **answer,
                              fplt_error *error)
{
    struct sockaddr_un address;
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    char bytes[4096];
    int made = -1;
    ssize_t length;
    *answer = NULL;
    *is_there = 0;
    fplt_status status = socket_at(folder, &address, &made, error);
    if (status)
        return status;
    if (connect(made, (struct sockaddr *)&address, sizeof address)) {
        status = fplt_error_set(error, FPLT_IO, "%s: no process is running there (%s)", folder,
                                strerror(errno));
        close(made);
        return status;
    }
    *is_there = 1;
    if (send(made, line, strlen(line), MSG_NOSIGNAL) < 0 || send(made, "\n", 1, MSG_NOSIGNAL) < 0)
        status = fplt_error_set(error, FPLT_IO, "%s: %s", folder, strerror(errno));
    while (!status && (length = read(made, bytes, sizeof bytes)) > 0)
        fplt__buffer_add_bytes(&text, bytes, (size_t)length);
    close(made);
    if (!status)
        status = read_answer(&text, folder, answer, error);
    fplt__buffer_clear(&text);
    return status;
}
