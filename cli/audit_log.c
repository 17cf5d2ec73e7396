/* The audit logs of agents and coordinators: shown, filtered, verified. */
#include "federating.h"
#include "base/text.h"
#include "federation/plan/program.h"

#include <string.h>

static const fplt_setting log_table[] = {
    {"folder", FPLT_TEXT, 0, ".", 0, 0, NULL, "folder of the agent or coordinator", 0, 0},
    {"verify", FPLT_SWITCH, 0, "no", 0, 0, NULL,
     "only check that no entry was removed, changed or moved, and how far it is signed", 0, 0},
    {"key", FPLT_TEXT, 0, NULL, 0, 0, NULL,
     "the coordinator's key, as its own log has it (64 hexadecimal digits): what another key "
     "signed is "
     "not signed",
     0, 0, .needs = "verify"},
    {"event", FPLT_TEXT, FPLT_LIST, NULL, 0, 0, NULL,
     "only entries of these kinds, such as agreed, refused, answer, charge, ended", 0, 0,
     .needs = "verify=no"},
    {"since", FPLT_TEXT, 0, NULL, 0, 0, NULL, "only entries from this day on, YYYY-MM-DD", 0, 0,
     .needs = "verify=no"},
    {"until", FPLT_TEXT, 0, NULL, 0, 0, NULL, "only entries up to this day, YYYY-MM-DD", 0, 0,
     .needs = "verify=no"},
    {"json", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print one JSON document", 0, 0},
    {"csv", FPLT_SWITCH, 0, "no", 0, 0, NULL, "print a table with comma-separated fields", 0, 0,
     .needs = "json=no;verify=no"},
    FPLT_SETTINGS_END,
};

fplt_status cli_log_declare(const cli_call *cli, fplt_settings *settings, fplt_error *error)
{
    (void)cli;
    return fplt_settings_add(settings, "output", log_table, error);
}

struct showing {
    const fplt_settings *settings;
    json_t *entries; /* owned: those that are wanted, with --json */
};

static const char *text_of(json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    return text ? text : "";
}

static int is_wanted(const fplt_settings *settings, json_t *entry)
{
    const char *events = fplt_settings_text(settings, "event"),
               *since = fplt_settings_text(settings, "since"),
               *until = fplt_settings_text(settings, "until"), *day = text_of(entry, "time");
    char item[64];
    int found = !events;
    while (!found && *events) {
        events = fplt__list_next(events, item, sizeof item);
        found = strcmp(item, text_of(entry, "event")) == 0;
    }
    return found && (!since || strncmp(day, since, 10) >= 0) &&
           (!until || strncmp(day, until, 10) <= 0);
}

static int is_frame(const char *name)
{
    static const char *const names[] = {"number", "time", "event", "previous", "digest"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

/* A field of a table: quotes are doubled. */
static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++)
        printf("%s%c", *text == '"' ? "\"" : "", *text);
    putchar('"');
}

static void print_details(json_t *entry, const char *between, int quoted)
{
    cli_text details = {0};
    const char *name, *separator = "";
    char *text = NULL;
    json_t *value;
    json_object_foreach(entry, name, value) if (!is_frame(name))
    {
        cli_text_format(&details, "%s%s %s", separator, name, json_string_value(value));
        separator = between;
    }
    if (details.length && !cli_text_take(&details, &text, NULL)) {
        if (quoted)
            print_quoted(text);
        else
            printf("%s", text);
    }
    free(text);
}

static void show_entry(void *context, const char *line)
{
    struct showing *showing = context;
    json_t *entry = json_loads(line, 0, NULL);
    int csv = fplt_settings_switch(showing->settings, "csv");
    if (!entry || fplt_settings_switch(showing->settings, "verify") ||
        !is_wanted(showing->settings, entry)) {
        json_decref(entry);
        return;
    }
    if (showing->entries) {
        json_array_append_new(showing->entries, entry);
        return;
    }
    printf(csv ? "%lld,%s,%s," : "%6lld  %s  %-9s ",
           (long long)json_integer_value(json_object_get(entry, "number")), text_of(entry, "time"),
           text_of(entry, "event"));
    print_details(entry, csv ? "; " : ", ", csv);
    printf("\n");
    json_decref(entry);
}

static fplt_status check_key(const char *key, fplt_error *error)
{
    return strlen(key) == 64 && strspn(key, "0123456789abcdef") == 64
               ? FPLT_OK
               : fplt_error_set(error, FPLT_BAD_VALUE,
                                "key: '%.80s' must have 64 hexadecimal digits; `fedplt federation "
                                "log --event signed-for` shows it at the coordinator",
                                key);
}

/* Whether another key than the given one signed anything, or nothing is signed. */
static int is_by_another(const fplt__federation_audit_verdict *verdict, const char *key)
{
    return key && (verdict->other_keys || strcmp(verdict->key, key) != 0);
}

static void print_key(const fplt__federation_audit_verdict *verdict, const char *key)
{
    if (is_by_another(verdict, key))
        printf("the given key is not the one that signed: %s%s\n",
               *verdict->key ? verdict->key : "none did",
               verdict->other_keys ? ", and others before it" : "");
    else if (verdict->other_keys)
        printf("the signatures are by more than one key; the last is %s\n", verdict->key);
    else if (*verdict->key && !key)
        printf("the key is %s: compare it with the coordinator's (--key)\n", verdict->key);
}

static void print_verdict(const fplt__federation_audit_verdict *verdict, const char *key)
{
    unsigned long long entries = verdict->entries, signed_up_to = verdict->signed_up_to;
    if (verdict->bad)
        printf("entry %llu is wrong: %s\n", (unsigned long long)verdict->bad, verdict->sentence);
    else
        printf("%llu entries, none removed, changed or moved\n", entries);
    if (verdict->expired)
        printf("the first %llu left when they were older than `audit-days`\n",
               (unsigned long long)verdict->expired);
    if (signed_up_to)
        printf("signed by the coordinator up to entry %llu; %llu after it are not yet\n",
               signed_up_to, entries - signed_up_to);
    else
        printf("no entry is signed\n");
    print_key(verdict, key);
}

static json_t *verdict_json(const fplt__federation_audit_verdict *verdict, json_t *entries)
{
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o}", "count",
                     (json_int_t)verdict->entries, "expired", (json_int_t)verdict->expired,
                     "signed_up_to", (json_int_t)verdict->signed_up_to, "wrong",
                     verdict->bad ? json_integer((json_int_t)verdict->bad) : json_null(), "reason",
                     verdict->bad ? json_string(verdict->sentence) : json_null(), "key",
                     *verdict->key ? json_string(verdict->key) : json_null(), "other_keys",
                     (json_int_t)verdict->other_keys, "entries", entries);
}

fplt_status cli_log_show(cli_call *cli, fplt_error *error)
{
    const fplt_settings *settings = cli->settings;
    int json = fplt_settings_switch(settings, "json");
    const char *key = fplt_settings_text(settings, "key");
    if (key && check_key(key, error))
        return error->status;
    struct showing showing = {settings, json ? json_array() : NULL};
    fplt__federation_audit_verdict verdict;
    if (fplt_settings_switch(settings, "csv"))
        printf("number,time,event,details\n");
    fplt_status status = fplt__federation_audit(fplt_settings_text(settings, "folder"), show_entry,
                                                &showing, &verdict, error);
    if (status) {
        json_decref(showing.entries);
        return status;
    }
    cli->exit_status = verdict.bad > 0 || is_by_another(&verdict, key);
    if (json)
        return cli_print_json(verdict_json(&verdict, showing.entries), error);
    if (fplt_settings_switch(settings, "verify"))
        print_verdict(&verdict, key);
    return FPLT_OK;
}
