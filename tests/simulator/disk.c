#include "disk.h"

#include <stdlib.h>
#include <string.h>

blob blob_copy(const void *at, size_t size)
{
    blob made = {malloc(size + 1), size};
    if (!made.at)
        exit(2);
    if (size && at)
        memcpy(made.at, at, size);
    return made;
}

void blob_set(blob *to, const void *at, size_t size)
{
    blob made = blob_copy(at, size);
    free(to->at);
    *to = made;
}

/* --- the coordinator's --- */

int lead_disk_write(lead_disk *d, const fplt__leader_record *r)
{
    fplt__leader_record *own = &d->record;
    d->there = 1;
    if (r->document_changed) {
        blob_set(&d->document, r->document, r->document_size);
        own->hash = r->hash;
    }
    if (r->hub && r->hub_changed)
        blob_set(&d->hub, r->hub, r->hub_size);
    if (r->keys_changed)
        blob_set(&d->keys, r->keys, r->keys_size);
    own->state = r->state;
    own->incarnation = r->incarnation;
    own->round = r->round;
    own->has_start = r->has_start;
    own->start = r->start;
    memcpy(own->outcome, r->outcome, sizeof own->outcome);
    memcpy(own->sentence, r->sentence, sizeof own->sentence);
    for (unsigned i = 0; i < DISK_MEMBERS; i++)
        if (!r->changed || r->changed[i / 8] >> (i % 8) & 1)
            d->row[i] = r->member[i];
    d->cohort[0] = r->cohort ? r->cohort[0] : 0;
    d->closings = r->closings < DISK_CLOSINGS ? r->closings : DISK_CLOSINGS;
    for (size_t k = 0; k < d->closings; k++) {
        d->closing_round[k] = r->closing[k].round;
        memcpy(d->closing[k], r->closing[k].vector, sizeof d->closing[k]);
    }
    if (r->trace && d->traces < DISK_TRACES) {
        d->trace[d->traces].round = r->trace->round;
        d->trace[d->traces].incarnation = r->trace->incarnation;
        d->trace[d->traces++].accepted = r->trace->accepted[0];
    }
    return r->closings <= DISK_CLOSINGS;
}

fplt__leader_record lead_disk_read(lead_disk *d)
{
    fplt__leader_record record = d->record;
    record.members = DISK_MEMBERS;
    record.document = d->document.at;
    record.document_size = d->document.size;
    record.hub = d->hub.at;
    record.hub_size = d->hub.size;
    record.keys = d->keys.at;
    record.keys_size = d->keys.size;
    record.member = d->row;
    record.cohort = d->cohort;
    for (size_t k = 0; k < d->closings; k++)
        d->view[k] = (fplt__closing){d->closing_round[k], d->closing[k]};
    record.closing = d->view;
    record.closings = d->closings;
    return record;
}

void lead_disk_copy(lead_disk *to, const lead_disk *from)
{
    lead_disk_clear(to);
    *to = *from;
    to->document = blob_copy(from->document.at, from->document.size);
    to->hub = from->hub.at ? blob_copy(from->hub.at, from->hub.size) : (blob){NULL, 0};
    to->keys = from->keys.at ? blob_copy(from->keys.at, from->keys.size) : (blob){NULL, 0};
}

void lead_disk_clear(lead_disk *d)
{
    free(d->document.at);
    free(d->hub.at);
    free(d->keys.at);
    memset(d, 0, sizeof *d);
}

/* --- an agent's --- */

static void write_sent(fplt__site_record *own, const fplt__site_record *r)
{
    own->sent_run = r->sent_run;
    own->sent_members = r->sent_members;
    own->sent_authority = r->sent_authority;
    own->sent_plan = r->sent_plan;
}

/* A document that is not the stored one begins a new run: of the last one only the plan under which updates were sent
 * is left. */
static void begin_run(site_disk *d, const fplt__site_record *r)
{
    if (d->there && fplt__same(&d->record.hash, &r->hash))
        return;
    fplt__site_record before = d->record;
    site_disk_clear(d);
    write_sent(&d->record, &before);
    d->there = 1;
    d->record.hash = r->hash;
    blob_set(&d->document, r->document, r->document_size);
}

static void write_run(fplt__site_record *own, const fplt__site_record *r)
{
    own->planned = r->planned;
    own->consented = r->consented;
    own->records = r->records;
    own->member_index = r->member_index;
    own->incarnation = r->incarnation;
    own->version = r->version;
    own->chain = r->chain;
    own->has_proof = r->has_proof;
    if (r->has_proof)
        own->proof = r->proof;
    own->charges = r->charges;
    own->over = r->over;
}

static void write_messages(site_disk *d, const fplt__site_record *r)
{
    fplt__site_record *own = &d->record;
    own->has_staged = r->has_staged;
    own->staged_leg = r->staged_leg;
    own->staged_round = r->staged_round;
    own->staged_digest = r->staged_digest;
    blob_set(&d->head, r->head, r->has_staged ? r->head_size : 0);
    own->messages = r->messages;
    for (unsigned e = 0; e < r->messages; e++) {
        own->message[e].answer = r->message[e].answer;
        blob_set(&d->message[e], r->message[e].body, r->message[e].size);
    }
}

static void write_enrolled(site_disk *d, const fplt__site_record *r)
{
    fplt__site_record *own = &d->record;
    own->has_enrolled = r->has_enrolled;
    own->enrolled_leg = r->enrolled_leg;
    own->enrolment.answer = r->enrolment.answer;
    blob_set(&d->enrolment, r->enrolment.body, r->has_enrolled ? r->enrolment.size : 0);
    blob_set(&d->begin, r->begin, r->has_enrolled ? 8 * r->begin_count : 0);
}

void site_disk_write(site_disk *d, const fplt__site_record *r)
{
    unsigned changed = r->changed;
    begin_run(d, r);
    if (changed & FPLT__SITE_RUN)
        write_run(&d->record, r);
    if (changed & FPLT__SITE_TURN) {
        blob turned = d->kept;
        d->kept = d->staged;
        d->staged = turned;
    }
    if (changed & FPLT__SITE_KEPT)
        blob_set(&d->kept, r->kept, 8 * r->kept_count);
    if (changed & FPLT__SITE_STAGED)
        blob_set(&d->staged, r->staged, 8 * r->kept_count);
    if (changed & FPLT__SITE_HELD)
        blob_set(&d->held, r->held, 8 * r->held_count);
    if (changed & FPLT__SITE_MESSAGES)
        write_messages(d, r);
    if (changed & FPLT__SITE_ENROLLED)
        write_enrolled(d, r);
    if (changed & FPLT__SITE_SENT)
        write_sent(&d->record, r);
}

fplt__site_record site_disk_read(const site_disk *d)
{
    fplt__site_record record = d->record;
    record.document = d->document.at;
    record.document_size = d->document.size;
    record.head = d->head.at;
    record.head_size = d->head.size;
    record.kept = d->kept.at;
    record.staged = d->staged.at;
    record.held = d->held.at;
    record.kept_count = d->kept.size / 8;
    record.held_count = d->held.size / 8;
    for (unsigned e = 0; e < record.messages; e++) {
        record.message[e].body = d->message[e].at;
        record.message[e].size = d->message[e].size;
    }
    record.enrolment.body = d->enrolment.at;
    record.enrolment.size = d->enrolment.size;
    record.begin = d->begin.at;
    record.begin_count = d->begin.size / 8;
    return record;
}

void site_disk_copy(site_disk *to, const site_disk *from)
{
    blob *blobs[] = {&to->document,   &to->head,       &to->kept,      &to->staged, &to->held,
                     &to->message[0], &to->message[1], &to->enrolment, &to->begin};
    site_disk_clear(to);
    *to = *from;
    for (size_t k = 0; k < sizeof blobs / sizeof *blobs; k++)
        if (blobs[k]->at)
            *blobs[k] = blob_copy(blobs[k]->at, blobs[k]->size);
}

void site_disk_clear(site_disk *d)
{
    blob *blobs[] = {&d->document,   &d->head,       &d->kept,      &d->staged, &d->held,
                     &d->message[0], &d->message[1], &d->enrolment, &d->begin};
    for (size_t k = 0; k < sizeof blobs / sizeof *blobs; k++)
        free(blobs[k]->at);
    memset(d, 0, sizeof *d);
}

/* --- to be compared --- */

static void put(blob *to, const void *at, size_t size)
{
    enum { STEP = 4096 };
    if (!to->at || to->size / STEP != (to->size + size) / STEP)
        to->at = realloc(to->at, ((to->size + size) / STEP + 1) * STEP);
    if (!to->at)
        exit(2);
    if (size)
        memcpy((uint8_t *)to->at + to->size, at, size);
    to->size += size;
}

static void put_number(blob *to, uint64_t number)
{
    put(to, &number, sizeof number);
}

static void put_blob(blob *to, const void *at, size_t size)
{
    put_number(to, size);
    put(to, at, size);
}

static void put_row(blob *to, const fplt__member_row *row)
{
    const uint64_t numbers[] = {row->records,  row->version,          row->last_round,
                                row->seen,     row->repairs,          row->conflicts,
                                row->standing, row->has_charged != 0, row->charges};
    put(to, numbers, sizeof numbers);
    put(to, &row->chain, sizeof row->chain);
    put(to, &row->before, sizeof row->before);
    put(to, &row->last_digest, sizeof row->last_digest);
    if (row->has_charged)
        put(to, &row->charged, sizeof row->charged); /* no padding: doubles, bytes in eights */
}

blob lead_record_bytes(const fplt__leader_record *r, size_t closing_numbers)
{
    blob made = {NULL, 0};
    put_number(&made, r->state);
    put(&made, &r->hash, sizeof r->hash);
    put_blob(&made, r->document, r->document_size);
    put_number(&made, r->incarnation);
    put_number(&made, r->round);
    put_number(&made, r->cohort ? r->cohort[0] : 0);
    put_blob(&made, r->keys, r->keys_size);
    put_number(&made, r->has_start != 0);
    if (r->has_start) {
        put(&made, &r->start.criterion, sizeof r->start.criterion);
        put(&made, &r->start.objective, sizeof r->start.objective);
        put_number(&made, r->start.records);
    }
    put_blob(&made, r->outcome, strlen(r->outcome));
    put_blob(&made, r->sentence, strlen(r->sentence));
    put_blob(&made, r->hub, r->hub_size);
    for (unsigned i = 0; i < DISK_MEMBERS; i++)
        put_row(&made, &r->member[i]);
    put_number(&made, r->closings);
    for (size_t k = 0; k < r->closings; k++) {
        put_number(&made, r->closing[k].round);
        put(&made, r->closing[k].vector, 8 * closing_numbers);
    }
    return made;
}

static void put_message(blob *to, const fplt__site_message *message)
{
    put(to, &message->answer, sizeof message->answer);
    put_blob(to, message->body, message->size);
}

static void put_proof(blob *to, const fplt__proof *proof)
{
    put_number(to, proof->incarnation);
    put_number(to, proof->round);
    put_number(to, proof->version);
    put(to, &proof->chain, sizeof proof->chain);
    put(to, &proof->mac, sizeof proof->mac);
}

blob site_record_bytes(const fplt__site_record *r)
{
    blob made = {NULL, 0};
    const uint64_t numbers[] = {r->planned != 0, r->consented != 0, r->records, r->member_index,
                                r->incarnation,  r->version,        r->charges, r->over};
    put(&made, &r->hash, sizeof r->hash);
    put_blob(&made, r->document, r->document_size);
    put(&made, numbers, sizeof numbers);
    put(&made, &r->chain, sizeof r->chain);
    put_number(&made, r->has_proof != 0);
    if (r->has_proof)
        put_proof(&made, &r->proof);
    put_blob(&made, r->kept, r->kept ? 8 * r->kept_count : 0);
    put_blob(&made, r->staged, r->staged ? 8 * r->kept_count : 0);
    put_blob(&made, r->held, 8 * r->held_count);
    put_number(&made, r->has_staged != 0);
    if (r->has_staged) {
        put_number(&made, r->staged_leg);
        put_number(&made, r->staged_round);
        put(&made, &r->staged_digest, sizeof r->staged_digest);
        put_blob(&made, r->head, r->head_size);
    }
    put_number(&made, r->messages);
    for (unsigned e = 0; e < r->messages; e++)
        put_message(&made, &r->message[e]);
    put_number(&made, r->has_enrolled != 0);
    if (r->has_enrolled) {
        put_number(&made, r->enrolled_leg);
        put_message(&made, &r->enrolment);
        put_blob(&made, r->begin, 8 * r->begin_count);
    }
    put_number(&made, r->sent_run);
    put_number(&made, r->sent_members);
    put(&made, &r->sent_authority, sizeof r->sent_authority);
    put(&made, &r->sent_plan, sizeof r->sent_plan);
    return made;
}
