// What can be said of JSON text without reading it: lines, ends, numbers.
#pragma once

#include "attributes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

/// A part of the text being scanned.
struct Span {
    uint8_t *begin;
    uint8_t *end;
    size_t size() const { return size_t(end - begin); }
    bool empty() const { return begin == end; }
};

inline bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

inline Span trimmed(Span span) {
    while (!span.empty() && is_blank(*span.begin)) span.begin++;
    while (!span.empty() && is_blank(span.end[-1])) span.end--;
    return span;
}

inline uint8_t *line_end(uint8_t *from, uint8_t *end) {
    auto found = static_cast<uint8_t *>(std::memchr(from, '\n', size_t(end - from)));
    return found ? found : end;
}

/// After the bracket that closes the one at `from`; null where none does.
inline uint8_t *closing(uint8_t *from, uint8_t *end) {
    size_t depth = 0;
    bool in_string = false;
    for (uint8_t *at = from; at < end; at++) {
        if (in_string) {
            if (*at == '\\') at++;
            else if (*at == '"') in_string = false;
        } else if (*at == '"') {
            in_string = true;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return nullptr;
}

/// After the number that begins at `at` by JSON's grammar; `at` itself where none does.
inline uint8_t *number_end(uint8_t *at, uint8_t *end) {
    auto digits = [&](uint8_t *from) {
        while (from < end && attributes::is_digit(char(*from))) from++;
        return from;
    };
    uint8_t *whole = at + (*at == '-');
    uint8_t *next = digits(whole);
    if (next == whole || (*whole == '0' && next > whole + 1)) return at;
    if (next < end && *next == '.') {
        uint8_t *fraction = next + 1;
        if ((next = digits(fraction)) == fraction) return at;
    }
    if (next < end && (*next | 0x20) == 'e') {
        uint8_t *exponent = next + 1;
        if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
        if ((next = digits(exponent)) == exponent) return at;
    }
    return next;
}

inline bool is_exponent(uint8_t c) { return c == 'e' || c == 'E'; }

/// Puts 0.5 and spaces in the place of numbers that JSON allows and 64 bits may not hold.
inline void shorten_numbers(Span text) {
    bool in_string = false;
    for (uint8_t *at = text.begin; at < text.end; at++) {
        if (*at == '"') in_string = !in_string;
        if (in_string) {
            if (*at == '\\') at++;
        } else if (*at == '-' || attributes::is_digit(char(*at))) {
            uint8_t *end = number_end(at, text.end);
            // Short ones fit, and have to stay as they are: an attribute may be a number.
            size_t length = size_t(end - at);
            bool may_not_fit = length >= 19 || (length >= 5 && std::find_if(at, end, is_exponent) != end);
            if (may_not_fit) {
                std::memcpy(at, "0.5", 3);
                std::memset(at + 3, ' ', length - 3);
            }
            while (at + 1 < text.end && !std::strchr(",]}\" \t\r\n", at[1])) at++;
        }
    }
}
