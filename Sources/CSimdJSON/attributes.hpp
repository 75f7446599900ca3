// What CloudEvents 1.0 allows as an attribute's value, and the standards that it names. Each function takes a
// string that is valid UTF-8 already.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace attributes {

using std::string_view;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// One bit a use for each byte.
struct ByteTable {
    enum : uint8_t { name = 1, uri = 2, scheme = 4, token = 8, base64 = 16 };
    uint8_t bits[256] = {};

    constexpr void add(string_view bytes, uint8_t bit) {
        for (char c : bytes) bits[uint8_t(c)] |= bit;
    }

    constexpr ByteTable() {
        string_view lower = "abcdefghijklmnopqrstuvwxyz", upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        string_view digits = "0123456789";
        add(lower, name | uri | scheme | token | base64);
        add(digits, name | uri | scheme | token | base64);
        add(upper, uri | scheme | token | base64);
        add("-._~:/?#[]@!$&'()*+,;=%", uri);
        add("+-.", scheme);
        add("!#$%&'*+-.^_`|~", token);
        add("+/", base64);
    }

    bool has(char c, uint8_t bit) const { return bits[uint8_t(c)] & bit; }
    bool all(string_view text, uint8_t bit) const {
        uint8_t both = bit;
        for (char c : text) both &= bits[uint8_t(c)];
        return both;
    }
};

inline constexpr ByteTable table{};

/// Lower-case letters and digits, at least one.
inline bool is_name(string_view text) { return !text.empty() && table.all(text, ByteTable::name); }

/// Whether a byte sequence beyond ASCII is one that the type String excludes: a C1 control or a noncharacter.
inline bool is_excluded(const uint8_t *c, size_t left) {
    if (c[0] == 0xC2) return left >= 2 && c[1] < 0xA0;
    if (c[0] == 0xEF && left >= 3)
        return (c[1] == 0xB7 && c[2] >= 0x90 && c[2] <= 0xAF) || (c[1] == 0xBF && c[2] >= 0xBE);
    if (c[0] >= 0xF0 && left >= 4) return (c[1] & 0x0F) == 0x0F && c[2] == 0xBF && c[3] >= 0xBE;
    return false;
}

/// The type String: no control characters and no noncharacters.
inline bool is_string(string_view text) {
    auto bytes = reinterpret_cast<const uint8_t *>(text.data());
    size_t i = 0, count = text.size();
    for (; i + 8 <= count; i += 8) {
        uint64_t word;
        std::memcpy(&word, bytes + i, 8);
        uint64_t low = word - 0x2020202020202020u;          // borrows in bytes below 0x20
        uint64_t high = word + 0x0101010101010101u;         // carries in bytes above 0x7e
        if ((low | high | word) & 0x8080808080808080u) break;
    }
    for (; i < count; i++) {
        uint8_t c = bytes[i];
        if (c < 0x20 || c == 0x7F) return false;
        if (c >= 0x80 && is_excluded(bytes + i, count - i)) return false;
    }
    return true;
}

/// The scheme's length with its colon; 0 without a scheme.
inline size_t scheme_length(string_view text) {
    if (text.empty() || !is_alpha(text[0])) return 0;
    size_t i = 1;
    while (i < text.size() && table.has(text[i], ByteTable::scheme)) i++;
    return i < text.size() && text[i] == ':' ? i + 1 : 0;
}

/// A URI-reference by RFC 3986, its authority not looked into: characters, escapes, scheme, and a single
/// fragment.
inline bool is_uri_reference(string_view text) {
    if (!table.all(text, ByteTable::uri)) return false;
    size_t escape = 0;
    while ((escape = text.find('%', escape)) != string_view::npos) {
        if (text.size() - escape < 3 || !is_hex(text[escape + 1]) || !is_hex(text[escape + 2])) return false;
        escape += 3;
    }
    size_t fragment = text.find('#');
    if (fragment != string_view::npos && text.find('#', fragment + 1) != string_view::npos) return false;
    size_t first = text.find_first_of(":/?#");
    // A colon in the first segment ends a scheme.
    return first == string_view::npos || text[first] != ':' || scheme_length(text) == first + 1;
}

inline bool is_absolute_uri(string_view text) {
    size_t scheme = scheme_length(text);
    return scheme > 0 && text.size() > scheme && is_uri_reference(text);
}

/// `count` digits at `*text`, or -1; moves past them.
inline int take_number(const char *&text, const char *end, int count) {
    if (end - text < count) return -1;
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (!is_digit(text[i])) return -1;
        value = value * 10 + (text[i] - '0');
    }
    text += count;
    return value;
}

inline int days_in_month(int year, int month) {
    if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/// A date-time by RFC 3339; second 60 is taken in any minute.
inline bool is_time(string_view text) {
    const char *at = text.data(), *end = at + text.size();
    auto take = [&](char c) { return at < end && (*at | 0x20) == (c | 0x20) ? (at++, true) : false; };
    auto exactly = [&](char c) { return at < end && *at == c ? (at++, true) : false; };
    int year = take_number(at, end, 4);
    if (year < 0 || !exactly('-')) return false;
    int month = take_number(at, end, 2);
    if (month < 1 || month > 12 || !exactly('-')) return false;
    int day = take_number(at, end, 2);
    if (day < 1 || day > days_in_month(year, month) || !take('T')) return false;
    int hour = take_number(at, end, 2);
    if (hour < 0 || hour > 23 || !exactly(':')) return false;
    int minute = take_number(at, end, 2);
    if (minute < 0 || minute > 59 || !exactly(':')) return false;
    int second = take_number(at, end, 2);
    if (second < 0 || second > 60) return false;
    if (exactly('.')) {
        if (at == end || !is_digit(*at)) return false;
        while (at < end && is_digit(*at)) at++;
    }
    if (take('Z')) return at == end;
    if (!exactly('+') && !exactly('-')) return false;
    hour = take_number(at, end, 2);
    if (hour < 0 || hour > 23 || !exactly(':')) return false;
    minute = take_number(at, end, 2);
    return minute >= 0 && minute <= 59 && at == end;
}

inline size_t take_token(string_view text, size_t at) {
    while (at < text.size() && table.has(text[at], ByteTable::token)) at++;
    return at;
}

/// After the quoted string that begins at `at`; `npos` where none does.
inline size_t take_quoted(string_view text, size_t at) {
    if (at >= text.size() || text[at] != '"') return string_view::npos;
    for (at++; at < text.size(); at++) {
        if (text[at] == '"') return at + 1;
        if (text[at] == '\\' && ++at == text.size()) break;
    }
    return string_view::npos;
}

/// A media type by RFC 2045: type, subtype, parameters.
inline bool is_media_type(string_view text) {
    auto skip = [&](size_t at) {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) at++;
        return at;
    };
    size_t at = take_token(text, 0);
    if (at == 0 || at >= text.size() || text[at] != '/') return false;
    size_t subtype = take_token(text, at + 1);
    if (subtype == at + 1) return false;
    at = skip(subtype);
    while (at < text.size()) {
        if (text[at] != ';') return false;
        size_t name = skip(at + 1);
        at = take_token(text, name);
        if (at == name || at >= text.size() || text[at] != '=') return false;
        size_t value = at + 1;
        at = value < text.size() && text[value] == '"' ? take_quoted(text, value) : take_token(text, value);
        if (at == value || at == string_view::npos) return false;
        at = skip(at);
    }
    return true;
}

/// Base64 by RFC 4648 section 4, padded.
inline bool is_base64(string_view text) {
    if (text.size() % 4 != 0) return false;
    if (text.empty()) return true;
    size_t padding = text.back() != '=' ? 0 : (text[text.size() - 2] == '=' ? 2 : 1);
    return table.all(text.substr(0, text.size() - padding), ByteTable::base64);
}

} // namespace attributes
