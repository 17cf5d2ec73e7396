/* The library's own allocation: zeroed, aligned to a cache line, overflow-checked. */
#ifndef FPLT_BASE_MEMORY_H
#define FPLT_BASE_MEMORY_H

#include <stddef.h>

#include "fedplt/memory.h"

#define FPLT_ALIGNMENT 64

/* count * size bytes, zeroed and aligned to FPLT_ALIGNMENT; NULL when there is no memory or the
 * product overflows. A zero product gives a valid pointer. */
void *fplt__alloc(size_t count, size_t size);

/* As fplt__alloc, and returns the status with a sentence in `error` that says what was wanted. */
fplt_status fplt__alloc_into(void *pointer_to_pointer, size_t count, size_t size, const char *what,
                             fplt_error *error);

/* Another size for an array, which may move; what it holds is kept as far as it fits, and zeros follow. Large
 * arrays are not copied. On failure it stays as it is. */
fplt_status fplt__resize(void *pointer_to_pointer, size_t count, size_t size, const char *what,
                         fplt_error *error);

/* Grows an array to hold at least `needed` elements, at least doubling; old contents are kept. */
fplt_status fplt__grow(void *pointer_to_pointer, size_t *capacity, size_t needed, size_t size,
                       const char *what, fplt_error *error);

void fplt__free(void *memory);
/* What these bytes hold is not needed any more: whole pages go back to the system, and read as zeros. Nothing
 * happens where memory is the caller's own affair (fplt_allocator_set). */
void fplt__forget(void *memory, size_t count);
/* These bytes will soon be written: their pages are made now, where the system does so for the asking. What they hold
 * stays, and others may write them meanwhile. */
void fplt__expect(void *memory, size_t count);
char *fplt__strdup(const char *text);
char *fplt__strndup(const char *text, size_t length);

#endif
