/* The small messages, as JSON (at most 64 kB, 8 deep; unknown and repeated keys are refused): reports,
 * the answer to a join, consent, errors; and the proof that goes in a header. */
#ifndef FPLT_WIRE_MESSAGE_H
#define FPLT_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "privacy/receipt.h"
#include "fedplt/status.h"
#include "wire/hash.h"

enum { FPLT__MESSAGE_LIMIT = 64 << 10, FPLT__WORD = 24, FPLT__SENTENCE = 512, FPLT__NAME = 41 };

/* What the coordinator had committed of a member when it answered: a receipt, under a key that only
 * the coordinator has. An agent stores the newest and returns it; a coordinator that meets one ahead
 * of its own database knows that the database is an old copy. */
typedef struct fplt__proof {
    uint32_t incarnation;
    uint64_t round, version;
    fplt__digest chain;
    fplt__digest
        mac; /* crypto_auth of (plan, u32 member_index, u32 incarnation, u64 round, u64 version, chain) */
} fplt__proof;

void fplt__proof_sign(fplt__proof *proof, const fplt__digest *plan, uint32_t member_index,
                      const uint8_t key[32]);
int fplt__proof_valid(const fplt__proof *proof, const fplt__digest *plan, uint32_t member_index,
                      const uint8_t key[32]);
/* As the header Fedplt-Proof has it: incarnation.round.version.chain.mac, decimal and hexadecimal. */
enum { FPLT__PROOF_TEXT = 10 + 20 + 20 + 64 + 64 + 5 };
void fplt__proof_text(const fplt__proof *proof, char text[FPLT__PROOF_TEXT]);
int fplt__proof_read(const char *text, fplt__proof *proof); /* 0: not one */

/* The trouble of a site that does not answer a question: privacy or its policy forbids it. */
#define FPLT__NO_ANSWER "private"
/* No trouble, but that the agent has the last model of a run that is over: its polls are held until there is another. */
#define FPLT__HAS_END "ended"
/* That of a site whose rules on records refuse: it says no more than this, and takes no further part in the run. */
#define FPLT__DISCLOSURE "disclosure"
/* The trouble of a site that takes no part in a session of secure aggregation. */
#define FPLT__NO_SESSION_WORD "session"
/* The trouble of a site that has answered the round, and is asked again with other contents. */
#define FPLT__HAS_ANSWERED "answered"

/* A receipt of an agent's ledger under the agent's own key: it knows its own figures when they come back. */
typedef struct fplt__charged {
    fplt__receipt receipt;
    fplt__digest mac;
} fplt__charged;

enum { FPLT__RECEIPT_BYTES = 16 * FPLT_ADVERSARIES + 32 + 8 };
/* Rates of all runs, the run, its rounds, its rates; numbers with their least byte first. */
void fplt__receipt_put(const fplt__receipt *receipt, uint8_t bytes[FPLT__RECEIPT_BYTES]);
void fplt__receipt_get(const uint8_t bytes[FPLT__RECEIPT_BYTES], fplt__receipt *receipt);

/* crypto_auth of these bytes. */
fplt__digest fplt__charged_mac(const fplt__receipt *receipt, const uint8_t key[32]);
int fplt__charged_valid(const fplt__charged *charged, const uint8_t key[32]);

/* What an agent has on disk, and nothing else. */
typedef struct fplt__report {
    fplt__digest plan;
    uint32_t incarnation;
    uint64_t version;
    fplt__digest chain;
    int has_staged, has_enrolled, has_proof, has_trouble, has_charged;
    struct {
        uint64_t round;
        fplt__digest digest; /* fplt__work_digest of the messages stored */
    } staged;
    struct {
        uint32_t incarnation;
        fplt__digest digest; /* fplt__work_digest of the enrolment */
    } enrolled;
    fplt__proof proof;
    struct {
        uint64_t round;
        char word[FPLT__WORD]; /* diverged, spent, failed, FPLT__NO_ANSWER ... */
        char sentence[FPLT__SENTENCE];
    } trouble;
    fplt__charged charged; /* what the agent's ledger has spent */
    int has_secure; /* of a secure plan: the key of this process, signed, and the list that it holds */
    struct {
        uint8_t entry[96]; /* public key and signature */
        int has_keys;
        fplt__digest keys; /* of the list */
    } secure;
} fplt__report;

fplt_status fplt__report_text(const fplt__report *report, char **text, fplt_error *error);
fplt_status fplt__report_read(const void *text, size_t size, fplt__report *report,
                              fplt_error *error);

/* The answer to a join. */
/* What an agent joins with: a number of its process, so that a join that is repeated gets the same session. No text at
 * all is a join as well, of a process that is not known. */
typedef struct fplt__join {
    uint64_t process; /* random; 0: not known */
} fplt__join;

fplt_status fplt__join_text(const fplt__join *join, char **text, fplt_error *error);
fplt_status fplt__join_read(const void *text, size_t size, fplt__join *join, fplt_error *error);

typedef struct fplt__joined {
    uint64_t session;
    uint32_t member_index;
    fplt__digest document; /* the proposal or plan that GET /plan gives */
    int planned;           /* whether that is the plan */
    int has_charged;       /* the largest `charged` this coordinator has seen of the member */
    fplt__charged charged;
} fplt__joined;

fplt_status fplt__joined_text(const fplt__joined *joined, char **text, fplt_error *error);
fplt_status fplt__joined_read(const void *text, size_t size, fplt__joined *joined,
                              fplt_error *error);

/* Whether a site lets Hessians leave; with privacy it says nothing. */
typedef enum fplt__hessian_word {
    FPLT__HESSIAN_UNSAID,
    FPLT__HESSIAN_NO,
    FPLT__HESSIAN_YES
} fplt__hessian_word;

/* Agreement to a document, or a refusal with its reason. `records` and `hessian` count with the
 * proposal. */
typedef struct fplt__consent {
    fplt__digest document;
    int agreed;
    uint64_t records;
    fplt__hessian_word hessian;
    int has_identity; /* to a proposal of secure aggregation */
    uint8_t identity[32];
    char sentence[FPLT__SENTENCE];
} fplt__consent;

fplt_status fplt__consent_text(const fplt__consent *consent, char **text, fplt_error *error);
fplt_status fplt__consent_read(const void *text, size_t size, fplt__consent *consent,
                               fplt_error *error);

/* {"error":word,"final":bool,"sentence":text} */
typedef struct fplt__fault {
    char word[FPLT__WORD];
    int final; /* repeating it is of no use */
    char sentence[FPLT__SENTENCE];
} fplt__fault;

fplt_status fplt__fault_text(const fplt__fault *fault, char **text, fplt_error *error);
/* The same of three words, released with fplt__free; NULL: there is no memory. Bytes that are not UTF-8 become `?`. */
char *fplt__fault_body(const char *word, int final, const char *sentence);
fplt_status fplt__fault_read(const void *text, size_t size, fplt__fault *fault, fplt_error *error);

#endif
