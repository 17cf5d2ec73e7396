/* The table of fedplt/ranks.h by MPI. MPI ends all processes when one of its calls fails or a process
 * dies, so there is nothing to report from here. */
#include <mpi.h>
#include <string.h>

#include "fedplt/ranks.h"

__extension__ typedef __int128 wide;

/* What MPI counts in an int, at once. */
enum { MAX = 1 << 28 };

/* Sums of so many numbers are added here, MPI has shorter and longer ones; the tag of their messages. */
enum { MIDDLING = 1 << 11, LONG = 1 << 16, SUMS = 1 };

static MPI_Datatype pair;
static MPI_Op exact;

/* Two's complement, the low word first. What leaves 128 bits is the least integer from then on, which
 * the library refuses: no order of the additions brings it back. */
static wide spoil(wide x, wide y)
{
    const wide half = (wide)1 << 126, spoilt = -half - half;
    wide sum;
    int over = __builtin_add_overflow(x, y, &sum);
    return over || x == spoilt || y == spoilt ? spoilt : sum;
}

/* A number whose two highest bits differ is far from 0: such ones are added with care. */
static uint64_t is_far(uint64_t high)
{
    return (high ^ high << 1) >> 63;
}

static void add_pairs(void *from, void *into, int *count, MPI_Datatype *type)
{
    const uint64_t *a = from;
    uint64_t *b = into;
    (void)type;
    for (int i = 0; i < *count; i++, a += 2, b += 2) {
        if (__builtin_expect((long)(is_far(a[1]) | is_far(b[1])), 0)) {
            wide x, y;
            memcpy(&x, a, sizeof x);
            memcpy(&y, b, sizeof y);
            x = spoil(x, y);
            memcpy(b, &x, sizeof x);
            continue;
        }
        uint64_t low = a[0] + b[0];
        b[1] += a[1] + (low < a[0]);
        b[0] = low;
    }
}

/* A tree of pairs: MPI_Reduce takes memory from the system for every call of middling length and gives it back,
 * which costs more than the sum. */
static void sum_by_tree(const fplt_ranks *ranks, uint64_t *words, int count)
{
    static uint64_t received[2 * LONG];
    for (unsigned step = 1; step < ranks->count; step *= 2) {
        unsigned other = ranks->number ^ step;
        if (ranks->number & step) {
            MPI_Send(words, count, pair, (int)other, SUMS, MPI_COMM_WORLD);
            return;
        }
        if (other >= ranks->count)
            continue;
        MPI_Recv(received, count, pair, (int)other, SUMS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_pairs(received, words, &count, &pair);
    }
}

static void sum(void *context, uint64_t *words, size_t count)
{
    const fplt_ranks *ranks = context;
    if (count >= MIDDLING && count <= LONG) {
        sum_by_tree(ranks, words, (int)count);
        return;
    }
    for (size_t done = 0; done < count; done += MAX) {
        int part = count - done < MAX ? (int)(count - done) : MAX;
        uint64_t *at = words + 2 * done;
        if (ranks->number)
            MPI_Reduce(at, NULL, part, pair, exact, 0, MPI_COMM_WORLD);
        else
            MPI_Reduce(MPI_IN_PLACE, at, part, pair, exact, 0, MPI_COMM_WORLD);
    }
}

static void share(void *context, void *bytes, size_t size)
{
    (void)context;
    for (size_t done = 0; done < size; done += MAX)
        MPI_Bcast((char *)bytes + done, size - done < MAX ? (int)(size - done) : MAX, MPI_BYTE, 0,
                  MPI_COMM_WORLD);
}

static void deliver(void *context, unsigned to, const void *bytes, size_t size)
{
    (void)context;
    for (size_t done = 0; done < size; done += MAX)
        MPI_Send((const char *)bytes + done, size - done < MAX ? (int)(size - done) : MAX, MPI_BYTE,
                 (int)to, 0, MPI_COMM_WORLD);
}

static void receive(void *context, unsigned from, void *bytes, size_t size)
{
    (void)context;
    for (size_t done = 0; done < size; done += MAX)
        MPI_Recv((char *)bytes + done, size - done < MAX ? (int)(size - done) : MAX, MPI_BYTE,
                 (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static unsigned count_neighbours(void)
{
    MPI_Comm machine;
    int count = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &count);
    MPI_Comm_free(&machine);
    return (unsigned)count;
}

static fplt_ranks *begin_mpi(void)
{
    static fplt_ranks ranks;
    int given, number, count;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) || given < MPI_THREAD_FUNNELED)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_pairs, 1, &exact);
    ranks = (fplt_ranks){.size = sizeof ranks,
                         .number = (unsigned)number,
                         .count = (unsigned)count,
                         .neighbours = count_neighbours(),
                         .context = &ranks,
                         .sum = sum,
                         .share = share,
                         .send = deliver,
                         .receive = receive};
    return &ranks;
}

static void end(void)
{
    MPI_Op_free(&exact);
    MPI_Type_free(&pair);
    MPI_Finalize();
}

extern const fplt_ranks_module fplt_ranks_module_1;
const fplt_ranks_module fplt_ranks_module_1 = {
    .size = sizeof(fplt_ranks_module), .begin = begin_mpi, .end = end};
