// Reads whole documents into simdjson's tape.
#pragma once

#include "CSimdJSON.h"

#include <simdjson.h>

#include <algorithm>

/// DOM parsers whose buffers grow by doubling: simdjson itself grows them to the byte.
///
/// simdjson's bound on depth doesn't see an empty object or array in the innermost place. So the first parser
/// allows one level less, which leaves room for such; what it finds too deep is read again and counted.
class Reader {
public:
    explicit Reader(size_t max_nesting) : max_nesting_(max_nesting) {}

    /// `padded` has SIMDJSON_PADDING readable bytes after it.
    hg_json_error parse(const uint8_t *padded, size_t length) noexcept {
        if (length >= UINT32_MAX / 2) return HG_JSON_TOO_LARGE;
        current_ = &shallow_;
        hg_json_error error = run(padded, length, max_nesting_);
        if (error != HG_JSON_DEPTH) return error;
        current_ = &deep_;
        error = run(padded, length, max_nesting_ + 1);
        return error ? error : (nesting(padded) > max_nesting_ ? HG_JSON_DEPTH : HG_JSON_OK);
    }

    /// The document that was read last.
    const simdjson::dom::document &document() const noexcept { return current_->doc; }

    /// Where the brackets, braces, colons, commas and beginnings of values of the last document lie.
    const uint32_t *structurals() const noexcept {
        return current_->implementation->structural_indexes.get();
    }
    size_t structural_count() const noexcept { return current_->implementation->n_structural_indexes; }

private:
    size_t max_nesting_;
    simdjson::dom::parser shallow_;
    simdjson::dom::parser deep_;
    simdjson::dom::parser *current_ = &shallow_;

    hg_json_error run(const uint8_t *padded, size_t length, size_t depth) noexcept {
        simdjson::dom::parser &parser = *current_;
        if (parser.capacity() < length || parser.capacity() == 0) {
            size_t capacity = 4096;
            while (capacity < length) capacity *= 2;
            if (parser.allocate(capacity, depth) || parser.doc.allocate(capacity)) return HG_JSON_MEMORY;
        }
        return code(parser.parse(padded, length, false).error());
    }

    size_t nesting(const uint8_t *text) const noexcept {
        size_t depth = 0, deepest = 0;
        for (size_t i = 0; i < structural_count(); i++) {
            uint8_t byte = text[structurals()[i]];
            if (byte == '{' || byte == '[') deepest = std::max(deepest, ++depth);
            if (byte == '}' || byte == ']') depth--;
        }
        return deepest;
    }

    static hg_json_error code(simdjson::error_code error) noexcept {
        switch (error) {
        case simdjson::SUCCESS: return HG_JSON_OK;
        case simdjson::EMPTY: return HG_JSON_EMPTY;
        case simdjson::UTF8_ERROR: return HG_JSON_UTF8;
        case simdjson::STRING_ERROR:
        case simdjson::UNESCAPED_CHARS:
        case simdjson::UNCLOSED_STRING: return HG_JSON_STRING;
        case simdjson::NUMBER_ERROR:
        case simdjson::NUMBER_OUT_OF_RANGE: return HG_JSON_NUMBER;
        case simdjson::DEPTH_ERROR: return HG_JSON_DEPTH;
        case simdjson::CAPACITY: return HG_JSON_TOO_LARGE;
        case simdjson::MEMALLOC: return HG_JSON_MEMORY;
        default: return HG_JSON_SYNTAX;
        }
    }
};
