#include "http/client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

enum {
    CONNECT_SECONDS = 30,
    SILENT_SECONDS = 120,  /* an answer is held 25 s at most */
    CONTINUE_SECONDS = 30, /* to wait for leave to send a large body */
    EXAMINE_SECONDS = 10,  /* to look at a certificate that was rejected */
    MAX_CERTIFICATE = 8192,
    MAX_HOST = 253, /* characters of a name in DNS */
    FILES = 3,
    LARGE = 256 * 1024, /* such a body; a smaller one waits in the kernel's buffers */
};

struct fplt__client {
    CURL *curl;
    char *url, *authority;          /* owned; authority NULL: anybody is believed */
    fplt__client_settings settings; /* its texts are not kept */
    int file[FILES]; /* authority, certificate and key, where curl wants files; -1: none */
    int has_proxy;
    char proxy[256];
    char problem[CURL_ERROR_SIZE];
    const uint8_t *out;
    size_t out_size, out_done;
    uint8_t *in; /* owned */
    size_t in_size, in_room;
    uint64_t limit, sent, received;
    int too_long, no_memory;
    const char *wanted; /* header of the answer; NULL: none */
    char header[256];   /* its value */
};

/* Callbacks */

static size_t give(char *buffer, size_t size, size_t count, void *context)
{
    fplt__client *client = context;
    FPLT__ASSERT(client->out_done <= client->out_size);
    size_t left = client->out_size - client->out_done, take = size * count;
    take = take < left ? take : left;
    memcpy(buffer, client->out + client->out_done, take);
    client->out_done += take;
    return take;
}

static int seek_body(void *context, curl_off_t offset, int origin)
{
    fplt__client *client = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > client->out_size)
        return CURL_SEEKFUNC_CANTSEEK;
    client->out_done = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    fplt__client *client = context;
    size_t length = size * count;
    FPLT__ASSERT(client->in_size <= client->limit && client->in_size <= client->in_room);
    if (length > client->limit - client->in_size) {
        client->too_long = 1;
        return 0;
    }
    if (fplt__grow(&client->in, &client->in_room, client->in_size + length, 1, "an answer", NULL)) {
        client->no_memory = 1;
        return 0;
    }
    memcpy(client->in + client->in_size, bytes, length);
    client->in_size += length;
    return length;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
    fplt__client *client = context;
    size_t length = size * count, name = client->wanted ? strlen(client->wanted) : 0;
    if (name && length > name && strncasecmp(bytes, client->wanted, name) == 0 &&
        bytes[name] == ':') {
        const char *begin = bytes + name + 1, *end = bytes + length;
        while (begin < end && *begin == ' ')
            begin++;
        while (end > begin && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
            end--;
        snprintf(client->header, sizeof client->header, "%.*s", (int)(end - begin), begin);
    }
    return length;
}

static int watch(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    const fplt__client *client = context;
    return client->settings.interrupted ? client->settings.interrupted(client->settings.context)
                                        : 0;
}

/* Life */

static void initialise(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Whether curl reads certificates and keys from memory: built with GnuTLS, it reads them from files only. */
static int reads_memory(void)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    return !info->ssl_version || strncmp(info->ssl_version, "GnuTLS", 6) != 0;
}

/* Gives curl a text for one of its options about certificates, if need be as a file that exists in memory only. */
static fplt_status set_pem(fplt__client *client, int which, CURLoption from_memory,
                           CURLoption from_file, const char *text, fplt_error *error)
{
    char path[40];
    if (!text)
        return FPLT_OK;
    size_t size = strlen(text);
    if (reads_memory()) {
        struct curl_blob blob = {(void *)(uintptr_t)text, size, CURL_BLOB_COPY};
        return curl_easy_setopt(client->curl, from_memory, &blob) == CURLE_OK
                   ? FPLT_OK
                   : fplt_error_set(error, FPLT_FAILED, "curl takes no certificate from memory");
    }
    client->file[which] = memfd_create("certificate", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", client->file[which]);
    return client->file[which] >= 0 && write(client->file[which], text, size) == (ssize_t)size &&
                   curl_easy_setopt(client->curl, from_file, path) == CURLE_OK
               ? FPLT_OK
               : fplt_error_set(error, FPLT_FAILED, "curl takes no certificate from memory");
}

static fplt_status set_identity(fplt__client *client, const fplt__client_settings *settings,
                                fplt_error *error)
{
    fplt_status status;
    if ((status =
             set_pem(client, 0, CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, settings->authority, error)) ||
        (status = set_pem(client, 1, CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, settings->certificate,
                          error)))
        return status;
    return set_pem(client, 2, CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, settings->key, error);
}

/* What curl will do by itself, only to be able to say it. */
static void find_proxy(fplt__client *client, const char *proxy)
{
    const char *found = getenv("https_proxy");
    if (!found || !*found)
        found = getenv("HTTPS_PROXY");
    if (!found || !*found)
        found = getenv("ALL_PROXY");
    if (proxy && strcmp(proxy, "auto") != 0)
        found = strcmp(proxy, "off") == 0 ? NULL : proxy;
    client->has_proxy = found && *found;
    snprintf(client->proxy, sizeof client->proxy, "%s", client->has_proxy ? found : "");
}

static void set_up(fplt__client *client, const fplt__client_settings *settings)
{
    CURL *curl = client->curl;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->problem);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, settings->authority ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, settings->authority ? 2L : 0L);
    curl_easy_setopt(curl, CURLOPT_CAINFO, NULL);
    curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, CONTINUE_SECONDS * 1000L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 262144L);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 262144L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(curl, CURLOPT_READDATA, client);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, client);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, client);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, client);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (settings->proxy && strcmp(settings->proxy, "auto") != 0)
        curl_easy_setopt(curl, CURLOPT_PROXY,
                         strcmp(settings->proxy, "off") == 0 ? "" : settings->proxy);
}

/* Whether a text can be an address at all; without a scheme where `guess` says so, and without a path behind it. */
static int is_address(const char *text, unsigned guess)
{
    CURLU *url = curl_url();
    char *host = NULL, *port = NULL, *path = NULL;
    int is_good = url && !curl_url_set(url, CURLUPART_URL, text, guess) &&
                  !curl_url_get(url, CURLUPART_HOST, &host, 0) && strlen(host) <= MAX_HOST &&
                  !curl_url_get(url, CURLUPART_PATH, &path, 0) && strcmp(path, "/") == 0 &&
                  (curl_url_get(url, CURLUPART_PORT, &port, 0) || strcmp(port, "0") != 0);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    curl_url_cleanup(url);
    return is_good;
}

/* What no network can ever reach is an error of the settings, and not worth a second try. */
static fplt_status check_addresses(const fplt__client_settings *settings, fplt_error *error)
{
    const char *proxy = settings->proxy, *url = settings->url;
    if (strncmp(url, "https://", 8) != 0 || url[strlen(url) - 1] == '/' || !is_address(url, 0))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "'%.100s' is not the address of a coordinator: https://HOST:PORT, "
                              "with [] about an IPv6 address and nothing behind the port",
                              url);
    if (proxy && strcmp(proxy, "auto") != 0 && strcmp(proxy, "off") != 0 &&
        !is_address(proxy, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME))
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "proxy: '%.100s' is not the address of a proxy: http://HOST:PORT",
                              proxy);
    return FPLT_OK;
}

fplt_status fplt__client_create(const fplt__client_settings *settings, fplt__client **out,
                                fplt_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    pthread_once(&once, initialise);
    fplt__client *client;
    fplt_status status = check_addresses(settings, error);
    if (status || (status = fplt__alloc_into(&client, 1, sizeof *client, "a client", error)))
        return status;
    for (int i = 0; i < FILES; i++)
        client->file[i] = -1;
    client->curl = curl_easy_init();
    client->url = fplt__strdup(settings->url);
    client->authority = settings->authority ? fplt__strdup(settings->authority) : NULL;
    if (!client->curl || !client->url || (settings->authority && !client->authority)) {
        fplt__client_destroy(client);
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a client");
    }
    client->settings = *settings;
    find_proxy(client, settings->proxy);
    set_up(client, settings);
    if ((status = set_identity(client, settings, error))) {
        fplt__client_destroy(client);
        return status;
    }
    *out = client;
    return FPLT_OK;
}

void fplt__client_destroy(fplt__client *client)
{
    if (!client)
        return;
    if (client->curl)
        curl_easy_cleanup(client->curl);
    for (int i = 0; i < FILES; i++)
        if (client->file[i] >= 0)
            close(client->file[i]);
    fplt__free(client->url);
    fplt__free(client->authority);
    fplt__free(client->in);
    fplt__free(client);
}

void fplt__client_disconnect(fplt__client *client)
{
    CURL *next = curl_easy_duphandle(client->curl); /* the settings without the connection */
    if (!next)
        return;
    curl_easy_cleanup(client->curl);
    client->curl = next;
}

uint64_t fplt__client_sent(const fplt__client *client)
{
    return client->sent;
}

uint64_t fplt__client_received(const fplt__client *client)
{
    return client->received;
}

/* Failures */

static const char *remedy_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "the name of the host is not known; check the address and the network";
    case CURLE_COULDNT_RESOLVE_PROXY:
        return "the name of the proxy is not known; check `proxy` or the environment's https_proxy";
    case CURLE_COULDNT_CONNECT:
        return "nobody answers there; is the coordinator running, and does the firewall let this "
               "machine dial out to that port?";
    case CURLE_OPERATION_TIMEDOUT:
        return "no answer in time; is the network or a firewall in the way?";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "the other side's certificate is not of the authority that is expected";
    case CURLE_SSL_CERTPROBLEM: return "this agent's own certificate or key cannot be used";
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return "the connection was closed; if it stays so, the coordinator refuses this agent's "
               "certificate (another authority?)";
    default: return "";
    }
}

/* A failed handshake: the other side uses another protocol, or it closed the connection. */
static const char *explain_handshake(const char *problem)
{
    static const char *const other[] = {"version", "unexpected TLS packet", "protocol", "alert"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strstr(problem, other[i]))
            return "no TLS 1.3 there; is the address right, and does a proxy open TLS?";
    return "the connection was closed before TLS began: the coordinator is down behind a port that "
           "is forwarded, or limits connections from this address for now";
}

/* The certificate that the other side shows, as PEM text; empty: none came. Nothing is believed and nothing is sent. */
static void fetch_certificate(const fplt__client *client, char *pem, size_t size)
{
    struct curl_certinfo *chain = NULL;
    CURL *curl = curl_easy_init();
    *pem = 0;
    if (!curl)
        return;
    curl_easy_setopt(curl, CURLOPT_URL, client->url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)EXAMINE_SECONDS);
    curl_easy_setopt(curl, CURLOPT_PROXY, client->proxy);
    if (curl_easy_perform(curl) == CURLE_OK &&
        curl_easy_getinfo(curl, CURLINFO_CERTINFO, &chain) == CURLE_OK && chain &&
        chain->num_of_certs > 0)
        for (const struct curl_slist *field = chain->certinfo[0]; field; field = field->next)
            if (strncmp(field->data, "Cert:", 5) == 0)
                snprintf(pem, size, "%s", field->data + 5);
    curl_easy_cleanup(curl);
}

static fplt_status explain(const fplt__client *client, CURLcode code, fplt_error *error)
{
    const char *remedy = remedy_of(code), *by = client->has_proxy ? " by the proxy " : "";
    const char *proxy = client->has_proxy ? client->proxy : "";
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return fplt_error_set(error, FPLT_FAILED, "interrupted");
    if (client->no_memory)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for an answer");
    if (client->too_long)
        return fplt_error_set(error, FPLT_IO, "%s: an answer of more than %llu bytes", client->url,
                              (unsigned long long)client->limit);
    const char *problem = *client->problem ? client->problem : curl_easy_strerror(code);
    char why[400];
    if (code == CURLE_PEER_FAILED_VERIFICATION && client->settings.explain && client->authority) {
        char pem[MAX_CERTIFICATE];
        fetch_certificate(client, pem, sizeof pem);
        client->settings.explain(pem, client->authority, why, sizeof why);
        remedy = why;
    } else if (code == CURLE_SSL_CONNECT_ERROR) {
        remedy = explain_handshake(problem);
    }
    return fplt_error_set(error, FPLT_IO, "%s%s%s: %s%s%s", client->url, by, proxy, problem,
                          *remedy ? ": " : "", remedy);
}

/* Calls */

static struct curl_slist *headers_of(const fplt__call *call)
{
    struct curl_slist *list = NULL;
    char line[256];
    if (call->header)
        list = curl_slist_append(list, call->header);
    if (call->type) {
        snprintf(line, sizeof line, "Content-Type: %s", call->type);
        list = curl_slist_append(list, line);
    }
    return curl_slist_append(list, call->size > LARGE ? "Expect: 100-continue" : "Expect:");
}

static void prepare(fplt__client *client, const fplt__call *call, const char *url)
{
    CURL *curl = client->curl;
    int upload = strcmp(call->method, "GET") != 0;
    client->out = call->body;
    client->out_size = call->size;
    client->out_done = client->in_size = 0;
    client->limit = call->limit;
    client->too_long = client->no_memory = 0;
    client->problem[0] = client->header[0] = 0;
    client->wanted = call->wanted;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, upload ? 1L : 0L);
    if (!upload)
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, upload ? (curl_off_t)call->size : -1);
}

fplt_status fplt__client_call(fplt__client *client, const fplt__call *call,
                              fplt__answered *answered, fplt_error *error)
{
    char url[600];
    long status = 0;
    FPLT__ASSERT(call->path[0] == '/' && call->limit > 0);
    FPLT__ASSERT(call->body || !call->size);
    memset(answered, 0, sizeof *answered);
    snprintf(url, sizeof url, "%.400s%.100s", client->url, call->path);
    prepare(client, call, url);
    struct curl_slist *headers = headers_of(call);
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(client->curl);
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    client->sent += client->out_done;
    client->received += client->in_size;
    if (code != CURLE_OK)
        return explain(client, code, error);
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    FPLT__ASSERT(client->in_size <= call->limit && client->out_done <= call->size);
    answered->status = (unsigned)status;
    answered->body = client->in;
    answered->size = client->in_size;
    memcpy(answered->header, client->header, sizeof answered->header);
    return FPLT_OK;
}
