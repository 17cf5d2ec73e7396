/* Where the library's memory comes from. Everything is allocated while something is created;
 * nothing is allocated inside rounds.
 *
 * Threads and blocking: fplt_free is thread-safe; fplt_allocator_set is not. Nothing blocks. */
#ifndef FEDPLT_MEMORY_H
#define FEDPLT_MEMORY_H

#include <stddef.h>

#include "fedplt/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* malloc and free by default. `allocate` may return NULL; `release` accepts NULL. Both are called
 * from several threads at once. */
typedef struct fplt_allocator {
    void *(*allocate)(size_t bytes, void *context);
    void (*release)(void *memory, void *context);
    void *context;
} fplt_allocator;

/* Replaces the allocator of the process (copied); NULL brings the default back. Only while nothing of the library is
 * alive. Memory of other libraries (jansson, SQLite, GnuTLS) is not affected. */
FPLT_API void fplt_allocator_set(const fplt_allocator *allocator);

/* Releases memory that a function of the library handed over to the caller; NULL is legal. */
FPLT_API void fplt_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
