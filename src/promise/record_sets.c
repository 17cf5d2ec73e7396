/* Which data belong to which account of a ledger.
 *
 * The ledger remembers of each file its canonical path, a digest of its content under the ledger's own
 * key (with a plain digest, anyone who sees it could try out records) and a sketch of its lines: the smallest
 * hashes of them, by which files that share records are noticed however else they differ. A file is the
 * one that it was by its content, else by its path: one that was changed keeps its account, and each
 * state of it is kept. */
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/machine.h"
#include "base/map.h"
#include "base/memory.h"
#include "data/address.h"
#include "data/source.h"
#include "fedplt/settings.h"
#include "base/text.h"
#include "promise/ledger.h"
#include "promise/ledger_rows.h"

enum {
    DIGEST = 32,
    SKETCH = 4096,     /* hashes that are kept of a file */
    BUFFER = 1 << 20,  /* bytes of it at a time; a longer line is cut */
    NAMES = 300,       /* bytes of a list of names in a sentence */
    SHARED_LINES = 2,  /* at least so many in common, since a header alone says nothing */
    SHARED_SHARE = 10, /* and one in so many of the shorter one */
};

#define GENERATED "generated"

struct sketch {
    uint64_t hash[2 * SKETCH]; /* sorted and different, SKETCH of them at most, once settled */
    size_t count;
    int is_cut; /* there were more */
};

struct record_set {
    char *path; /* canonical; NULL: no file */
    unsigned char digest[DIGEST];
    struct sketch *sketch;
    char stem[FPLT_ACCOUNT], account[FPLT_ACCOUNT];
};

struct fplt__record_sets {
    struct record_set *set;
    size_t count;
};

/* ---- what a file is ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void settle_sketch(struct sketch *sketch)
{
    size_t kept = 0;
    qsort(sketch->hash, sketch->count, sizeof *sketch->hash, compare);
    for (size_t i = 0; i < sketch->count; i++)
        if (!kept || sketch->hash[i] != sketch->hash[kept - 1])
            sketch->hash[kept++] = sketch->hash[i];
    sketch->is_cut |= kept > SKETCH;
    sketch->count = kept < SKETCH ? kept : SKETCH;
    for (size_t i = 1; i < sketch->count; i++)
        FPLT__ASSERT(sketch->hash[i - 1] < sketch->hash[i]);
    FPLT__ASSERT(!sketch->is_cut || sketch->count == SKETCH);
}

static void add_line(struct record_set *set, const char *line, size_t length,
                     const unsigned char *key)
{
    struct sketch *sketch = set->sketch;
    unsigned char hash[crypto_shorthash_BYTES];
    while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
        length--;
    if (!length)
        return;
    FPLT__ASSERT(sketch->count < sizeof sketch->hash / sizeof *sketch->hash);
    crypto_shorthash(hash, (const unsigned char *)line, length, key);
    sketch->hash[sketch->count++] = fplt__get64(hash);
    if (sketch->count == sizeof sketch->hash / sizeof *sketch->hash)
        settle_sketch(sketch);
}

/* Takes the whole lines off the front, or everything where there is no more to come; what is left. */
static size_t add_lines(struct record_set *set, char *text, size_t length, int is_last,
                        const unsigned char *key)
{
    size_t at = 0;
    FPLT__ASSERT(length <= BUFFER);
    for (const char *end; (end = memchr(text + at, '\n', length - at));
         at = (size_t)(end - text) + 1)
        add_line(set, text + at, (size_t)(end - text) - at, key);
    if (is_last || (at == 0 && length == BUFFER)) {
        add_line(set, text + at, length - at, key);
        at = length;
    }
    FPLT__ASSERT(at <= length && length - at < BUFFER); /* there is room to read on */
    memmove(text, text + at, length - at);
    return length - at;
}

static fplt_status scan(const fplt__view *view, struct record_set *set, char *text,
                        const unsigned char *key, fplt_error *error)
{
    crypto_generichash_state state;
    size_t at = 0, held = 0, got;
    crypto_generichash_init(&state, key, crypto_generichash_KEYBYTES, DIGEST);
    do {
        fplt_status status =
            fplt__view_read(view, set->path, at, text + held, BUFFER - held, &got, error);
        if (status)
            return status;
        crypto_generichash_update(&state, (const unsigned char *)text + held, got);
        at += got;
        held = add_lines(set, text, held + got, !got, key);
    } while (got);
    crypto_generichash_final(&state, set->digest, DIGEST);
    settle_sketch(set->sketch);
    return FPLT_OK;
}

/* The name of the file without folder and endings, as an account can be called. */
static void name_after(const char *path, char *stem)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    snprintf(stem, FPLT_ACCOUNT, "%.240s", last); /* room for a number behind it */
    size_t length = strlen(stem);
    if (length > 3 && strcmp(stem + length - 3, ".gz") == 0)
        stem[length - 3] = 0;
    char *dot = strrchr(stem, '.');
    if (dot && dot > stem)
        *dot = 0;
    for (char *c = stem; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == ',')
            *c = '_';
}

/* Rows of a database or workbook: the lines that the readers see. */
static void scan_text(const fplt__source *source, struct record_set *set, const unsigned char *key)
{
    const char *at = source->text, *end = at + source->size;
    crypto_generichash(set->digest, DIGEST, (const unsigned char *)at, source->size, key,
                       crypto_generichash_KEYBYTES);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        add_line(set, at, (size_t)(stop - at), key);
        at = stop + 1;
    }
    settle_sketch(set->sketch);
}

static fplt_status read_table(const char *address, const unsigned char *key, struct record_set *set,
                              fplt_error *error)
{
    fplt__source source = FPLT__NO_SOURCE;
    const fplt_read_settings settings = fplt_read_defaults();
    fplt__span name = fplt__address_name(address);
    char stem[FPLT_ACCOUNT];
    snprintf(stem, sizeof stem, "%.*s", (int)(name.length < 240 ? name.length : 240), name.text);
    name_after(stem, set->stem);
    fplt_status status = fplt__source_load(address, &settings, &source, error);
    if (!status && !(set->path = fplt__strdup(address)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the accounts");
    if (!status &&
        !(status = fplt__alloc_into(&set->sketch, 1, sizeof *set->sketch, "the accounts", error)))
        scan_text(&source, set, key);
    fplt__source_release(&source);
    return status;
}

static fplt_status read_set(const char *file, const unsigned char *key, struct record_set *set,
                            fplt_error *error)
{
    char canonical[PATH_MAX], *text = NULL;
    fplt__view view = FPLT__NO_VIEW;
    if (fplt__address_kind(file))
        return read_table(file, key, set, error);
    if (!realpath(file, canonical))
        return fplt_error_set(error, FPLT_IO, "%s: cannot be opened: %s", file, strerror(errno));
    name_after(canonical, set->stem);
    fplt_status status = fplt__view_open(canonical, SIZE_MAX, &view, error);
    if (!status && view.handle < 0)
        status = fplt_error_set(error, FPLT_BAD_VALUE,
                                "%s: not a regular file, so that no account can be kept of it; "
                                "copy the data into a file",
                                file);
    if (!status && !(set->path = fplt__strdup(canonical)))
        status = fplt_error_set(error, FPLT_NO_MEMORY, "no memory for the accounts");
    if (!status &&
        !(status = fplt__alloc_into(&set->sketch, 1, sizeof *set->sketch, "the accounts", error)) &&
        !(status = fplt__alloc_into(&text, BUFFER, 1, "the accounts", error)))
        status = scan(&view, set, text, key, error);
    fplt__free(text);
    fplt__view_close(&view);
    return status;
}

/* ---- what the ledger knows ---- */

/* Lines that two files have in common, of those that both sketches cover: `of` the shorter one's. */
static size_t common_lines(const struct sketch *a, const uint8_t *b, size_t count, int b_is_cut,
                           size_t *of)
{
    uint64_t limit = UINT64_MAX;
    size_t i = 0, j = 0, common = 0;
    if (a->is_cut)
        limit = a->hash[a->count - 1];
    if (b_is_cut && count && fplt__get64(b + 8 * (count - 1)) < limit)
        limit = fplt__get64(b + 8 * (count - 1));
    while (i < a->count && a->hash[i] <= limit && j < count && fplt__get64(b + 8 * j) <= limit) {
        uint64_t other = fplt__get64(b + 8 * j);
        common += a->hash[i] == other;
        int first = a->hash[i] <= other, second = a->hash[i] >= other;
        i += (size_t)first;
        j += (size_t)second;
    }
    while (i < a->count && a->hash[i] <= limit)
        i++;
    while (j < count && fplt__get64(b + 8 * j) <= limit)
        j++;
    *of = i < j ? i : j;
    FPLT__ASSERT(i <= a->count && j <= count);
    return common;
}

static int is_shared(size_t common, size_t of)
{
    return common >= SHARED_LINES && common * SHARED_SHARE >= of;
}

struct known {
    char by_digest[FPLT_ACCOUNT], by_path[FPLT_ACCOUNT], by_lines[FPLT_ACCOUNT]; /* empty: nobody */
    size_t common, of; /* lines of that last one */
    int path_shares;   /* lines with what was at this path before */
};

/* The newest source comes last. */
static void look_at_source(const struct record_set *set, sqlite3_stmt *query, struct known *known)
{
    const char *account = (const char *)sqlite3_column_text(query, 0);
    const char *path = (const char *)sqlite3_column_text(query, 1);
    size_t kept = (size_t)sqlite3_column_bytes(query, 4) / 8, of, common;
    int is_cut = sqlite3_column_int(query, 3);
    common = common_lines(set->sketch, sqlite3_column_blob(query, 4), kept, is_cut, &of);
    if (sqlite3_column_bytes(query, 2) == DIGEST &&
        memcmp(sqlite3_column_blob(query, 2), set->digest, DIGEST) == 0)
        snprintf(known->by_digest, FPLT_ACCOUNT, "%s", account);
    if (strcmp(path, set->path) == 0) {
        snprintf(known->by_path, FPLT_ACCOUNT, "%s", account);
        known->path_shares = is_shared(common, of);
    }
    if (is_shared(common, of) && common >= known->common) {
        snprintf(known->by_lines, FPLT_ACCOUNT, "%s", account);
        known->common = common;
        known->of = of;
    }
}

static fplt_status look_up(fplt_ledger *ledger, const struct record_set *set, struct known *known,
                           fplt_error *error)
{
    fplt__database *database = fplt__ledger_database(ledger);
    sqlite3_stmt *query;
    int row = 0;
    *known = (struct known){.common = 0};
    fplt_status status =
        fplt__database_prepare(database,
                               "SELECT name, path, digest, cut, sketch FROM source JOIN account"
                               " ON account.id = account ORDER BY source.id",
                               &query, error);
    while (!status && !(status = fplt__database_step(database, query, &row, error)) && row)
        look_at_source(set, query, known);
    sqlite3_finalize(query);
    return status;
}

static fplt_status is_there(fplt_ledger *ledger, const char *account, uint64_t *there,
                            fplt_error *error)
{
    return fplt__rows_count(fplt__ledger_database(ledger),
                            "SELECT count(*) FROM account WHERE name = ?1", account, NULL, there,
                            error);
}

/* Accounts that were charged and whose data the ledger has never seen. */
struct strangers {
    char names[NAMES]; /* those that are called like no file of this run */
    size_t count, unnamed;
    int has_own;
};

static int is_called(const fplt__record_sets *sets, const char *name)
{
    for (size_t i = 0; i < sets->count; i++)
        if (strcmp(sets->set[i].stem, name) == 0)
            return 1;
    return 0;
}

static fplt_status find_strangers(fplt_ledger *ledger, const fplt__record_sets *sets,
                                  struct strangers *found, fplt_error *error)
{
    fplt__database *database = fplt__ledger_database(ledger);
    sqlite3_stmt *query;
    int row = 0;
    *found = (struct strangers){.count = 0};
    fplt_status status =
        fplt__database_prepare(database,
                               "SELECT name FROM account WHERE id NOT IN (SELECT account FROM"
                               " source) AND EXISTS(SELECT 1 FROM charge WHERE account ="
                               " account.id) ORDER BY id",
                               &query, error);
    while (!status && !(status = fplt__database_step(database, query, &row, error)) && row) {
        const char *name = (const char *)sqlite3_column_text(query, 0);
        size_t used = strlen(found->names);
        found->count++;
        found->has_own |= strcmp(name, FPLT__ACCOUNT_OWN) == 0;
        if (is_called(sets, name))
            continue;
        found->unnamed++;
        snprintf(found->names + used, sizeof found->names - used, "%s%s", used ? ", " : "", name);
    }
    sqlite3_finalize(query);
    return status;
}

/* ---- the account ---- */

static fplt_status refuse_name(fplt_ledger *ledger, const fplt__record_source *source,
                               const struct record_set *set, const char *known, fplt_error *error)
{
    return fplt_error_set(error, FPLT_BAD_VALUE,
                          "%s: %s has records of the account %s in %s, and %s would be a second "
                          "account of the same records; leave it out, or say %s",
                          source->setting, set->path, known,
                          fplt__database_path(fplt__ledger_database(ledger)), set->account, known);
}

/* A declared name must be the one that the ledger knows the records by. */
static fplt_status check_declared(fplt_ledger *ledger, const fplt__record_source *source,
                                  const struct record_set *set, const struct known *known,
                                  fplt_error *error)
{
    if (*known->by_digest && strcmp(known->by_digest, set->account) != 0)
        return refuse_name(ledger, source, set, known->by_digest, error);
    if (!*known->by_digest && *known->by_path && known->path_shares &&
        strcmp(known->by_path, set->account) != 0)
        return refuse_name(ledger, source, set, known->by_path, error);
    return FPLT_OK;
}

/* After the file; with a number where another account is called so. */
static fplt_status make_name(fplt_ledger *ledger, const fplt__record_sets *sets,
                             struct record_set *set, fplt_error *error)
{
    uint64_t taken = 1;
    fplt_status status = FPLT_OK;
    for (unsigned number = 1; taken && !status; number++) {
        if (number == 1)
            snprintf(set->account, FPLT_ACCOUNT, "%s", set->stem);
        else
            snprintf(set->account, FPLT_ACCOUNT, "%.240s-%u", set->stem, number);
        status = is_there(ledger, set->account, &taken, error);
        for (const struct record_set *other = sets->set; other < set; other++)
            taken |= strcmp(other->account, set->account) == 0;
    }
    FPLT__ASSERT(status || *set->account);
    return status;
}

static fplt_status find_unknown(fplt_ledger *ledger, const fplt__record_source *source,
                                const fplt__record_sets *sets, struct record_set *set,
                                fplt_error *error)
{
    const char *path = fplt__database_path(fplt__ledger_database(ledger));
    struct strangers strangers;
    uint64_t there = 0;
    fplt_status status = find_strangers(ledger, sets, &strangers, error);
    if (status)
        return status;
    if (source->is_agent && strangers.count == 1 && strangers.has_own) {
        snprintf(set->account, FPLT_ACCOUNT, "%s", FPLT__ACCOUNT_OWN);
        return FPLT_OK;
    }
    if (strangers.unnamed)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: the ledger does not know the data of its accounts %s, so that "
                              "%s may have records of theirs; say which account it is: %s NAME (a "
                              "new name only if none of them has any of these records)",
                              path, strangers.names, set->path, source->setting);
    if (strangers.count && !(status = is_there(ledger, set->stem, &there, error)) && there) {
        snprintf(set->account, FPLT_ACCOUNT, "%s", set->stem);
        return FPLT_OK;
    }
    return status ? status : make_name(ledger, sets, set, error);
}

static fplt_status find_account(fplt_ledger *ledger, const fplt__record_source *source,
                                const fplt__record_sets *sets, struct record_set *set,
                                fplt_error *error)
{
    struct known known;
    FPLT__ASSERT(set >= sets->set && set < sets->set + sets->count && set->path && set->sketch);
    fplt_status status = look_up(ledger, set, &known, error);
    if (status)
        return status;
    if (*set->account)
        return check_declared(ledger, source, set, &known, error);
    const char *name = *known.by_digest ? known.by_digest : known.by_path;
    if (*name) {
        snprintf(set->account, FPLT_ACCOUNT, "%s", name);
        return FPLT_OK;
    }
    if (*known.by_lines)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %zu of %zu lines are also in the data of the account %s of %s; "
                              "say %s %s if they are the same records, or another name if they "
                              "are not",
                              set->path, known.common, known.of, known.by_lines,
                              fplt__database_path(fplt__ledger_database(ledger)), source->setting,
                              known.by_lines);
    return find_unknown(ledger, source, sets, set, error);
}

/* ---- all of them ---- */

static size_t list_length(const char *list)
{
    char item[8];
    size_t count = 0;
    for (; list && *list; count++)
        list = fplt__list_next(list, item, sizeof item);
    return count;
}

/* One name for each file, or one for all. */
static fplt_status take_declared(const fplt__record_source *source, fplt__record_sets *sets,
                                 fplt_error *error)
{
    size_t count = list_length(source->declared);
    const char *list = source->declared;
    char name[FPLT_ACCOUNT] = "";
    if (count && count != 1 && count != sets->count)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "%s: %zu names of accounts for %zu data files; give one for each, or "
                              "one for all",
                              source->setting, count, sets->count);
    for (size_t i = 0; count && i < sets->count; i++) {
        if (i < count)
            list = fplt__list_next(list, name, sizeof name);
        int is_legal = *name != 0 && strlen(name) < sizeof name - 1;
        for (const char *c = name; *c; c++)
            is_legal &= (unsigned char)*c >= ' ' && *c != 127;
        if (!is_legal)
            return fplt_error_set(error, FPLT_BAD_VALUE,
                                  "%s: '%.40s' cannot be the name of an account: 1 to %d bytes "
                                  "without control characters",
                                  source->setting, name, FPLT_ACCOUNT - 2);
        snprintf(sets->set[i].account, FPLT_ACCOUNT, "%s", name);
    }
    return FPLT_OK;
}

static fplt_status check_copies(const fplt__record_sets *sets, fplt_error *error)
{
    for (size_t i = 0; i < sets->count; i++)
        for (size_t j = 0; j < i; j++)
            if (sets->set[i].path && memcmp(sets->set[i].digest, sets->set[j].digest, DIGEST) == 0)
                return fplt_error_set(error, FPLT_BAD_VALUE,
                                      "%s and %s are the same records, which one run would use "
                                      "twice and charge once; leave one out",
                                      sets->set[j].path, sets->set[i].path);
    return FPLT_OK;
}

static fplt_status find_all(fplt_ledger *ledger, const fplt__record_source *source,
                            fplt__record_sets *sets, fplt_error *error)
{
    const char *list = source->files;
    char file[PATH_MAX];
    fplt_status status = take_declared(source, sets, error);
    for (size_t i = 0; !status && list && i < sets->count; i++) {
        list = fplt__list_next(list, file, sizeof file);
        status = read_set(file, fplt__ledger_key(ledger), &sets->set[i], error);
    }
    if (status || (status = check_copies(sets, error)))
        return status;
    for (size_t i = 0; !status && source->files && i < sets->count; i++)
        status = find_account(ledger, source, sets, &sets->set[i], error);
    if (status || source->files || *sets->set[0].account)
        return status;
    if (source->in_memory)
        return fplt_error_set(error, FPLT_BAD_VALUE,
                              "rows in memory have no file by which the ledger would know them; "
                              "name the account of these records: %s",
                              source->setting);
    snprintf(sets->set[0].account, FPLT_ACCOUNT, GENERATED);
    return FPLT_OK;
}

fplt_status fplt__record_sets_find(fplt_ledger *ledger, const fplt__record_source *source,
                                   fplt__record_sets **out, fplt_error *error)
{
    fplt__record_sets *sets;
    *out = NULL;
    fplt_status status = fplt__alloc_into(&sets, 1, sizeof *sets, "the accounts", error);
    if (status)
        return status;
    sets->count = source->files ? list_length(source->files) : 1;
    if ((status =
             fplt__alloc_into(&sets->set, sets->count, sizeof *sets->set, "the accounts", error)) ||
        (status = find_all(ledger, source, sets, error))) {
        fplt__record_sets_destroy(sets);
        return status;
    }
    for (size_t i = 0; i < sets->count; i++)
        FPLT__ASSERT(*sets->set[i].account);
    *out = sets;
    return FPLT_OK;
}

void fplt__record_sets_destroy(fplt__record_sets *sets)
{
    if (!sets)
        return;
    for (size_t i = 0; sets->set && i < sets->count; i++) {
        fplt__free(sets->set[i].path);
        fplt__free(sets->set[i].sketch);
    }
    fplt__free(sets->set);
    fplt__free(sets);
}

size_t fplt__record_sets_count(const fplt__record_sets *sets)
{
    return sets->count;
}

const char *fplt__record_sets_account(const fplt__record_sets *sets, size_t index)
{
    FPLT__ASSERT(index < sets->count);
    return sets->set[index].account;
}

const char *fplt__record_sets_stem(const fplt__record_sets *sets, size_t index)
{
    FPLT__ASSERT(index < sets->count);
    return sets->set[index].stem;
}

static fplt_status attach(fplt_ledger *ledger, const struct record_set *set, fplt_error *error)
{
    fplt__database *database = fplt__ledger_database(ledger);
    size_t kept = set->sketch ? set->sketch->count : 0;
    sqlite3_stmt *query = NULL;
    uint8_t *sketch;
    char time[FPLT_TIME_SPACE];
    FPLT__ASSERT(*set->account && kept <= SKETCH);
    FPLT__ASSERT(!set->path == !set->sketch);
    fplt_status status = fplt__ledger_open_account(ledger, set->account, error);
    if (status || (status = fplt__alloc_into(&sketch, 8 * kept + 1, 1, "the accounts", error)))
        return status;
    for (size_t i = 0; i < kept; i++)
        fplt__put64(sketch + 8 * i, set->sketch->hash[i]);
    fplt__time_text(time);
    status = fplt__rows_prepare(
        database,
        "INSERT INTO source(account, path, digest, cut, sketch, time) SELECT id, ?3, ?4, ?5, ?6,"
        " ?7 FROM account WHERE name = ?1 AND NOT EXISTS(SELECT 1 FROM source s WHERE s.account ="
        " account.id AND s.path = ?3 AND s.digest = ?4)",
        set->account, NULL, &query, error);
    sqlite3_bind_text(query, 3, set->path ? set->path : GENERATED, -1, SQLITE_STATIC);
    sqlite3_bind_blob(query, 4, set->digest, set->path ? DIGEST : 0, SQLITE_STATIC);
    sqlite3_bind_int64(query, 5, set->sketch && set->sketch->is_cut);
    sqlite3_bind_blob(query, 6, sketch, (int)(8 * kept), SQLITE_STATIC);
    sqlite3_bind_text(query, 7, time, -1, SQLITE_STATIC);
    status = fplt__database_finish(database, query, status, error);
    fplt__free(sketch);
    return status;
}

fplt_status fplt__record_sets_attach(fplt_ledger *ledger, const fplt__record_sets *sets,
                                     fplt_error *error)
{
    fplt__database *database = fplt__ledger_database(ledger);
    fplt_status status = fplt__database_begin(database, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < sets->count; i++)
        if (sets->set[i].path || strcmp(sets->set[i].account, GENERATED) == 0)
            status = attach(ledger, &sets->set[i], error);
    return fplt__database_end(database, status, error);
}
