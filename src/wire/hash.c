/* Digests of the federation. */
#include "wire/hash.h"

#include <string.h>

#include <sodium.h>

#include "base/bytes.h"

fplt__digest fplt__hash(const fplt__part *parts, size_t count)
{
    fplt__digest digest;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, FPLT__HASH);
    for (size_t i = 0; i < count; i++)
        crypto_generichash_update(&state, parts[i].bytes, parts[i].size);
    crypto_generichash_final(&state, digest.byte, FPLT__HASH);
    return digest;
}

fplt__digest fplt__hash_bytes(const void *bytes, size_t size)
{
    return fplt__hash(&(fplt__part){bytes, size}, 1);
}

int fplt__same(const fplt__digest *a, const fplt__digest *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

int fplt__is_zero(const fplt__digest *digest)
{
    return fplt__same(digest, &(fplt__digest){{0}});
}

void fplt__hex(const void *bytes, size_t size, char *text)
{
    sodium_bin2hex(text, 2 * size + 1, bytes, size);
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int fplt__unhex(const char *text, void *bytes, size_t size)
{
    uint8_t *out = bytes;
    for (size_t i = 0; i < size; i++) {
        int high = digit_of(text[2 * i]), low = high < 0 ? -1 : digit_of(text[2 * i + 1]);
        if (low < 0)
            return 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return text[2 * size] == 0;
}

fplt__digest fplt__document_hash(const void *bytes, size_t size)
{
    static const char label[] = "fedplt-plan-1\n";
    const fplt__part parts[] = {{label, sizeof label - 1}, {bytes, size}};
    return fplt__hash(parts, 2);
}

fplt__digest fplt__chain_begin(const fplt__digest *plan, uint32_t leg, uint32_t identity,
                               const fplt__digest *enrolment)
{
    static const char label[] = "fedplt-chain-1\n";
    uint8_t numbers[8];
    fplt__put32(numbers, leg);
    fplt__put32(numbers + 4, identity);
    const fplt__part parts[] = {{label, sizeof label - 1},
                                {plan, sizeof *plan},
                                {numbers, sizeof numbers},
                                {enrolment, sizeof *enrolment}};
    return fplt__hash(parts, 4);
}

fplt__digest fplt__chain_next(const fplt__digest *chain, uint64_t round, const fplt__digest *work,
                              const fplt__digest *closing)
{
    static const char label[] = "fedplt-link-1\n";
    uint8_t number[8];
    fplt__put64(number, round);
    const fplt__part parts[] = {{label, sizeof label - 1},
                                {chain, sizeof *chain},
                                {number, sizeof number},
                                {work, sizeof *work},
                                {closing, sizeof *closing}};
    return fplt__hash(parts, 5);
}

fplt__digest fplt__work_digest(const fplt__answer *answers, unsigned count)
{
    return fplt__hash_bytes(answers, count * sizeof *answers);
}
