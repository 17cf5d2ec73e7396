#include "federation/agent/peers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "federation/agent/policy.h"
#include "federation/plan/secure_plan.h"
#include "base/file.h"
#include "pki/certificate.h"
#include "secagg/keys.h"

#define WORD   "ed25519:"
#define OTHERS "# not on the last roster\n"
enum { KEY = FPLT_KEY_PUBLIC, KEY_TEXT = sizeof WORD + 2 * KEY, MAX_FILE = 1 << 20, SHORT = 12 };

const fplt_setting fplt__peers_table[] = {
    {"peers", FPLT_TEXT, FPLT_PAIRS, NULL, 0, 0, NULL,
     "identities of the other sites, as `fedplt agent identity` prints them there; exchanged by "
     "another way than the coordinator",
     0, 0},
    FPLT_SETTINGS_END,
};

const fplt_setting fplt__peers_policy_table[] = {
    {"policy.aggregate", FPLT_CHOICE, 0, "any", 0, 0, "any|secure",
     "secure: refuses runs whose coordinator would see single updates", 0, 0},
    {"policy.colluders", FPLT_INTEGER, 0, "1", 0, 1000, NULL,
     "least number of members that may help the coordinator without learning this site's update "
     "(secure aggregation)",
     0, 0},
    {"policy.peers", FPLT_CHOICE, 0, "first-use", 0, 0, "first-use|verified",
     "verified: refuses secure aggregation with sites that `peers` does not pin; first-use: "
     "remembers who was met first",
     0, 0},
    FPLT_SETTINGS_END,
};

/* Keys as text */

static void key_text(const uint8_t *key, char text[KEY_TEXT])
{
    memcpy(text, WORD, sizeof WORD - 1);
    fplt__hex(key, KEY, text + sizeof WORD - 1);
}

static int key_read(const char *text, uint8_t key[KEY])
{
    return strncmp(text, WORD, sizeof WORD - 1) == 0 &&
           fplt__unhex(text + sizeof WORD - 1, key, KEY);
}

fplt_status fplt__peers_identity(const char *folder, fplt_key *key, fplt_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/identity.key", folder);
    if (access(path, F_OK) == 0)
        return fplt_key_read(path, key, error);
    snprintf(path, sizeof path, "%.4000s/identity", folder);
    return fplt_key_create(path, key, error);
}

fplt_status fplt__peers_check(const fplt_settings *settings, fplt_error *error)
{
    const char *text = fplt_settings_text(settings, "peers");
    char name[128], value[256];
    uint8_t key[KEY];
    while (text && *text) {
        text = fplt__pairs_next(text, name, sizeof name, value, sizeof value);
        if (!fplt__name_is_legal(name) || !key_read(value, key))
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: peers: %.60s is '%.80s', but it must be the line that "
                                  "`fedplt agent identity` prints there: NAME: ed25519: and 64 "
                                  "digits",
                                  fplt__settings_origin(settings, "peers"), name, value);
    }
    return FPLT_OK;
}

fplt_status fplt__peers_judge(const fplt_settings *settings, const fplt__proposal *proposal,
                              fplt_error *error)
{
    char text[64];
    int wants = strcmp(fplt_settings_text(settings, "policy.aggregate"), "secure") == 0;
    if (!proposal->secure)
        return wants ? fplt__policy_against(settings, "policy.aggregate", error,
                                            "the proposal lets the coordinator see this site's "
                                            "own updates",
                                            "")
                     : FPLT_OK;
    fplt_status status = fplt__secure_plan_check(proposal, error);
    if (status)
        return status;
    if (proposal->colluders < fplt_settings_integer(settings, "policy.colluders")) {
        snprintf(text, sizeof text, "%u", proposal->colluders);
        return fplt__policy_against(settings, "policy.colluders", error, "the proposal allows for",
                                    text);
    }
    uint32_t least = fplt__secure_threshold(proposal);
    if (least && least < fplt_settings_integer(settings, "policy.participants")) {
        snprintf(text, sizeof text, "%u", least);
        return fplt__policy_against(settings, "policy.participants", error,
                                    "with the proposal's quorum a sum may be over only", text);
    }
    if (strcmp(fplt_settings_text(settings, "policy.peers"), "verified") == 0 &&
        !fplt_settings_given(settings, "peers"))
        return fplt_error_set(error, FPLT_FAILED,
                              "the proposal wants secure aggregation, but site.yaml has no peers: "
                              "exchange the lines of fedplt agent identity, not through the "
                              "coordinator");
    return FPLT_OK;
}

/* Plans */

/* The key of a name in `NAME: ed25519:...` lines, or in pairs; 0: it is not there. */
static int find_pin(const fplt_settings *settings, const char *wanted, uint8_t key[KEY])
{
    const char *text = fplt_settings_text(settings, "peers");
    char name[128], value[256];
    while (text && *text) {
        text = fplt__pairs_next(text, name, sizeof name, value, sizeof value);
        if (strcmp(name, wanted) == 0)
            return key_read(value, key);
    }
    return 0;
}

/* Whether a line of known-peers is a remark or `NAME: ed25519:...`. */
static int is_known_line(const char *line, size_t length)
{
    char name[FPLT_NAME_SIZE], value[KEY_TEXT];
    uint8_t key[KEY];
    size_t named = strcspn(line, ":\n");
    if (*line == '#')
        return 1;
    if (named >= sizeof name || length != named + 2 + KEY_TEXT - 1 ||
        strncmp(line + named, ": ", 2) != 0)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)named, line);
    snprintf(value, sizeof value, "%.*s", KEY_TEXT - 1, line + named + 2);
    return fplt__name_is_legal(name) && key_read(value, key);
}

/* known-peers of a folder, to be released; NULL: there is none. A line that cannot be read is no site that is unknown: its
 * identity would be believed anew. */
static fplt_status load_known(const char *folder, char path[4200], char **known, fplt_error *error)
{
    size_t size = 0, number = 1;
    *known = NULL;
    snprintf(path, 4200, "%.4000s/known-peers", folder);
    if (access(path, F_OK) != 0)
        return FPLT_OK;
    fplt_status status = fplt__file_read(path, MAX_FILE, known, &size, error);
    for (const char *line = *known; !status && *line; number++) {
        size_t length = strcspn(line, "\n");
        if (!is_known_line(line, length))
            status = fplt_error_set(error, FPLT_BAD_DATA,
                                    "%s:%zu: not `NAME: ed25519:` and 64 digits; put the line back "
                                    "as it was, or take it out after the site has told you its "
                                    "identity another way than through the coordinator",
                                    path, number);
        line += length + (line[length] == '\n');
    }
    if (status) {
        fplt__free(*known);
        *known = NULL;
    }
    return status;
}

static int find_known(const char *known, const char *wanted, uint8_t key[KEY])
{
    size_t length = strlen(wanted);
    for (const char *line = known; line && *line;) {
        const char *end = strchr(line, '\n');
        char value[KEY_TEXT] = "";
        if (strncmp(line, wanted, length) == 0 && strncmp(line + length, ": ", 2) == 0) {
            snprintf(value, sizeof value, "%.*s", (int)(KEY_TEXT - 1), line + length + 2);
            return key_read(value, key);
        }
        line = end ? end + 1 : NULL;
    }
    return 0;
}

static fplt_status differs(const char *name, const uint8_t *pin, const uint8_t *stated, int pinned,
                           fplt_error *error)
{
    char mine[KEY_TEXT], theirs[KEY_TEXT];
    key_text(pin, mine);
    key_text(stated, theirs);
    return fplt_error_set(error, FPLT_FAILED,
                          "%s is %s as %.*s.., but the plan says %.*s..: somebody stands in "
                          "between, or %s made a new key; ask %s%s",
                          name, pinned ? "pinned" : "known", SHORT, mine, SHORT, theirs, name, name,
                          pinned ? "" : ", and take its line out of known-peers");
}

/* All of the roster in its order, and behind them sites that were met in other runs. */
static fplt_status save_known(const char *path, const char *known, const fplt__agreement *agreement,
                              fplt_error *error)
{
    fplt__buffer text = {NULL, 0, 0, FPLT_OK};
    char key[KEY_TEXT];
    const fplt__proposal *proposal = &agreement->proposal;
    for (uint32_t i = 0; i < proposal->members; i++) {
        key_text(agreement->identities + (size_t)i * KEY, key);
        fplt__buffer_format(&text, "%s: %s\n", proposal->roster[i], key);
    }
    fplt__buffer_add(&text, OTHERS);
    for (const char *line = known; line && *line;) {
        const char *end = strchr(line, '\n');
        int on_roster = *line == '#';
        for (uint32_t i = 0; i < proposal->members; i++) {
            size_t length = strlen(proposal->roster[i]);
            on_roster |= strncmp(line, proposal->roster[i], length) == 0 && line[length] == ':';
        }
        if (!on_roster && end)
            fplt__buffer_format(&text, "%.*s\n", (int)(end - line), line);
        line = end ? end + 1 : NULL;
    }
    fplt_status status = text.status
                             ? fplt_error_set(error, text.status, "no memory for known-peers")
                             : fplt__file_save(path, 0644, text.text, text.length, error);
    fplt__buffer_clear(&text);
    return status;
}

/* Two members with one identity are one party, and the plan counts them as two. */
static fplt_status check_distinct(const fplt__agreement *agreement, fplt_error *error)
{
    const uint8_t *identity = agreement->identities;
    const fplt__proposal *proposal = &agreement->proposal;
    for (uint32_t i = 0; i < proposal->members; i++)
        for (uint32_t j = 0; j < i; j++)
            if (memcmp(identity + (size_t)i * KEY, identity + (size_t)j * KEY, KEY) == 0)
                return fplt_error_set(error, FPLT_FAILED,
                                      "%s and %s have the same identity: one agent's folder is a "
                                      "copy of the other's; remove identity.key and identity.pub "
                                      "at one of them, and it makes its own for the next run",
                                      proposal->roster[j], proposal->roster[i]);
    return FPLT_OK;
}

static fplt_status judge_identities(const fplt_settings *settings, const char *known,
                                    const fplt__agreement *agreement, uint32_t member_index,
                                    const uint8_t own[KEY], fplt_error *error)
{
    const fplt__proposal *proposal = &agreement->proposal;
    int pinned = fplt_settings_given(settings, "peers");
    uint8_t key[KEY];
    for (uint32_t i = 0; i < proposal->members; i++) {
        const uint8_t *stated = agreement->identities + (size_t)i * KEY;
        const char *name = proposal->roster[i];
        if (i == member_index) {
            if (memcmp(stated, own, KEY) != 0)
                return fplt_error_set(error, FPLT_FAILED,
                                      "the plan says another identity for %s than identity.key of "
                                      "this agent: the key was made anew since the agent agreed "
                                      "(put the old one back, or wait for the next run), or "
                                      "somebody stands in between",
                                      name);
            continue;
        }
        int there = pinned ? find_pin(settings, name, key) : find_known(known, name, key);
        if (pinned && !there)
            return fplt_error_set(error, FPLT_FAILED,
                                  "peers does not name %s, which is on the roster: ask it for the "
                                  "line of fedplt agent identity, not through the coordinator",
                                  name);
        if (there && memcmp(key, stated, KEY) != 0)
            return differs(name, key, stated, pinned, error);
    }
    return FPLT_OK;
}

fplt_status fplt__peers_meet(const fplt_settings *settings, const char *folder,
                             const fplt__agreement *agreement, uint32_t member_index,
                             const uint8_t own[32], int *verified, fplt_error *error)
{
    char path[4200], *known;
    fplt_status status = load_known(folder, path, &known, error);
    *verified = fplt_settings_given(settings, "peers");
    if (!status)
        status = check_distinct(agreement, error);
    if (!status)
        status = judge_identities(settings, known, agreement, member_index, own, error);
    if (!status)
        status = save_known(path, known, agreement, error);
    fplt__free(known);
    return status;
}

/* The pin of a name that is not met with the same key. */
static fplt_status compare_pin(const char *path, const char *name, const uint8_t *pin,
                               const uint8_t *known, fplt_error *error)
{
    char mine[KEY_TEXT], theirs[KEY_TEXT];
    key_text(pin, mine);
    key_text(known, theirs);
    return fplt_error_set(error, FPLT_FAILED,
                          "peers: %s is pinned as %.*s.., but %s has %.*s..: the pin is wrong, "
                          "%s made a new key, or an earlier plan had somebody in between; ask %s",
                          name, SHORT, mine, path, SHORT, theirs, name, name);
}

fplt_status fplt__peers_compare(const fplt_settings *settings, const char *folder, const char *self,
                                const uint8_t own[32], fplt__buffer *out, fplt_error *error)
{
    char path[4200], name[128], value[256], *known;
    const char *text = fplt_settings_text(settings, "peers");
    uint8_t pin[KEY], met[KEY];
    unsigned pins = 0, same = 0;
    fplt_status status = load_known(folder, path, &known, error);
    while (!status && text && *text) {
        text = fplt__pairs_next(text, name, sizeof name, value, sizeof value);
        int is_own = strcmp(name, self) == 0, is_met = is_own || find_known(known, name, met);
        if (is_own)
            memcpy(met, own, KEY);
        pins++;
        if (!key_read(value, pin) || !is_met)
            continue;
        if (memcmp(pin, met, KEY) != 0)
            status = compare_pin(is_own ? "identity.key" : path, name, pin, met, error);
        same++;
    }
    if (!status && pins)
        fplt__buffer_format(out, "peers: %u pinned, of whom %u are as met before and none differs",
                            pins, same);
    else if (!status)
        fplt__buffer_add(out, known ? "peers: none is pinned; those of known-peers count as they "
                                      "were met first, which does not protect against a malicious "
                                      "operator (fedplt agent peers)"
                                    : "peers: none is pinned, and none was met");
    fplt__free(known);
    return status;
}

/* What the command line prints */

fplt_status fplt_federation_identity(const char *folder, char line[FPLT_IDENTITY_SIZE],
                                     fplt_error *error)
{
    fplt_key key;
    char path[4200], text[KEY_TEXT], *certificate = NULL;
    fplt__identity self = {.name = "NAME"};
    size_t size;
    fplt_status status = fplt__peers_identity(folder, &key, error);
    if (status)
        return status;
    snprintf(path, sizeof path, "%.4000s/agent.pem", folder);
    if (access(path, F_OK) == 0 &&
        !(status = fplt__file_read(path, MAX_FILE, &certificate, &size, error)))
        status = fplt__certificate_read(certificate, path, &self, error);
    key_text(key.visible, text);
    snprintf(line, FPLT_IDENTITY_SIZE, "%s: %s", self.name, text);
    fplt_key_clear(&key);
    fplt__free(certificate);
    return status;
}

fplt_status fplt_federation_peers(const char *folder, fplt_federation_peer_visitor visitor,
                                  void *context, char fingerprint[FPLT_ROSTER_SIZE],
                                  fplt_error *error)
{
    char path[4200], *known;
    uint8_t *identity = NULL;
    size_t count = 0, room = 0;
    *fingerprint = 0;
    fplt_status status = load_known(folder, path, &known, error);
    if (status)
        return status;
    if (!known)
        return fplt_error_set(error, FPLT_FAILED,
                              "%s is not there: it is written with the first plan of secure "
                              "aggregation that this agent agrees to",
                              path);
    for (char *line = known, *end; *line != '#' && (end = strchr(line, '\n')); line = end + 1) {
        char *key = strstr(line, ": ");
        *end = 0;
        if ((status = fplt__grow(&identity, &room, (count + 1) * KEY, 1, "peers", error)))
            break;
        FPLT__ASSERT(key); /* the lines were read */
        key_read(key + 2, identity + count * KEY);
        *key = 0;
        visitor(context, line, key + 2);
        count++;
    }
    if (!status)
        fplt__secagg_roster(identity, (uint32_t)count, fingerprint);
    fplt__free(identity);
    fplt__free(known);
    return status;
}
