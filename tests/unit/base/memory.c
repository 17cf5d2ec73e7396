/* Memory, sentences and the log: what every other module stands on. */
#include "testing.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "failing.h"

static void blocks_are_aligned_and_zero(void **state)
{
    (void)state;
    void *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        unsigned char *block = blocks[i] = fplt__alloc(i, 7);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % FPLT_ALIGNMENT, 0);
        for (size_t j = 0; j < 7 * i; j++)
            assert_int_equal(block[j], 0);
        memset(block, 0xA5, 7 * i);
    }
    for (size_t i = 0; i < 200; i++)
        fplt__free(blocks[i]);
    fplt__free(NULL);
    fplt_free(NULL);
    fplt_free(fplt__alloc(3, 0));
}

static void overflow_is_refused_before_the_allocator_is_asked(void **state)
{
    (void)state;
    failing counter;
    failing_install(&counter, LONG_MAX);
    assert_null(fplt__alloc(SIZE_MAX, 1));
    assert_null(fplt__alloc(SIZE_MAX - 64, 1));
    assert_null(fplt__alloc(SIZE_MAX / 8 + 1, 8));
    assert_null(fplt__alloc(1, SIZE_MAX));
    assert_null(fplt__alloc((size_t)1 << 33, (size_t)1 << 33));
    fplt_error error;
    void *block = &error;
    assert_int_equal(fplt__alloc_into(&block, SIZE_MAX / 4, 8, "the matrix", &error),
                     FPLT_NO_MEMORY);
    assert_null(block);
    assert_contains(error.text, "no memory for the matrix (4611686018427387903 x 8 bytes)");
    assert_int_equal(counter.allocations, 0);
    fplt_allocator_set(NULL);
}

static void a_custom_allocator_sees_everything(void **state)
{
    (void)state;
    failing counter;
    failing_install(&counter, 3);
    void *a = fplt__alloc(10, 8), *b = fplt__strdup("text"), *c = fplt__strndup("texts", 2);
    assert_int_equal(counter.alive, 3);
    assert_string_equal(b, "text");
    assert_string_equal(c, "te");
    assert_null(fplt__strdup("no more"));
    fplt__free(a);
    fplt__free(b);
    fplt_free(c);
    assert_int_equal(counter.alive, 0);
    fplt_allocator_set(NULL);
    fplt__free(fplt__alloc(1, 1));
    assert_int_equal(counter.allocations, 4);
}

/* An allocator that hands out addresses of every residue: alignment is the library's own work. */
static void *crooked_allocate(size_t bytes, void *context)
{
    size_t *shift = context;
    *shift = (*shift + 1) % 64;
    char *block = malloc(bytes + 80);
    block[*shift] = (char)*shift;
    return block + *shift + 1;
}

static void crooked_release(void *memory, void *context)
{
    (void)context;
    char *block = memory;
    free(block - block[-1] - 1);
}

static void alignment_does_not_rely_on_the_allocator(void **state)
{
    (void)state;
    size_t shift = 0;
    fplt_allocator crooked = {crooked_allocate, crooked_release, &shift};
    fplt_allocator_set(&crooked);
    for (size_t i = 0; i < 200; i++) {
        char *block = fplt__alloc(100, 1);
        assert_int_equal((uintptr_t)block % FPLT_ALIGNMENT, 0);
        memset(block, 1, 100);
        fplt__free(block);
    }
    fplt_allocator_set(NULL);
}

static void growing_keeps_the_contents(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t capacity = 0, moves = 0;
    fplt_error error;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        assert_ok(fplt__grow(&array, &capacity, i + 1, sizeof *array, "numbers", &error), error);
        moves += capacity != before;
        assert_true(capacity > i);
        array[i] = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(array[i], i);
    assert_true(moves < 20);
    failing refuse;
    fplt__free(array);

    failing_install(&refuse, 1);
    array = NULL;
    capacity = 0;
    assert_int_equal(fplt__grow(&array, &capacity, 4, sizeof *array, "numbers", &error), FPLT_OK);
    array[3] = 77;
    uint32_t *before = array;
    size_t held = capacity;
    assert_int_equal(fplt__grow(&array, &capacity, 1000, sizeof *array, "numbers", &error),
                     FPLT_NO_MEMORY);
    assert_contains(error.text, "no memory for numbers");
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, held);
    assert_int_equal(array[3], 77);
    assert_int_equal(fplt__grow(&array, &capacity, SIZE_MAX / 2, sizeof *array, "numbers", &error),
                     FPLT_NO_MEMORY);
    fplt__free(array);
    fplt_allocator_set(NULL);
    assert_int_equal(refuse.alive, 0);
}

/* Small blocks, the system's pages, and from one to the other and back. */
static void resized_blocks_keep_what_fits(void **state)
{
    (void)state;
    static const size_t sizes[] = {5,       1000,    1 << 20, (1 << 20) - 1, (1 << 20) + 4001,
                                   9000001, 1 << 24, 2000000, 3000000,       1 << 25,
                                   100,     1 << 21, 0};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    unsigned char *block = NULL;
    size_t filled = 0;
    fplt_error error;
    for (size_t i = 0; i < SIZES; i++) {
        size_t kept = filled < sizes[i] ? filled : sizes[i];
        assert_ok(fplt__resize(&block, sizes[i], 1, "bytes", &error), error);
        assert_int_equal((uintptr_t)block % FPLT_ALIGNMENT, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            if (block[j] != (j < kept ? j % 251 + 1 : 0))
                fail_msg("size %zu: byte %zu is %u", sizes[i], j, block[j]);
        for (size_t j = 0; j < sizes[i]; j++)
            block[j] = (unsigned char)(j % 251 + 1);
        filled = sizes[i];
    }
    assert_int_equal(fplt__resize(&block, SIZE_MAX / 2, 4, "bytes", &error), FPLT_NO_MEMORY);
    assert_contains(error.text, "no memory for bytes");
    fplt__free(block);
}

static void edit_distances(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"rho", "rho", 0},
                 {"rho", "rhi", 1},
                 {"epoch", "epochs", 1},
                 {"thraeds", "threads", 1},
                 {"kitten", "sitting", 3},
                 {"ab", "ba", 1},
                 {"ca", "abc", 3},
                 {"abcdef", "badcfe", 3},
                 {"flaw", "lawn", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(fplt__edit_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(fplt__edit_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    char a[200], b[200];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    a[199] = b[199] = 0;
    assert_int_equal(fplt__edit_distance(a, b), 63);
}

static const char *colours(size_t index, const char **help)
{
    static const char *const names[] = {"red", "green", "blue"};
    if (help)
        *help = "a colour";
    return index < 3 ? names[index] : NULL;
}

static void unknown_names(void **state)
{
    (void)state;
    fplt_error error;
    assert_int_equal(fplt__unknown_name("colour", "gren", colours, &error), FPLT_BAD_VALUE);
    assert_string_equal(error.text, "there is no colour 'gren' (did you mean 'green'?); it must be "
                                    "one of red, green, blue");
    fplt__unknown_name("colour", "ultraviolet", colours, &error);
    assert_string_equal(error.text,
                        "there is no colour 'ultraviolet'; it must be one of red, green, blue");
    assert_int_equal(fplt__unknown_name("colour", "", colours, NULL), FPLT_BAD_VALUE);
}

static void sentences(void **state)
{
    (void)state;
    fplt_error error;
    assert_int_equal(fplt_error_set(&error, FPLT_IO, "%s is %d", "x", 3), FPLT_IO);
    assert_string_equal(error.text, "x is 3");
    assert_int_equal(fplt_error_prefix(&error, "file:%d", 7), FPLT_IO);
    assert_string_equal(error.text, "file:7: x is 3");
    assert_int_equal(fplt_error_set(NULL, FPLT_IO, "%s", "nobody reads this"), FPLT_IO);
    fplt_error_prefix(NULL, "nobody");
    char text[3000];
    memset(text, 'a', sizeof text);
    text[2999] = 0;
    fplt_error_set(&error, FPLT_FAILED, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    fplt_error_prefix(&error, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_string_equal(fplt_status_name(FPLT_NO_MEMORY), "no-memory");
    assert_string_equal(fplt_status_text(FPLT_OK), "success");
    assert_string_equal(fplt_status_name((fplt_status)999), "unknown");
    assert_string_equal(fplt_status_text((fplt_status)999), "unknown status");
}

static void sink(fplt_log_level level, const char *sentence, void *context)
{
    snprintf(context, 100, "%d %s", (int)level, sentence);
}

static void the_log_goes_to_the_sink(void **state)
{
    (void)state;
    char heard[100] = "";
    fplt__log(FPLT_LOG_WARNING, "nobody listens");
    fplt_log_set(sink, heard);
    fplt__log(FPLT_LOG_WARNING, "round %d", 4);
    assert_string_equal(heard, "2 round 4");
    fplt_log_set(NULL, NULL);
    fplt__log(FPLT_LOG_INFO, "nobody listens again");
    assert_string_equal(heard, "2 round 4");
}

static void the_version_has_one_home(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", FPLT_VERSION_MAJOR, FPLT_VERSION_MINOR,
             FPLT_VERSION_PATCH);
    assert_string_equal(text, FPLT_VERSION); /* meson.build's */
    assert_string_equal(fplt_version(), FPLT_VERSION);
    assert_int_equal(FPLT_VERSION_NUMBER / 1000000, FPLT_VERSION_MAJOR);
    assert_int_equal(FPLT_VERSION_NUMBER / 1000 % 1000, FPLT_VERSION_MINOR);
    assert_int_equal(FPLT_VERSION_NUMBER % 1000, FPLT_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_zero),
        cmocka_unit_test(overflow_is_refused_before_the_allocator_is_asked),
        cmocka_unit_test(a_custom_allocator_sees_everything),
        cmocka_unit_test(alignment_does_not_rely_on_the_allocator),
        cmocka_unit_test(growing_keeps_the_contents),
        cmocka_unit_test(resized_blocks_keep_what_fits),
        cmocka_unit_test(edit_distances),
        cmocka_unit_test(unknown_names),
        cmocka_unit_test(sentences),
        cmocka_unit_test(the_log_goes_to_the_sink),
        cmocka_unit_test(the_version_has_one_home),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
