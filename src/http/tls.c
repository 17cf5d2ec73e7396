/* TLS of a server: its own certificate, and which certificates of clients it takes. */
#include "http/serving.h"

#include "base/assert.h"
#include "x509/x509.h"

static const char tls_priority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

static int verify(gnutls_session_t session)
{
    fplt__http_connection *peer = gnutls_session_get_ptr(session);
    unsigned count = 0;
    const gnutls_datum_t *found = gnutls_certificate_get_peers(session, &count);
    gnutls_x509_crt_t certificate = NULL;
    int legal = 0;
    if (found && count && gnutls_x509_crt_init(&certificate) >= 0 &&
        gnutls_x509_crt_import(certificate, &found[0], GNUTLS_X509_FMT_DER) >= 0 &&
        fplt__certificate_is_of(certificate, peer->server->authority)) {
        peer->is_client = peer->server->service.identify(certificate, peer->peer);
        legal = peer->has_certificate = 1;
    }
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    if (!legal && !peer->refused) {
        peer->refused = 1;
        fplt__http_connection_refuse(
            peer, "certificate",
            "TLS handshake failed: the client presented a certificate of another "
            "authority");
    }
    return legal ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static int show_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                            const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                            gnutls_pcert_st **chain, unsigned *length, gnutls_privkey_t *key)
{
    (void)names, (void)name_count, (void)algorithms, (void)algorithm_count;
    fplt__http_connection *peer = gnutls_session_get_ptr(session);
    FPLT__ASSERT(peer->credentials && peer->credentials->holders > 0);
    *chain = &peer->credentials->certificate;
    *length = 1;
    *key = peer->credentials->key;
    return 0;
}

fplt_status fplt__server_certify(fplt__server *server, const char *certificate, const char *key,
                                 fplt_error *error)
{
    fplt__credentials *made;
    fplt_status status = fplt__credentials_make(certificate, key, &made, error);
    if (status)
        return status;
    fplt__credentials_release(server->shown);
    server->shown = made;
    return FPLT_OK;
}

static fplt_status trust(fplt__server *server, const char *authority, fplt_error *error)
{
    int code = fplt__x509_import(authority, &server->authority);
    return code < 0 ? fplt_error_set(error, FPLT_BAD_DATA, "the authority's certificate: %s",
                                     gnutls_strerror(code))
                    : FPLT_OK;
}

fplt_status fplt__server_set_up_tls(fplt__server *server, const fplt__server_settings *settings,
                                    fplt_error *error)
{
    int code = gnutls_certificate_allocate_credentials(&server->credentials);
    if (code >= 0)
        code = gnutls_priority_init(&server->priority, tls_priority, NULL);
    if (code < 0)
        return fplt_error_set(error, FPLT_FAILED, "TLS: %s", gnutls_strerror(code));
    gnutls_certificate_set_retrieve_function2(server->credentials, show_certificate);
    fplt_status status = fplt__server_certify(server, settings->certificate, settings->key, error);
    if (status || !settings->authority)
        return status;
    gnutls_datum_t text = fplt__x509_datum(settings->authority);
    code = gnutls_certificate_set_x509_trust_mem(server->credentials, &text, GNUTLS_X509_FMT_PEM);
    return code < 0 ? fplt_error_set(error, FPLT_BAD_DATA, "the authority's certificate: %s",
                                     gnutls_strerror(code))
                    : trust(server, settings->authority, error);
}

/* No tickets: a session that is taken up again would not be judged. */
gnutls_session_t fplt__server_session(fplt__server *server)
{
    gnutls_session_t session;
    if (gnutls_init(&session,
                    GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS | GNUTLS_NO_SIGNAL) < 0)
        return NULL;
    if (gnutls_priority_set(session, server->priority) < 0 ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, server->credentials) < 0) {
        gnutls_deinit(session);
        return NULL;
    }
    if (server->wants_certificate) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, verify);
    }
    return session;
}
