/* Allocation through the replaceable allocator. The block handed out is aligned inside a larger
 * one; the words before it hold the address to release and its size. Large blocks are the system's pages, so
 * that they can grow without being copied. */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct header {
    void *block;
    size_t bytes;
    size_t mapped; /* bytes of the pages that the block is, or 0 */
};

/* Before the memory of every block, a multiple of its alignment. */
enum { BEFORE = FPLT_ALIGNMENT };
_Static_assert(sizeof(struct header) <= BEFORE, "the header has no room");

enum { PAGE = 4096, LARGE = 1 << 20, IN_LARGE_PAGES = 1 << 23 };

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
 * filled, and fewer look-ups where a million agents are visited in turn. All of the block, which the system
 * moves only where it is of one kind. */
static void ask_for_large_pages(char *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= IN_LARGE_PAGES)
        madvise(block, bytes, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

static struct header header_of(const void *memory)
{
    struct header header;
    memcpy(&header, (const char *)memory - sizeof header, sizeof header);
    return header;
}

static void *with_header(char *memory, struct header header)
{
    memcpy(memory - sizeof header, &header, sizeof header);
    return memory;
}

/* Zeroed by the system: costs nothing until it is used. */
static void *map_pages(size_t bytes)
{
    size_t whole = bytes + BEFORE;
    char *block = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    ask_for_large_pages(block, whole);
    return with_header(block + BEFORE, (struct header){block, bytes, whole});
}

void *fplt__alloc(size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - 2 * BEFORE) / size)
        return NULL;
    size_t bytes = count * size;
    int own = current.allocate == default_allocate;
    if (own && bytes >= LARGE)
        return map_pages(bytes);
    size_t whole = bytes + 2 * BEFORE;
    char *block = own ? calloc(1, whole) : current.allocate(whole, current.context);
    if (!block)
        return NULL;
    uintptr_t aligned = ((uintptr_t)block + 2 * BEFORE - 1) / BEFORE * BEFORE;
    char *memory = block + (aligned - (uintptr_t)block);
    if (!own)
        memset(memory, 0, bytes);
    return with_header(memory, (struct header){block, bytes, 0});
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

/* Pages are handed on, whatever their number; behind the end of a page's contents are zeros. */
static void *resize_pages(struct header header, size_t bytes)
{
    size_t whole = bytes + BEFORE, rest = (PAGE - header.mapped % PAGE) % PAGE;
    char *block = mremap(header.block, header.mapped, whole, MREMAP_MAYMOVE);
    if (block == MAP_FAILED)
        return NULL;
    if (whole > header.mapped) {
        size_t more = whole - header.mapped;
        memset(block + header.mapped, 0, rest < more ? rest : more);
        ask_for_large_pages(block, whole);
    }
    return with_header(block + BEFORE, (struct header){block, bytes, whole});
}

fplt_status fplt__resize(void *pointer_to_pointer, size_t count, size_t size, const char *what,
                         fplt_error *error)
{
    void *old, *made;
    memcpy(&old, pointer_to_pointer, sizeof old);
    struct header header = old ? header_of(old) : (struct header){NULL, 0, 0};
    int large =
        header.mapped && size && count <= (SIZE_MAX - 2 * BEFORE) / size && count * size >= LARGE;
    made = large ? resize_pages(header, count * size) : NULL;
    if (!made && (made = fplt__alloc(count, size)) && old) {
        memcpy(made, old, header.bytes < count * size ? header.bytes : count * size);
        fplt__free(old);
    }
    if (!made)
        return fplt_error_set(error, FPLT_NO_MEMORY, "no memory for %s (%zu x %zu bytes)", what,
                              count, size);
    memcpy(pointer_to_pointer, &made, sizeof made);
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
    fplt_status status = fplt__resize(pointer_to_pointer, wanted, size, what, error);
    if (!status)
        *capacity = wanted;
    return status;
}

void fplt__free(void *memory)
{
    if (!memory)
        return;
    struct header header = header_of(memory);
    if (header.mapped)
        munmap(header.block, header.mapped);
    else
        current.release(header.block, current.context);
}

void fplt__forget(void *memory, size_t count)
{
    uintptr_t first = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)memory + count) / PAGE * PAGE;
    if (current.allocate == default_allocate && last > first)
        madvise((void *)first, last - first, MADV_DONTNEED);
}

void fplt__expect(void *memory, size_t count)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t first = (uintptr_t)memory / PAGE * PAGE;
    uintptr_t last = ((uintptr_t)memory + count) / PAGE * PAGE;
    if (current.allocate == default_allocate && last > first)
        madvise((void *)first, last - first, MADV_POPULATE_WRITE);
#else
    (void)memory;
    (void)count;
#endif
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
