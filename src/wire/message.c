/* The small messages. */
#include "wire/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "wire/json.h"

/* --- proofs --- */

static fplt__digest mac_of(const fplt__proof *proof, const fplt__digest *plan,
                           uint32_t member_index, const uint8_t key[32])
{
    uint8_t text[32 + 4 + 4 + 8 + 8 + 32];
    fplt__digest mac;
    memcpy(text, plan, 32);
    fplt__put32(text + 32, member_index);
    fplt__put32(text + 36, proof->incarnation);
    fplt__put64(text + 40, proof->round);
    fplt__put64(text + 48, proof->version);
    memcpy(text + 56, &proof->chain, 32);
    crypto_auth(mac.byte, text, sizeof text, key);
    return mac;
}

void fplt__proof_sign(fplt__proof *proof, const fplt__digest *plan, uint32_t member_index,
                      const uint8_t key[32])
{
    proof->mac = mac_of(proof, plan, member_index, key);
}

int fplt__proof_valid(const fplt__proof *proof, const fplt__digest *plan, uint32_t member_index,
                      const uint8_t key[32])
{
    fplt__digest mac = mac_of(proof, plan, member_index, key);
    return sodium_memcmp(&mac, &proof->mac, sizeof mac) == 0;
}

void fplt__proof_text(const fplt__proof *proof, char text[FPLT__PROOF_TEXT])
{
    char chain[FPLT__HEX], mac[FPLT__HEX];
    fplt__hex(&proof->chain, FPLT__HASH, chain);
    fplt__hex(&proof->mac, FPLT__HASH, mac);
    snprintf(text, FPLT__PROOF_TEXT, "%u.%llu.%llu.%s.%s", proof->incarnation,
             (unsigned long long)proof->round, (unsigned long long)proof->version, chain, mac);
}

/* Digits up to a dot; NULL where there is anything else. */
static const char *read_number(const char *text, uint64_t most, uint64_t *number)
{
    *number = 0;
    const char *start = text;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*number > (most - digit) / 10)
            return NULL;
        *number = 10 * *number + digit;
    }
    return *text == '.' && text > start ? text + 1 : NULL;
}

int fplt__proof_read(const char *text, fplt__proof *proof)
{
    uint64_t incarnation;
    char chain[FPLT__HEX] = "";
    if (!(text = read_number(text, UINT32_MAX, &incarnation)) ||
        !(text = read_number(text, UINT64_MAX, &proof->round)) ||
        !(text = read_number(text, UINT64_MAX, &proof->version)) ||
        strlen(text) != 2 * (FPLT__HEX - 1) + 1 || text[FPLT__HEX - 1] != '.')
        return 0;
    proof->incarnation = (uint32_t)incarnation;
    memcpy(chain, text, FPLT__HEX - 1);
    return fplt__unhex(chain, &proof->chain, FPLT__HASH) &&
           fplt__unhex(text + FPLT__HEX, &proof->mac, FPLT__HASH);
}

/* --- reports --- */

static json_t *digest_json(const fplt__digest *digest)
{
    return fplt__json_bytes(digest, sizeof *digest);
}

/* Reports are the message of every request, so their usual parts are written and read here, without a tree in
 * memory; the texts are those of json.c. */

static char *put_text(char *to, const char *text)
{
    size_t size = strlen(text);
    memcpy(to, text, size);
    return to + size;
}

/* "key":"digits", with what comes before and behind */
static char *put_digest(char *to, const char *before, const fplt__digest *digest)
{
    to = put_text(to, before);
    *to++ = '"';
    fplt__hex(digest, sizeof *digest, to);
    to += FPLT__HEX - 1;
    *to++ = '"';
    return to;
}

static char *put_number(char *to, const char *before, uint64_t number, const char *behind)
{
    char digits[24], *first = digits + sizeof digits - 1;
    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return put_text(put_text(put_text(to, before), first), behind);
}

static char *put_proof(char *to, const fplt__proof *proof)
{
    to = put_digest(to, "{\"chain\":", &proof->chain);
    to = put_number(to, ",\"leg\":", proof->incarnation, "");
    to = put_digest(to, ",\"mac\":", &proof->mac);
    to = put_number(to, ",\"round\":\"", proof->round, "\"");
    return put_number(to, ",\"version\":\"", proof->version, "\"}");
}

static json_t *trouble_json(const fplt__report *report)
{
    return json_pack("{s:o,s:s,s:s}", "round", fplt__json_wide(report->trouble.round), "word",
                     report->trouble.word, "sentence", report->trouble.sentence);
}

#define UNBOUNDED "unbounded"

static json_t *rates_json(const fplt_rates *rates)
{
    json_t *object = json_object();
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        double rate = rates->against[k];
        json_object_set_new(object, fplt_privacy_threat(k)->name,
                            isinf(rate) ? json_string(UNBOUNDED) : fplt__json_real(rate));
    }
    return object;
}

static json_t *charged_json(const fplt__charged *charged)
{
    const fplt__receipt *receipt = &charged->receipt;
    return json_pack("{s:o,s:o,s:o,s:I,s:o}", "spent", rates_json(&receipt->spent), "run",
                     fplt__json_bytes(receipt->run, sizeof receipt->run), "of_run",
                     rates_json(&receipt->of_run), "rounds", (json_int_t)receipt->rounds, "mac",
                     digest_json(&charged->mac));
}

static char *put_bytes(char *to, const char *before, const uint8_t *bytes, size_t size)
{
    to = put_text(put_text(to, before), "\"");
    fplt__hex(bytes, size, to);
    return put_text(to + 2 * size, "\"");
}

static char *put_secure(char *to, const fplt__report *report)
{
    if (!report->has_secure)
        return to;
    to = put_bytes(to, ",\"secure\":{\"key\":", report->secure.entry, 32);
    to = report->secure.has_keys ? put_digest(to, ",\"keys\":", &report->secure.keys)
                                 : put_text(to, ",\"keys\":null");
    return put_text(put_bytes(to, ",\"signature\":", report->secure.entry + 32, 64), "}");
}

/* The rare parts are texts already; NULL: not there. */
static void put_report(const fplt__report *report, const char *charged, const char *trouble,
                       char *to)
{
    to = put_digest(to, "{\"chain\":", &report->chain);
    to = put_text(put_text(to, ",\"charged\":"), charged ? charged : "null");
    to = put_text(to, ",\"enrolled\":");
    if (report->has_enrolled) {
        to = put_digest(to, "{\"digest\":", &report->enrolled.digest);
        to = put_number(to, ",\"leg\":", report->enrolled.incarnation, "}");
    } else {
        to = put_text(to, "null");
    }
    to = put_number(to, ",\"leg\":", report->incarnation, "");
    to = put_digest(to, ",\"plan\":", &report->plan);
    to = put_text(to, ",\"proof\":");
    to = report->has_proof ? put_proof(to, &report->proof) : put_text(to, "null");
    to = put_secure(to, report);
    to = put_text(to, ",\"staged\":");
    if (report->has_staged) {
        to = put_digest(to, "{\"digest\":", &report->staged.digest);
        to = put_number(to, ",\"round\":\"", report->staged.round, "\"}");
    } else {
        to = put_text(to, "null");
    }
    to = put_text(put_text(to, ",\"trouble\":"), trouble ? trouble : "null");
    *put_number(to, ",\"version\":\"", report->version, "\"}") = 0;
}

fplt_status fplt__report_text(const fplt__report *report, char **text, fplt_error *error)
{
    enum { USUAL = 1536 }; /* ten digests, six numbers and the keys */
    char *charged = NULL, *trouble = NULL;
    *text = NULL;
    fplt_status status = report->has_charged
                             ? fplt__json_text(charged_json(&report->charged), &charged, error)
                             : FPLT_OK;
    if (!status && report->has_trouble)
        status = fplt__json_text(trouble_json(report), &trouble, error);
    size_t rare = (charged ? strlen(charged) : 0) + (trouble ? strlen(trouble) : 0);
    if (!status)
        status = fplt__alloc_into(text, USUAL + rare, 1, "a report", error);
    if (!status)
        put_report(report, charged, trouble, *text);
    fplt__free(charged);
    fplt__free(trouble);
    return status;
}

/* What is left of a text that is read; `odd` once it is not as expected. */
struct scan {
    const char *at, *end;
    int odd;
};

static int scan_text(struct scan *scan, const char *text)
{
    size_t size = strlen(text);
    if (scan->odd || (size_t)(scan->end - scan->at) < size || memcmp(scan->at, text, size) != 0)
        return 0;
    scan->at += size;
    return 1;
}

static void scan_word(struct scan *scan, const char *text)
{
    scan->odd |= !scan_text(scan, text);
}

/* At most 64 bytes. */
static void scan_bytes(struct scan *scan, const char *before, void *bytes, size_t size)
{
    char digits[2 * 64 + 1];
    scan_word(scan, before);
    scan_word(scan, "\"");
    if (scan->odd || (size_t)(scan->end - scan->at) < 2 * size + 1) {
        scan->odd = 1;
        return;
    }
    memcpy(digits, scan->at, 2 * size);
    digits[2 * size] = 0;
    scan->odd |= !fplt__unhex(digits, bytes, size);
    scan->at += 2 * size;
    scan_word(scan, "\"");
}

static void scan_digest(struct scan *scan, const char *before, fplt__digest *digest)
{
    scan_bytes(scan, before, digest, sizeof *digest);
}

static void scan_secure(struct scan *scan, fplt__report *report)
{
    if (!(report->has_secure = scan_text(scan, ",\"secure\":{")))
        return;
    scan_bytes(scan, "\"key\":", report->secure.entry, 32);
    if ((report->secure.has_keys = !scan_text(scan, ",\"keys\":null")))
        scan_digest(scan, ",\"keys\":", &report->secure.keys);
    scan_bytes(scan, ",\"signature\":", report->secure.entry + 32, 64);
    scan_word(scan, "}");
}

static uint64_t scan_number(struct scan *scan, const char *before, uint64_t most,
                            const char *behind)
{
    uint64_t number = 0;
    scan_word(scan, before);
    const char *start = scan->at;
    for (; !scan->odd && scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        unsigned digit = (unsigned)(*scan->at - '0');
        scan->odd |= number > (most - digit) / 10;
        number = 10 * number + digit;
    }
    scan->odd |= scan->at == start || (*start == '0' && scan->at - start > 1);
    scan_word(scan, behind);
    return number;
}

/* Reads a report without charges and trouble; 0 where it has them, and where anything is wrong with it. */
static int scan_report(const void *text, size_t size, fplt__report *report)
{
    if (!size)
        return 0;
    struct scan scan = {text, (const char *)text + size, 0};
    scan_digest(&scan, "{\"chain\":", &report->chain);
    scan_word(&scan, ",\"charged\":null,\"enrolled\":");
    if ((report->has_enrolled = !scan_text(&scan, "null"))) {
        scan_digest(&scan, "{\"digest\":", &report->enrolled.digest);
        report->enrolled.incarnation = (uint32_t)scan_number(&scan, ",\"leg\":", UINT32_MAX, "}");
    }
    report->incarnation = (uint32_t)scan_number(&scan, ",\"leg\":", UINT32_MAX, "");
    scan_digest(&scan, ",\"plan\":", &report->plan);
    scan_word(&scan, ",\"proof\":");
    if ((report->has_proof = !scan_text(&scan, "null"))) {
        scan_digest(&scan, "{\"chain\":", &report->proof.chain);
        report->proof.incarnation = (uint32_t)scan_number(&scan, ",\"leg\":", UINT32_MAX, "");
        scan_digest(&scan, ",\"mac\":", &report->proof.mac);
        report->proof.round = scan_number(&scan, ",\"round\":\"", UINT64_MAX, "\"");
        report->proof.version = scan_number(&scan, ",\"version\":\"", UINT64_MAX, "\"}");
    }
    scan_secure(&scan, report);
    scan_word(&scan, ",\"staged\":");
    if ((report->has_staged = !scan_text(&scan, "null"))) {
        scan_digest(&scan, "{\"digest\":", &report->staged.digest);
        report->staged.round = scan_number(&scan, ",\"round\":\"", UINT64_MAX, "\"}");
    }
    scan_word(&scan, ",\"trouble\":null");
    report->version = scan_number(&scan, ",\"version\":\"", UINT64_MAX, "\"}");
    return !scan.odd && scan.at == scan.end;
}

static void read_digest(fplt__reader *reader, const char *key, fplt__digest *digest)
{
    fplt__reader_bytes(reader, key, digest, sizeof *digest);
}

static uint32_t read_leg(fplt__reader *reader)
{
    return (uint32_t)fplt__reader_count(reader, "leg", UINT32_MAX);
}

static void read_rates(fplt__reader *reader, const char *key, fplt_rates *rates)
{
    fplt__reader part;
    if (!fplt__reader_part(reader, key, &part)) {
        fplt__reader_refuse(reader, key, "an object with a rate for each adversary");
        return;
    }
    for (size_t k = 0; k < FPLT_ADVERSARIES; k++) {
        const char *name = fplt_privacy_threat(k)->name;
        const json_t *value = fplt__reader_any(&part, name, JSON_STRING, "a hexadecimal real");
        const char *text = json_string_value(value);
        if (text && strcmp(text, UNBOUNDED) == 0)
            rates->against[k] = INFINITY;
        else if (value && (!fplt__real_read(value, &rates->against[k]) || rates->against[k] < 0))
            fplt__reader_refuse(&part, name, "a hexadecimal real of at least 0, or " UNBOUNDED);
    }
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
}

static int read_charged(fplt__reader *reader, fplt__charged *charged)
{
    fplt__reader part;
    if (!fplt__reader_part(reader, "charged", &part))
        return 0;
    read_rates(&part, "spent", &charged->receipt.spent);
    fplt__reader_bytes(&part, "run", charged->receipt.run, sizeof charged->receipt.run);
    read_rates(&part, "of_run", &charged->receipt.of_run);
    charged->receipt.rounds = fplt__reader_count(&part, "rounds", UINT64_C(1) << 53);
    read_digest(&part, "mac", &charged->mac);
    reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    return 1;
}

static void read_parts(fplt__reader *reader, fplt__report *report)
{
    fplt__reader part;
    if ((report->has_staged = fplt__reader_part(reader, "staged", &part))) {
        report->staged.round = fplt__reader_wide(&part, "round");
        read_digest(&part, "digest", &report->staged.digest);
        reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    }
    if ((report->has_enrolled = fplt__reader_part(reader, "enrolled", &part))) {
        report->enrolled.incarnation = read_leg(&part);
        read_digest(&part, "digest", &report->enrolled.digest);
        reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    }
    if ((report->has_proof = fplt__reader_part(reader, "proof", &part))) {
        report->proof.incarnation = read_leg(&part);
        report->proof.round = fplt__reader_wide(&part, "round");
        report->proof.version = fplt__reader_wide(&part, "version");
        read_digest(&part, "chain", &report->proof.chain);
        read_digest(&part, "mac", &report->proof.mac);
        reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    }
    if ((report->has_trouble = fplt__reader_part(reader, "trouble", &part))) {
        report->trouble.round = fplt__reader_wide(&part, "round");
        fplt__reader_text(&part, "word", report->trouble.word, sizeof report->trouble.word);
        fplt__reader_text(&part, "sentence", report->trouble.sentence,
                          sizeof report->trouble.sentence);
        reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    }
    report->has_charged = read_charged(reader, &report->charged);
    if (json_object_get(reader->object, "secure") &&
        (report->has_secure = fplt__reader_part(reader, "secure", &part))) {
        const json_t *keys = json_object_get(part.object, "keys");
        fplt__reader_bytes(&part, "key", report->secure.entry, 32);
        fplt__reader_bytes(&part, "signature", report->secure.entry + 32, 64);
        if ((report->secure.has_keys = !json_is_null(keys)))
            read_digest(&part, "keys", &report->secure.keys);
        else
            part.asked++;
        reader->status = reader->status ? reader->status : fplt__reader_close(&part);
    }
}

fplt_status fplt__report_read(const void *text, size_t size, fplt__report *report,
                              fplt_error *error)
{
    json_t *object;
    memset(report, 0, sizeof *report);
    if (scan_report(text, size, report))
        return FPLT_OK;
    memset(report, 0, sizeof *report);
    fplt_status status =
        fplt__json_read("a report", text, size, FPLT__MESSAGE_LIMIT, &object, error);
    if (status)
        return status;
    fplt__reader reader = fplt__reader_open("a report", object, error);
    read_digest(&reader, "plan", &report->plan);
    report->incarnation = read_leg(&reader);
    report->version = fplt__reader_wide(&reader, "version");
    read_digest(&reader, "chain", &report->chain);
    read_parts(&reader, report);
    status = fplt__reader_close(&reader);
    json_decref(object);
    return status;
}

void fplt__receipt_put(const fplt__receipt *receipt, uint8_t bytes[FPLT__RECEIPT_BYTES])
{
    enum { RATES = 8 * FPLT_ADVERSARIES, RUN = sizeof receipt->run };
    fplt__put_reals(bytes, receipt->spent.against, FPLT_ADVERSARIES);
    memcpy(bytes + RATES, receipt->run, RUN);
    fplt__put64(bytes + RATES + RUN, receipt->rounds);
    fplt__put_reals(bytes + RATES + RUN + 8, receipt->of_run.against, FPLT_ADVERSARIES);
}

void fplt__receipt_get(const uint8_t bytes[FPLT__RECEIPT_BYTES], fplt__receipt *receipt)
{
    enum { RATES = 8 * FPLT_ADVERSARIES, RUN = sizeof receipt->run };
    fplt__get_reals(bytes, receipt->spent.against, FPLT_ADVERSARIES);
    memcpy(receipt->run, bytes + RATES, RUN);
    receipt->rounds = fplt__get64(bytes + RATES + RUN);
    fplt__get_reals(bytes + RATES + RUN + 8, receipt->of_run.against, FPLT_ADVERSARIES);
}

fplt__digest fplt__charged_mac(const fplt__receipt *receipt, const uint8_t key[32])
{
    uint8_t bytes[FPLT__RECEIPT_BYTES];
    fplt__digest mac;
    fplt__receipt_put(receipt, bytes);
    crypto_auth(mac.byte, bytes, sizeof bytes, key);
    return mac;
}

int fplt__charged_valid(const fplt__charged *charged, const uint8_t key[32])
{
    fplt__digest own = fplt__charged_mac(&charged->receipt, key);
    return sodium_memcmp(&own, &charged->mac, sizeof own) == 0;
}

/* --- joins, consent, faults --- */

fplt_status fplt__join_text(const fplt__join *join, char **text, fplt_error *error)
{
    return fplt__json_text(json_pack("{s:o}", "process", fplt__json_wide(join->process)), text,
                           error);
}

fplt_status fplt__join_read(const void *text, size_t size, fplt__join *join, fplt_error *error)
{
    json_t *object;
    memset(join, 0, sizeof *join);
    if (!size)
        return FPLT_OK;
    fplt_status status = fplt__json_read("a join", text, size, FPLT__MESSAGE_LIMIT, &object, error);
    if (status)
        return status;
    fplt__reader reader = fplt__reader_open("a join", object, error);
    join->process = fplt__reader_wide(&reader, "process");
    status = fplt__reader_close(&reader);
    json_decref(object);
    return status;
}

fplt_status fplt__joined_text(const fplt__joined *joined, char **text, fplt_error *error)
{
    json_t *charged = joined->has_charged ? charged_json(&joined->charged) : json_null();
    json_t *object =
        json_pack("{s:o,s:I,s:o,s:b,s:o}", "session", fplt__json_wide(joined->session), "identity",
                  (json_int_t)joined->member_index, "document", digest_json(&joined->document),
                  "planned", joined->planned, "charged", charged);
    return fplt__json_text(object, text, error);
}

fplt_status fplt__joined_read(const void *text, size_t size, fplt__joined *joined,
                              fplt_error *error)
{
    json_t *object;
    memset(joined, 0, sizeof *joined);
    fplt_status status =
        fplt__json_read("the answer to a join", text, size, FPLT__MESSAGE_LIMIT, &object, error);
    if (status)
        return status;
    fplt__reader reader = fplt__reader_open("the answer to a join", object, error);
    joined->session = fplt__reader_wide(&reader, "session");
    joined->member_index = (uint32_t)fplt__reader_count(&reader, "identity", UINT32_MAX);
    read_digest(&reader, "document", &joined->document);
    joined->planned = fplt__reader_flag(&reader, "planned");
    joined->has_charged = read_charged(&reader, &joined->charged);
    status = fplt__reader_close(&reader);
    json_decref(object);
    return status;
}

fplt_status fplt__consent_text(const fplt__consent *consent, char **text, fplt_error *error)
{
    json_t *object = json_pack("{s:o,s:b,s:I,s:s}", "document", digest_json(&consent->document),
                               "agreed", consent->agreed, "records", (json_int_t)consent->records,
                               "sentence", consent->sentence);
    if (object && consent->hessian)
        json_object_set_new(object, "hessian", json_boolean(consent->hessian == FPLT__HESSIAN_YES));
    if (object && consent->has_identity)
        json_object_set_new(object, "identity",
                            fplt__json_bytes(consent->identity, sizeof consent->identity));
    return fplt__json_text(object, text, error);
}

fplt_status fplt__consent_read(const void *text, size_t size, fplt__consent *consent,
                               fplt_error *error)
{
    json_t *object;
    memset(consent, 0, sizeof *consent);
    fplt_status status =
        fplt__json_read("a consent", text, size, FPLT__MESSAGE_LIMIT, &object, error);
    if (status)
        return status;
    fplt__reader reader = fplt__reader_open("a consent", object, error);
    read_digest(&reader, "document", &consent->document);
    consent->agreed = fplt__reader_flag(&reader, "agreed");
    consent->records = fplt__reader_count(&reader, "records", INT64_MAX);
    if (json_object_get(object, "hessian"))
        consent->hessian =
            fplt__reader_flag(&reader, "hessian") ? FPLT__HESSIAN_YES : FPLT__HESSIAN_NO;
    if ((consent->has_identity = json_object_get(object, "identity") != NULL))
        fplt__reader_bytes(&reader, "identity", consent->identity, sizeof consent->identity);
    fplt__reader_text(&reader, "sentence", consent->sentence, sizeof consent->sentence);
    status = fplt__reader_close(&reader);
    json_decref(object);
    return status;
}

fplt_status fplt__fault_text(const fplt__fault *fault, char **text, fplt_error *error)
{
    return fplt__json_text(json_pack("{s:s,s:b,s:s}", "error", fault->word, "final", fault->final,
                                     "sentence", fault->sentence),
                           text, error);
}

char *fplt__fault_body(const char *word, int final, const char *sentence)
{
    fplt__fault fault = {.final = final};
    char *text = NULL;
    snprintf(fault.word, sizeof fault.word, "%s", word);
    snprintf(fault.sentence, sizeof fault.sentence, "%s", sentence);
    if (fplt__fault_text(&fault, &text, NULL)) { /* it repeats a path that is not UTF-8 */
        for (char *at = fault.sentence; *at; at++)
            *at = *at & 0x80 ? '?' : *at;
        fplt__fault_text(&fault, &text, NULL);
    }
    return text;
}

fplt_status fplt__fault_read(const void *text, size_t size, fplt__fault *fault, fplt_error *error)
{
    json_t *object;
    memset(fault, 0, sizeof *fault);
    fplt_status status =
        fplt__json_read("an error", text, size, FPLT__MESSAGE_LIMIT, &object, error);
    if (status)
        return status;
    fplt__reader reader = fplt__reader_open("an error", object, error);
    fplt__reader_text(&reader, "error", fault->word, sizeof fault->word);
    fault->final = fplt__reader_flag(&reader, "final");
    fplt__reader_text(&reader, "sentence", fault->sentence, sizeof fault->sentence);
    status = fplt__reader_close(&reader);
    json_decref(object);
    return status;
}
