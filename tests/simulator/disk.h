/* What the simulated processes have written, for comparison with what src/store (sql.h) gives back. A write changes what
 * its record says has changed and nothing else: a field that the machine never flags is not read back. */
#ifndef FPLT_TESTS_DISK_H
#define FPLT_TESTS_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/leader.h"
#include "protocol/site.h"

#ifndef TINY_MEMBERS
#define TINY_MEMBERS 3 /* as in tiny.h */
#endif

enum {
    DISK_MEMBERS = TINY_MEMBERS,
    DISK_DIMENSION = 2,
    DISK_CLOSINGS = 2 * DISK_MEMBERS,
    DISK_TRACES = 400
};

typedef struct blob {
    void *at; /* owned */
    size_t size;
} blob;

blob blob_copy(const void *at, size_t size);
void blob_set(blob *to, const void *at, size_t size);

/* federation.db */
typedef struct lead_disk {
    int there;
    fplt__leader_record record; /* without what it points to */
    blob document, hub, keys;
    fplt__member_row row[DISK_MEMBERS];
    uint8_t cohort[1];
    size_t closings;
    uint64_t closing_round[DISK_CLOSINGS];
    double closing[DISK_CLOSINGS][DISK_DIMENSION];
    fplt__closing view[DISK_CLOSINGS]; /* what a record that is read points to */
    size_t traces;
    struct {
        uint64_t round;
        uint32_t incarnation;
        uint8_t accepted;
    } trace[DISK_TRACES];
} lead_disk;

/* state.db */
typedef struct site_disk {
    int there;
    fplt__site_record record; /* without what it points to */
    blob document, head, kept, staged, held, message[2], enrolment, begin;
} site_disk;

/* 0 where there are more closing vectors than members can need. */
int lead_disk_write(lead_disk *disk, const fplt__leader_record *record);
/* Pointers are the disk's. */
fplt__leader_record lead_disk_read(lead_disk *disk);
void lead_disk_copy(lead_disk *to, const lead_disk *from);
void lead_disk_clear(lead_disk *disk);

void site_disk_write(site_disk *disk, const fplt__site_record *record);
fplt__site_record site_disk_read(const site_disk *disk);
void site_disk_copy(site_disk *to, const site_disk *from);
void site_disk_clear(site_disk *disk);

/* Every field that is durable, in an order of its own: equal bytes, equal states. `size` as for snprintf. */
blob lead_record_bytes(const fplt__leader_record *record, size_t closing_numbers);
blob site_record_bytes(const fplt__site_record *record);

#endif
