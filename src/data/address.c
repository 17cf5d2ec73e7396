/* Addresses of tables: which door they are for, and their parameters. */
#include "data/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

#define DATABASE "table,query,query-file,order-by"

const fplt__door_kind fplt__door_kinds[] = {
    {"sqlite", "sqlite:", DATABASE, .built_in = &fplt__door_sqlite,
     .about = "sqlite:FILE?table=NAME or query=SELECT..., with order-by=KEY"},
    {"xlsx", NULL, "sheet", .is_sheet = 1, .packages = "libzip-dev libexpat1-dev",
     .about = "FILE.xlsx, or FILE.xlsx?sheet=NAME"},
    {"readstat", NULL, "labels", .packages = "libreadstat-dev",
     .about = "FILE.sav, .zsav, .dta, .sas7bdat or .xpt"},
    {"postgresql", "postgresql:", DATABASE, .passes_on = 1, .packages = "libpq-dev",
     .about = "postgresql://USER@HOST/DATABASE?table=NAME&order-by=KEY"},
    {"odbc", "odbc:", DATABASE ",password-file", .packages = "unixodbc-dev",
     .about = "odbc:NAME?table=NAME&order-by=KEY, NAME from odbc.ini"},
    {.name = NULL},
};

/* ---- which door ---- */

enum { XLSX = 1, READSTAT = 2 };

static int begins(const char *bytes, size_t size, const char *magic, size_t length)
{
    return size >= length && memcmp(bytes, magic, length) == 0;
}

/* Stata 104 to 115 begin with their number, the byte order and 1. */
static int is_old_stata(const char *bytes, size_t size)
{
    return size > 4 && bytes[0] >= 0x68 && bytes[0] <= 0x73 && (bytes[1] == 1 || bytes[1] == 2) &&
           bytes[2] == 1 && bytes[3] == 0;
}

static const fplt__door_kind *kind_of_bytes(const char *bytes, size_t size)
{
    static const char sas[] = "\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60";
    if (begins(bytes, size, "PK\3\4", 4))
        return &fplt__door_kinds[XLSX];
    if (begins(bytes, size, "$FL2", 4) || begins(bytes, size, "$FL3", 4) ||
        begins(bytes, size, "<stata_dta>", 11) || begins(bytes, size, sas, 16) ||
        begins(bytes, size, "HEADER RECORD*******", 20) || is_old_stata(bytes, size))
        return &fplt__door_kinds[READSTAT];
    return NULL;
}

static const fplt__door_kind *kind_of_file(const char *path)
{
    char bytes[256];
    size_t got = 0;
    fplt__view view = FPLT__NO_VIEW;
    const fplt__door_kind *kind = NULL;
    if (!fplt__view_open(path, SIZE_MAX, &view, NULL) && view.handle >= 0 &&
        !fplt__view_read(&view, path, 0, bytes, sizeof bytes, &got, NULL))
        kind = kind_of_bytes(bytes, got);
    fplt__view_close(&view);
    return kind;
}

const fplt__door_kind *fplt__address_kind(const char *path)
{
    for (const fplt__door_kind *kind = fplt__door_kinds; kind->name; kind++)
        if (kind->scheme && strncmp(path, kind->scheme, strlen(kind->scheme)) == 0)
            return kind;
    if (strncmp(path, "postgres:", 9) == 0)
        return fplt__address_kind("postgresql:");
    const fplt__door_kind *kind = kind_of_file(path);
    const char *mark = strrchr(path, '?');
    char file[4096];
    if (kind || !mark || (size_t)(mark - path) >= sizeof file)
        return kind;
    memcpy(file, path, (size_t)(mark - path));
    file[mark - path] = 0;
    return kind_of_file(file);
}

fplt__span fplt__address_name(const char *path)
{
    const fplt__door_kind *kind = fplt__address_kind(path);
    fplt__span name = fplt__span_of(path);
    const char *mark = kind ? strchr(path, '?') : NULL;
    if (mark)
        name.length = (size_t)(mark - path);
    if (kind && kind->scheme) {
        const char *colon = memchr(name.text, ':', name.length);
        name.length -= (size_t)(colon + 1 - name.text);
        name.text = colon + 1;
    }
    const char *slash = name.length ? memrchr(name.text, '/', name.length) : NULL;
    if (slash && slash + 1 < name.text + name.length) {
        name.length -= (size_t)(slash + 1 - name.text);
        name.text = slash + 1;
    }
    return name;
}

/* ---- passwords ---- */

static fplt_status refuse_password(const char *path, fplt_error *error)
{
    const char *mark = strpbrk(path, ":");
    return fplt_error_set(
        error, FPLT_BAD_VALUE,
        "%.*s: the address has a password, which would be seen in lists of processes, in models "
        "and in logs: take it out and change it; give it by PGPASSWORD, PGPASSFILE or a service "
        "file (PostgreSQL), or by FEDPLT_ODBC_PASSWORD, password-file=FILE or odbc.ini (ODBC)",
        (int)(mark ? mark - path : 8), path);
}

static int is_password_name(const char *name, size_t length)
{
    static const char *const names[] = {"password", "pwd", "passwd", "sslpassword", "passphrase"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0)
            return 1;
    return 0;
}

/* "//user:word@host" and "Driver=x;PWD=word". */
static int has_password(const char *place)
{
    const char *host = strncmp(place, "//", 2) == 0 ? place + 2 : NULL;
    const char *at = host ? memchr(host, '@', strcspn(host, "/?")) : NULL;
    if (at && memchr(host, ':', (size_t)(at - host)))
        return 1;
    for (const char *part = place; *part;) {
        const char *end = part + strcspn(part, ";"),
                   *equals = memchr(part, '=', (size_t)(end - part));
        while (*part == ' ')
            part++;
        size_t length = equals && equals > part ? (size_t)(equals - part) : 0;
        while (length && part[length - 1] == ' ')
            length--;
        if (length && is_password_name(part, length))
            return 1;
        part = *end ? end + 1 : end;
    }
    return 0;
}

/* ---- parameters ---- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) % 16 : -1;
}

/* %XX stands for a byte; another % for itself. */
static void decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        int high = *from == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        int is_byte = low >= 0 && (high || low);
        *to++ = is_byte ? (char)(16 * high + low) : *from;
        from += is_byte ? 2 : 0;
    }
    *to = 0;
}

static int is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at++)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return 1;
    return 0;
}

static fplt_status read_query(const char *file, fplt__address *address, fplt_error *error)
{
    enum { MAX_QUERY = 1 << 20 };
    size_t length;
    fplt_status status = fplt__file_read(file, MAX_QUERY, &address->query, &length, error);
    address->request.query = address->query;
    return status;
}

static fplt_status set_parameter(const char *path, const char *name, char *value,
                                 fplt__address *address, fplt_error *error)
{
    fplt__door_request *request = &address->request;
    decode(value);
    if (!*value)
        return fplt_error_set(error, FPLT_BAD_VALUE, "%.300s: the parameter '%s' has no value",
                              path, name);
    if (strcmp(name, "query-file") == 0)
        return read_query(value, address, error);
    if (strcmp(name, "labels") == 0) {
        request->no_labels = strcmp(value, "no") == 0;
        return request->no_labels || strcmp(value, "yes") == 0
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_BAD_VALUE,
                                    "%.300s: labels is '%.80s', but it must be yes or no", path,
                                    value);
    }
    const char **place = strcmp(name, "table") == 0      ? &request->table
                         : strcmp(name, "query") == 0    ? &request->query
                         : strcmp(name, "order-by") == 0 ? &request->order_by
                         : strcmp(name, "sheet") == 0    ? &request->sheet
                                                         : &request->password_file;
    *place = value;
    return FPLT_OK;
}

/* Takes one parameter; a foreign one goes behind the place, where `rest` is. */
static fplt_status take_parameter(const char *path, const fplt__door_kind *kind, char *item,
                                  char **rest, fplt__address *address, fplt_error *error)
{
    char *equals = strchr(item, '=');
    size_t length = equals ? (size_t)(equals - item) : strlen(item);
    if (is_password_name(item, length))
        return refuse_password(path, error);
    if (equals)
        *equals = 0;
    if (equals && is_listed(kind->parameters, item))
        return set_parameter(path, item, equals + 1, address, error);
    if (equals && kind->passes_on) {
        *equals = '=';
        size_t size = strlen(item);
        (*rest)[0] = strchr(address->request.place, '?') ? '&' : '?';
        memmove(*rest + 1, item, size + 1);
        *rest += size + 1;
        return FPLT_OK;
    }
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%.300s: there is no parameter '%.80s'; the address may have %s", path,
                          item, kind->parameters);
}

static fplt_status check_database(const char *path, const fplt__door_request *request,
                                  fplt_error *error)
{
    if (request->table && request->query)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%.300s: the address has a table and a query: leave one out", path);
    if (!request->table && !request->query)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%.300s: the address says no table: add ?table=NAME, or "
                              "?query=SELECT... and &order-by=KEY",
                              path);
    return FPLT_OK;
}

fplt_status fplt__address_parse(const char *path, const fplt__door_kind *kind,
                                fplt__address *address, fplt_error *error)
{
    size_t size = strlen(path), skip = kind->scheme && !kind->passes_on ? strlen(kind->scheme) : 0;
    *address = (fplt__address){.text = NULL};
    fplt_status status = fplt__alloc_into(&address->text, 2 * size + 4, 1, "an address", error);
    if (status)
        return status;
    /* the place and foreign parameters come first in the memory, then the parameters themselves */
    char *place = address->text, *item = address->text + size + 2;
    const char *mark = kind->scheme         ? strchr(path, '?')
                       : kind_of_file(path) ? NULL
                                            : strrchr(path, '?');
    size_t length = mark ? (size_t)(mark - path) : size;
    memcpy(place, path + skip, length - skip);
    address->request.name = path;
    address->request.place = place;
    if (has_password(kind->passes_on ? strchr(place, ':') + 1 : place) && kind->scheme)
        return refuse_password(path, error);
    char *rest = place + length - skip;
    if (mark)
        memcpy(item, mark + 1, size - length - 1);
    while (!status && *item) {
        char *end = item + strcspn(item, "&"), *next = *end ? end + 1 : end;
        *end = 0;
        if (*item)
            status = take_parameter(path, kind, item, &rest, address, error);
        item = next;
    }
    return !status && kind->scheme ? check_database(path, &address->request, error) : status;
}

void fplt__address_clear(fplt__address *address)
{
    fplt__free(address->text);
    fplt__free(address->query);
    *address = (fplt__address){.text = NULL};
}
