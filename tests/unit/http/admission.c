/* Admission by address: tokens, members' addresses, the bounded table, and which refusals get a line. */
#include "testing.h"

#include <arpa/inet.h>

#include "http/admission.h"

static struct sockaddr_in address_of(unsigned number)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(number)};
}

static fplt__origin *find(fplt__admission *admission, unsigned number, double now)
{
    struct sockaddr_in address = address_of(number);
    return fplt__admission_find(admission, (struct sockaddr *)&address, now);
}

static fplt__admission *make(size_t addresses)
{
    fplt__admission *admission;
    fplt_error error;
    fplt__admission_settings settings = {.addresses = addresses,
                                         .burst = 4,
                                         .rate = 1,
                                         .member_rate = 10,
                                         .total_burst = 6,
                                         .total_rate = 2};
    assert_ok(fplt__admission_create(&settings, &admission, &error), error);
    return admission;
}

static unsigned taken(fplt__admission *admission, fplt__origin *origin, unsigned tries, double now)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tries; i++)
        count += (unsigned)fplt__admission_take(admission, origin, now);
    return count;
}

static void tokens_come_back(void **state)
{
    (void)state;
    fplt__admission *admission = make(8);
    fplt__origin *a = find(admission, 1, 100), *b = find(admission, 2, 100);
    assert_ptr_equal(find(admission, 1, 100), a);
    assert_ptr_not_equal(a, b);
    assert_int_equal(taken(admission, a, 10, 100), 4); /* its burst */
    assert_int_equal(taken(admission, b, 10, 100), 2); /* what is left for all */
    assert_int_equal(taken(admission, a, 10, 101), 1); /* a second's */
    /* a connection that proved to be a member's costs nothing */
    for (int i = 0; i < 100; i++) {
        fplt__admission_refund(admission, a);
        assert_int_equal(taken(admission, a, 1, 101), 1);
    }
    /* a member's address does not wait for the others */
    fplt__admission_trust(b, 101);
    assert_int_equal(taken(admission, a, 10, 101), 0);
    assert_int_equal(taken(admission, b, 10, 101.5), 4);
    assert_true(fplt__admission_is_member(b, 101 + FPLT__MEMBER_SECONDS - 1));
    assert_false(fplt__admission_is_member(b, 101 + FPLT__MEMBER_SECONDS + 1));
    fplt__admission_destroy(admission);
}

static void the_table_is_bounded(void **state)
{
    (void)state;
    fplt__admission *admission = make(4);
    fplt__origin *member = find(admission, 1, 100), *open = find(admission, 2, 101);
    fplt__admission_trust(member, 100);
    open->open = 1;
    for (unsigned i = 0; i < 1000; i++)
        assert_non_null(find(admission, 10 + i, 102 + i));
    assert_ptr_equal(find(admission, 1, 2000), member);
    assert_true(fplt__admission_is_member(member, 2000));
    assert_ptr_equal(find(admission, 2, 2000), open);
    assert_int_equal(open->open, 1);
    /* with no stranger left to drop, a member's goes; one with connections never */
    for (unsigned i = 0; i < 4; i++)
        find(admission, 5000 + i, 2001)->open = i > 0;
    member->open = 1;
    for (unsigned i = 0; i < 4; i++) {
        fplt__origin *found = find(admission, 6000 + i, 2002);
        if (found)
            found->open = 1;
    }
    assert_null(find(admission, 7000, 2003));
    fplt__admission_destroy(admission);
}

static void addresses_have_names(void **state)
{
    (void)state;
    fplt__admission *admission = make(8);
    char name[FPLT__ADDRESS_TEXT];
    struct sockaddr_in6 six = {.sin6_family = AF_INET6}, same = six, mapped = six;
    inet_pton(AF_INET6, "2001:db8:1:2:3:4:5:6", &six.sin6_addr);
    inet_pton(AF_INET6, "2001:db8:1:2::9", &same.sin6_addr);
    inet_pton(AF_INET6, "::ffff:192.0.2.7", &mapped.sin6_addr);
    fplt__origin *network = fplt__admission_find(admission, (struct sockaddr *)&six, 1);
    assert_ptr_equal(fplt__admission_find(admission, (struct sockaddr *)&same, 1), network);
    fplt__admission_name(network, name);
    assert_string_equal(name, "2001:db8:1:2::/64");
    fplt__origin *four = fplt__admission_find(admission, (struct sockaddr *)&mapped, 1);
    assert_ptr_equal(find(admission, 0xc0000207, 1), four);
    assert_ptr_equal(fplt__admission_named(admission, name, 1), network);
    assert_null(fplt__admission_named(admission, "nowhere", 1));
    fplt__admission_name(four, name);
    assert_ptr_equal(fplt__admission_named(admission, name, 1), four);
    assert_string_equal(name, "192.0.2.7");
    fplt__admission_name(fplt__admission_find(admission, NULL, 1), name);
    assert_string_equal(name, "a local socket");
    fplt__admission_destroy(admission);
}

/* 5,000 refusals of 250 addresses: 20 lines at once, and 11 for the minute, with all others counted in them. */
static void lines_are_few(void **state)
{
    (void)state;
    fplt__admission *admission = make(300);
    char sentence[200];
    unsigned lines = 0, summaries = 0;
    unsigned long long counted = 0, more;
    for (unsigned i = 0; i < 5000; i++)
        lines += (unsigned)fplt__admission_reports(admission, find(admission, i % 250, 100), 100);
    assert_int_equal(lines, 20);
    assert_false(fplt__admission_summary(admission, 159, sentence, sizeof sentence));
    while (fplt__admission_summary(admission, 160, sentence, sizeof sentence)) {
        assert_int_equal(sscanf(sentence, "%llu more refusals in the last minute from", &more), 1);
        counted += more;
        assert_true(++summaries < 100);
    }
    assert_int_equal(summaries, 11);
    assert_contains(sentence, "from 240 other addresses");
    assert_int_equal(counted + lines, 5000);
    assert_false(fplt__admission_summary(admission, 300, sentence, sizeof sentence));
    /* one address: a line, then a count, then a line */
    fplt__origin *origin = find(admission, 7, 400);
    assert_true(fplt__admission_reports(admission, origin, 400));
    for (int i = 0; i < 9; i++)
        assert_false(fplt__admission_reports(admission, origin, 401));
    assert_true(fplt__admission_summary(admission, 461, sentence, sizeof sentence));
    assert_string_equal(sentence, "9 more refusals in the last minute from 0.0.0.7");
    assert_false(fplt__admission_summary(admission, 461, sentence, sizeof sentence));
    assert_true(fplt__admission_reports(admission, origin, 461));
    fplt__admission_destroy(admission);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_back),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(addresses_have_names),
        cmocka_unit_test(lines_are_few),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
