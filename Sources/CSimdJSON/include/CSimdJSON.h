// The C face of simdjson: a reader of whole documents, and a scanner of frames of events. Only Wire imports
// it.
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

/// What is wrong with an event; `HG_EVENT_OK` is 0.
typedef enum hg_event_error {
    HG_EVENT_OK = 0,
    /// Not JSON: `json` says more.
    HG_EVENT_JSON,
    HG_EVENT_BYTE_ORDER_MARK,
    HG_EVENT_NOT_OBJECT,
    /// Something stands after the object on its line.
    HG_EVENT_TRAILING,
    HG_EVENT_TOO_LARGE,
    HG_EVENT_TOO_MANY,
    HG_EVENT_TYPE_TOO_LONG,
    // Of the attribute `name`:
    HG_EVENT_REPEATED,
    HG_EVENT_MISSING,
    HG_EVENT_BAD_NAME,
    HG_EVENT_NOT_STRING,
    HG_EVENT_EMPTY_STRING,
    HG_EVENT_BAD_CHARACTER,
    HG_EVENT_BAD_VALUE,
    HG_EVENT_SPECVERSION,
    HG_EVENT_BAD_REFERENCE,
    HG_EVENT_BAD_URI,
    HG_EVENT_BAD_TIME,
    HG_EVENT_BAD_MEDIA_TYPE,
    HG_EVENT_BAD_BASE64,
    HG_EVENT_DATA_TWICE,
    HG_EVENT_MEMORY,
} hg_event_error;

/// Where one event lies; the same layout as Wire's `LineBlock.Line`.
typedef struct hg_line {
    uint32_t offset;
    uint32_t length;
    uint32_t type_offset;
    /// 0: the type has escapes, see `hg_scanner_escaped`.
    uint32_t type_length;
} hg_line;

typedef struct hg_scan_limits {
    size_t max_events;
    size_t max_event_bytes;
    size_t max_type_bytes;
} hg_scan_limits;

/// What came of one frame. Its pointers are valid until the scanner's next call.
typedef struct hg_scan_result {
    hg_event_error error;
    hg_json_error json;
    /// The attribute at fault, or empty.
    const char *name;
    size_t name_length;
    /// The lines before the error, or all.
    const hg_line *lines;
    size_t line_count;
    /// Where the next line would begin.
    size_t end;
} hg_scan_result;

/// A scanner and its buffers. Belongs to one thread.
typedef struct hg_scanner hg_scanner;

hg_scanner *hg_scanner_create(size_t max_nesting);
void hg_scanner_destroy(hg_scanner *scanner);

/// Checks the events in `base[start ..< start + length]` and rewrites them in place: one a line, from `start`
/// on.
///
/// One byte after them is written to (a line feed), and 64 after that are read. `limits->max_events` is what
/// this frame may have.
void hg_scanner_scan(
    hg_scanner *scanner, uint8_t *base, size_t start, size_t length, const hg_scan_limits *limits,
    hg_scan_result *result);

/// Finds lines and types in events that were scanned before: every line feed ends a line, a blank one has no
/// type. 64 bytes after them are read.
void hg_scanner_rescan(hg_scanner *scanner, uint8_t *base, size_t length, hg_scan_result *result);

/// The types with escapes of the last frame, unescaped: the `index`th of them, and its line within the frame.
/// False past the last.
int hg_scanner_escaped(
    const hg_scanner *scanner, size_t index, size_t *line, const char **type, size_t *type_length);

#ifdef __cplusplus
}
#endif
