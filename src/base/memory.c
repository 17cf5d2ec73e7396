/* Allocation through the replaceable allocator. The block handed out is aligned inside a larger
 * one; the word before it holds the address to release and its size. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mman.h>

struct header {
    void *block;
    size_t bytes;
};

static void *default_allocate(size_t bytes, void *context)
{
    (void)context;
    return malloc(bytes);
}

static void default_release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static const fplt_allocator standard = {default_allocate, default_release, NULL};
static fplt_allocator current = {default_allocate, default_release, NULL};

void fplt_allocator_set(const fplt_allocator *allocator)
{
    current = allocator ? *allocator : standard;
}

/* Large blocks in large pages, where the system has them for the asking: fewer page faults while they are
 * filled, and fewer look-ups where a million agents are visited in turn. */
static void ask_for_large_pages(char *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { PAGE = 1 << 21, WORTH = 4 * PAGE };
    uintptr_t first = ((uintptr_t)block + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)block + bytes) / PAGE * PAGE;
    if (bytes >= WORTH)
        madvise(block + (first - (uintptr_t)block), last - first, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

void *fplt__alloc(size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - FPLT_ALIGNMENT - sizeof(struct header)) / size)
        return NULL;
    size_t bytes = count * size;
    size_t whole = bytes + FPLT_ALIGNMENT + sizeof(struct header);
    /* zeroed by the system where it can be: large blocks cost nothing until they are used */
    int zeroed = current.allocate == default_allocate;
    char *block = zeroed ? calloc(1, whole) : current.allocate(whole, current.context);
    if (!block)
        return NULL;
    if (zeroed)
        ask_for_large_pages(block, whole);
    uintptr_t first = (uintptr_t)block + sizeof(struct header);
    uintptr_t aligned = (first + FPLT_ALIGNMENT - 1) / FPLT_ALIGNMENT * FPLT_ALIGNMENT;
    char *memory = block + (aligned - (uintptr_t)block);
    struct header header = {block, bytes};
    memcpy(memory - sizeof header, &header, sizeof header);
    if (!zeroed)
        memset(memory, 0, bytes);
    return memory;
}

fplt_status fplt__alloc_into(void *pointer_to_pointer, size_t count, size_t size, const char *what,
                             fplt_error *error)
{
    void *memory = fplt__alloc(count, size);
    memcpy(pointer_to_pointer, &memory, sizeof memory);
    if (!memory)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s (%zu x %zu bytes)", what,
                              count, size);
    return FPLT_OK;
}

fplt_status fplt__grow(void *pointer_to_pointer, size_t *capacity, size_t needed, size_t size,
                       const char *what, fplt_error *error)
{
    if (needed <= *capacity)
        return FPLT_OK;
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < needed)
        wanted = needed;
    if (wanted < 16)
        wanted = 16;
    void *old, *grown;
    memcpy(&old, pointer_to_pointer, sizeof old);
    fplt_status status = fplt__alloc_into(&grown, wanted, size, what, error);
    if (status)
        return status;
    if (old)
        memcpy(grown, old, *capacity * size);
    fplt__free(old);
    memcpy(pointer_to_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return FPLT_OK;
}

void fplt__free(void *memory)
{
    if (!memory)
        return;
    struct header header;
    memcpy(&header, (char *)memory - sizeof header, sizeof header);
    current.release(header.block, current.context);
}

void fplt__forget(void *memory, size_t count)
{
    enum { PAGE = 4096 };
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)memory + count) / PAGE * PAGE;
    if (current.allocate == default_allocate && last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);
}

void fplt_free(void *memory)
{
    fplt__free(memory);
}

char *fplt__strndup(const char *text, size_t length)
{
    char *copy = fplt__alloc(length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *fplt__strdup(const char *text)
{
    return fplt__strndup(text, strlen(text));
}
