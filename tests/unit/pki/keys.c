/* Private keys as other programs read them: PKCS #8 on P-256 with a private number of exactly 32 octets (RFC 5915). */
#include "testing.h"

#include <gnutls/x509.h>
#include <string.h>

#include "base/memory.h"
#include "pki/certificate.h"

enum { KEYS = 40, OCTETS = 32, SIZE = 138, PRIVATE_AT = 36, PUBLIC_AT = 74 };

/* The number of `size` octets is the one that GnuTLS gives, with or without zeros in front. */
static void assert_number(const uint8_t *at, size_t size, const gnutls_datum_t *number)
{
    size_t more = number->size > size ? number->size - size : 0,
           less = size - (number->size - more);
    for (size_t i = 0; i < more; i++)
        assert_int_equal(number->data[i], 0);
    for (size_t i = 0; i < less; i++)
        assert_int_equal(at[i], 0);
    assert_memory_equal(at + less, number->data + more, size - less);
}

/* Half of the numbers have their first bit set: with 40 keys the probability that none has, or all have, is 2e-12. */
static void test_octets(void **state)
{
    (void)state;
    unsigned high = 0;
    for (int i = 0; i < KEYS; i++) {
        fplt_error error;
        char *text;
        gnutls_datum_t der, x, y, k;
        gnutls_x509_privkey_t key;
        gnutls_ecc_curve_t curve;
        assert_ok(fplt__key_make(&text, &error), error);
        gnutls_datum_t pem = {(unsigned char *)text, (unsigned)strlen(text)};
        assert_int_equal(gnutls_pem_base64_decode2("PRIVATE KEY", &pem, &der), 0);
        assert_int_equal(der.size, SIZE);
        assert_int_equal(der.data[PRIVATE_AT - 2], 0x04); /* OCTET STRING */
        assert_int_equal(der.data[PRIVATE_AT - 1], OCTETS);
        assert_int_equal(gnutls_x509_privkey_init(&key), 0);
        assert_int_equal(gnutls_x509_privkey_import(key, &pem, GNUTLS_X509_FMT_PEM), 0);
        assert_int_equal(gnutls_x509_privkey_verify_params(key), 0);
        assert_int_equal(gnutls_x509_privkey_export_ecc_raw(key, &curve, &x, &y, &k), 0);
        assert_int_equal(curve, GNUTLS_ECC_CURVE_SECP256R1);
        assert_number(der.data + PRIVATE_AT, OCTETS, &k);
        assert_number(der.data + PUBLIC_AT, OCTETS, &x);
        assert_number(der.data + PUBLIC_AT + OCTETS, OCTETS, &y);
        high += der.data[PRIVATE_AT] >> 7;
        gnutls_datum_t *parts[] = {&x, &y, &k, &der};
        for (size_t part = 0; part < 4; part++)
            gnutls_free(parts[part]->data);
        gnutls_x509_privkey_deinit(key);
        fplt__free(text);
    }
    assert_true(high > 0 && high < KEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_octets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
