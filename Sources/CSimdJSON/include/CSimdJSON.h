// The C face of simdjson: a reader of whole documents. Only the target Wire imports it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A reader and its buffers, kept from one document to the next. Belongs to one thread.
typedef struct hg_json hg_json;

/// What went wrong with a document; `HG_JSON_OK` is 0.
typedef enum hg_json_error {
    HG_JSON_OK = 0,
    HG_JSON_SYNTAX,
    HG_JSON_EMPTY,
    HG_JSON_UTF8,
    HG_JSON_STRING,
    HG_JSON_NUMBER,
    HG_JSON_DEPTH,
    HG_JSON_TOO_LARGE,
    HG_JSON_MEMORY,
} hg_json_error;

/// simdjson's tape (its doc/tape.md): 64-bit words, the kind in the top byte. Valid until the next call.
typedef struct hg_json_tape {
    const uint64_t *words;
    /// What string words point into: a 32-bit length, then the bytes.
    const uint8_t *strings;
} hg_json_tape;

/// NULL when memory runs out. `max_nesting`: objects and arrays within each other.
hg_json *hg_json_create(size_t max_nesting);
void hg_json_destroy(hg_json *json);

/// Reads and checks one document of `length` bytes, which need no padding: they are copied.
hg_json_error hg_json_parse(hg_json *json, const uint8_t *bytes, size_t length, hg_json_tape *tape);

#ifdef __cplusplus
}
#endif
