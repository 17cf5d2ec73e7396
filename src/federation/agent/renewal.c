/* The agent's certificate, renewed over its connection in the month before it ends. The key stays the same. */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/file.h"
#include "federation/agent/agent.h"
#include "federation/plan/routes.h"

static const double day = 24 * 3600, hour = 3600, shortest_wait = 1;

/* Whether a text is a later certificate of this agent, of the same key and authority. */
static fplt_status check_renewed(const fplt__agent *agent, const char *pem, fplt_error *error)
{
    static const char what[] = "the certificate that the coordinator sent";
    fplt__identity own;
    const char *authority = fplt__pem_second(pem);
    fplt_status status = fplt__certificate_read(pem, what, &own, error);
    if (status || (status = fplt__key_check(pem, agent->key, what, "agent.key", error)) ||
        (status = fplt__issuer_check(pem, agent->authority, what, "agent.pem", error)))
        return status;
    if (own.role != FPLT_ROLE_AGENT || strcmp(own.name, agent->self.name) != 0 ||
        strcmp(own.federation, agent->self.federation) != 0 || own.ends <= agent->self.ends ||
        !authority || strcmp(authority, agent->authority) != 0)
        return fplt_error_set(error, FPLT_BAD_DATA,
                              "%s is not a later one of %s in %s, with its authority behind it",
                              what, agent->self.name, agent->self.federation);
    return FPLT_OK;
}

/* Asks for a certificate of the same name and key; `pem` is released with fplt__free. */
static fplt_status ask(fplt__agent *agent, char **pem, fplt_error *error)
{
    char *request = NULL;
    fplt__answered answered;
    fplt_status status = fplt__request_make(agent->key, agent->self.name, &request, error);
    *pem = NULL;
    if (status)
        return status;
    fplt__call call = {.method = "POST",
                       .path = FPLT__RENEWAL_PATH,
                       .type = "application/x-pem-file",
                       .body = request,
                       .size = strlen(request),
                       .limit = FPLT__PEM_LIMIT};
    status = fplt__client_call(agent->client, &call, &answered, error);
    if (!status && answered.status != 200)
        status = fplt_error_set(error, FPLT_IO, "the coordinator answers %u: %.*s", answered.status,
                                (int)(answered.size < 300 ? answered.size : 300),
                                (const char *)answered.body);
    if (!status && !(*pem = fplt__strndup((const char *)answered.body, answered.size)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for a certificate");
    fplt__free(request);
    return status;
}

static fplt_status renew(fplt__agent *agent,
                         fplt_status (*reopen)(fplt__agent *agent, fplt_error *error),
                         fplt_error *error)
{
    char path[4200], *pem;
    fplt_status status = ask(agent, &pem, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/agent.pem", agent->folder);
    if (!(status = check_renewed(agent, pem, error)) &&
        !(status = fplt__file_save(path, 0666, pem, strlen(pem), error)))
        status = reopen(agent, error);
    fplt__free(pem);
    return status;
}

/* Whether the end of the certificate is to be looked at now. */
static int is_due(struct fplt__agent_renewal *renewal, double now)
{
    int is_answered = renewal->wait > 0 && renewal->answered && now >= renewal->soon;
    renewal->answered = 0;
    return !renewal->next || now >= renewal->next || is_answered;
}

/* If the coordinator did not answer, the next try is the first time that it answers a request, whose back-off is that of
 * the machine. Tries that fail although it answers are 1, 2, 4 .. s apart, at most an hour. */
static void put_off(struct fplt__agent_renewal *renewal, double now)
{
    renewal->wait = renewal->wait > 0 ? 2 * renewal->wait : shortest_wait;
    if (renewal->wait > hour)
        renewal->wait = hour;
    renewal->soon = now + renewal->wait;
    renewal->next = now + hour;
}

void fplt__agent_tend_certificate(fplt__agent *agent,
                                  fplt_status (*reopen)(fplt__agent *agent, fplt_error *error))
{
    char date[16];
    fplt_error error = {FPLT_OK, ""};
    double now = fplt__now();
    if (!is_due(&agent->renewal, now))
        return;
    if (!fplt__certificate_is_ending(&agent->self, date)) {
        agent->renewal.next = now + day;
        return;
    }
    if (renew(agent, reopen, &error)) {
        put_off(&agent->renewal, now);
        fplt__agent_log(
            agent, "certificate",
            "this agent's certificate ends on %s and was not renewed: %s; it is tried again when "
            "the coordinator answers, or ask the coordinator for a new invitation",
            date, error.text);
        return;
    }
    agent->renewal.wait = 0;
    agent->renewal.next = now + day;
    fplt__date(agent->self.ends, date);
    fplt__agent_log(agent, "certificate", "renewed: valid until %s", date);
}
