/* The head of an HTTP/1.1 request. */
#include "http/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/assert.h"

size_t fplt__http_end(const uint8_t *bytes, size_t size, size_t *seen)
{
    FPLT__ASSERT(*seen <= size);
    size_t from = *seen > 3 ? *seen - 3 : 0;
    const uint8_t *end = size > from ? memmem(bytes + from, size - from, "\r\n\r\n", 4) : NULL;
    *seen = size;
    return end ? (size_t)(end - bytes) + 4 : 0;
}

static int is_token(const char *text, size_t size)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr(others, c))))
            return 0;
    }
    return size > 0;
}

/* No control characters but, in a header's value, tabs. */
static int is_plain(const char *text, size_t size, int tabs)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && !(tabs && c == '\t')) || c == 0x7f)
            return 0;
    }
    return 1;
}

/* A request through a proxy may name the host as well. */
static char *skip_host(char *target)
{
    size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
                    : strncasecmp(target, "https://", 8) == 0 ? 8
                                                              : 0;
    return scheme ? target + scheme + strcspn(target + scheme, "/?") : target;
}

static unsigned read_line(char *line, size_t size, fplt__http_head *head, const char **why)
{
    char *target = memchr(line, ' ', size);
    char *version = target ? memchr(target + 1, ' ', size - (size_t)(target + 1 - line)) : NULL;
    *why = "the request's first line is not METHOD PATH HTTP/1.1";
    if (!version || !is_token(line, (size_t)(target - line)) ||
        !is_plain(target, (size_t)(version - target), 0))
        return 400;
    size_t left = size - (size_t)(version + 1 - line);
    if (left != 8 || memcmp(version + 1, "HTTP/", 5) != 0 || version[7] != '.')
        return 400;
    if (version[6] != '1' || (version[8] != '0' && version[8] != '1')) {
        *why = "HTTP/1.1 is spoken here";
        return 505;
    }
    head->minor = version[8] - '0';
    head->method = line;
    *target++ = *version = 0;
    target = skip_host(target);
    target[strcspn(target, "?")] = 0;
    if (*target && *target != '/')
        return 400;
    head->path = *target ? target : "/";
    return 0;
}

static unsigned read_header(char *line, size_t size, fplt__http_head *head, const char **why)
{
    char *colon = memchr(line, ':', size);
    *why = "a header is not `Name: value`";
    if (!colon || !is_token(line, (size_t)(colon - line)) ||
        !is_plain(colon, (size_t)(line + size - colon), 1))
        return 400;
    if (head->headers == FPLT__HTTP_HEADERS) {
        *why = "too many headers";
        return 431;
    }
    char *value = colon + 1, *end = line + size;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *colon = *end = 0;
    FPLT__ASSERT(line < colon && colon < value && value <= end);
    head->header[head->headers].name = line;
    head->header[head->headers++].value = value;
    return 0;
}

static size_t count_of(const fplt__http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->headers; i++)
        count += strcasecmp(head->header[i].name, name) == 0;
    return count;
}

unsigned fplt__http_read(char *bytes, size_t size, fplt__http_head *head, const char **why)
{
    char *line = bytes, *end = bytes + size - 2; /* where its empty line begins */
    unsigned status = 0;
    head->method = head->path = NULL;
    FPLT__ASSERT(size >= 4 && memcmp(end - 2, "\r\n\r\n", 4) == 0);
    head->headers = 0;
    while (end - line >= 2 && memcmp(line, "\r\n", 2) == 0) /* some clients send one too many */
        line += 2;
    while (!status && line < end) {
        char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
        stop = stop ? stop : end;
        status = head->method ? read_header(line, (size_t)(stop - line), head, why)
                              : read_line(line, (size_t)(stop - line), head, why);
        line = stop + 2;
    }
    if (status)
        return status;
    if (!head->method) {
        *why = "an empty request";
        return 400;
    }
    size_t hosts = count_of(head, "Host");
    *why = "one header Host is wanted";
    return hosts > 1 || (hosts == 0 && head->minor == 1) ? 400 : 0;
}

const char *fplt__http_value(const fplt__http_head *head, const char *name)
{
    for (size_t i = 0; i < head->headers; i++)
        if (strcasecmp(head->header[i].name, name) == 0)
            return head->header[i].value;
    return NULL;
}

unsigned fplt__http_length(const fplt__http_head *head, uint64_t *length, const char **why)
{
    const char *text = fplt__http_value(head, "Content-Length");
    *length = 0;
    *why = "the body's length must be said";
    if (fplt__http_value(head, "Transfer-Encoding"))
        return 411;
    if (!text)
        return 0;
    size_t size = strlen(text);
    *why = "the header Content-Length is not one number";
    /* digits only: no sign, no list, nothing that overflows */
    if (count_of(head, "Content-Length") > 1 || size == 0 || size > 18 ||
        strspn(text, "0123456789") != size)
        return 400;
    *length = strtoull(text, NULL, 10);
    return 0;
}

/* Whether a list, separated by commas, has the token, in whatever case. */
static int has_token(const char *list, const char *token)
{
    size_t size = strlen(token);
    while (*list) {
        list += strspn(list, ", \t");
        size_t length = strcspn(list, ", \t");
        if (length == size && strncasecmp(list, token, size) == 0)
            return 1;
        list += length;
    }
    return 0;
}

int fplt__http_persists(const fplt__http_head *head)
{
    for (size_t i = 0; i < head->headers; i++)
        if (strcasecmp(head->header[i].name, "Connection") == 0 &&
            has_token(head->header[i].value, "close"))
            return 0;
    return head->minor == 1;
}

const char *fplt__http_reason(unsigned status)
{
    switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 422: return "Unprocessable Content";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return status < 400 ? "OK" : status < 500 ? "Refused" : "Failed";
    }
}

void fplt__http_date(int64_t seconds, char text[FPLT__HTTP_DATE])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t time = (time_t)seconds;
    struct tm tm;
    gmtime_r(&time, &tm);
    snprintf(text, FPLT__HTTP_DATE, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
             days + 3 * tm.tm_wday, (unsigned)tm.tm_mday % 100, months + 3 * tm.tm_mon,
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}
