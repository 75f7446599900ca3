// CRC-32C: the checksum of the journal's commits and lines. Little-endian hosts only, as the journal's format is.
#include "CPlatform.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a little-endian processor is needed"
#endif

// The polynomial, its bits reversed.
#define POLYNOMIAL 0x82F63B78u

// tables[k][b]: what byte b does to the register when k more zero bytes follow it.
static uint32_t tables[8][256];
static int has_instruction;

// Before main, so that no caller ever meets half a table.
__attribute__((constructor)) static void prepare(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    }
#if defined(__x86_64__)
    __builtin_cpu_init();
    has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__ARM_FEATURE_CRC32)
    has_instruction = 1;
#endif
}

static inline uint64_t eight(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

uint32_t hg_crc32c_portable(uint32_t seed, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t crc = ~seed;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word = eight(at) ^ crc;
        crc = tables[7][word & 0xff] ^ tables[6][(word >> 8) & 0xff] ^ tables[5][(word >> 16) & 0xff]
            ^ tables[4][(word >> 24) & 0xff] ^ tables[3][(word >> 32) & 0xff] ^ tables[2][(word >> 40) & 0xff]
            ^ tables[1][(word >> 48) & 0xff] ^ tables[0][word >> 56];
    }
    for (; count > 0; count--, at++) crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static uint32_t by_instruction(uint32_t seed, const unsigned char *at, size_t count) {
    uint64_t crc = (uint32_t)~seed;
    for (; count >= 8; count -= 8, at += 8) crc = _mm_crc32_u64(crc, eight(at));
    for (; count > 0; count--, at++) crc = _mm_crc32_u8((uint32_t)crc, *at);
    return ~(uint32_t)crc;
}
#elif defined(__ARM_FEATURE_CRC32)
static uint32_t by_instruction(uint32_t seed, const unsigned char *at, size_t count) {
    uint32_t crc = ~seed;
    for (; count >= 8; count -= 8, at += 8) crc = __crc32cd(crc, eight(at));
    for (; count > 0; count--, at++) crc = __crc32cb(crc, *at);
    return ~crc;
}
#endif

uint32_t hg_crc32c(uint32_t seed, const void *bytes, size_t count) {
#if defined(__x86_64__) || defined(__ARM_FEATURE_CRC32)
    if (has_instruction) return by_instruction(seed, bytes, count);
#endif
    return hg_crc32c_portable(seed, bytes, count);
}
