// All that touches simdjson: no exception and no C++ type leaves through the C face.
#include "CSimdJSON.h"
#include "attributes.hpp"
#include "reader.hpp"
#include "text.hpp"

#include <memory>
#include <new>
#include <string>
#include <vector>

using simdjson::SIMDJSON_PADDING;

struct hg_json {
    Reader reader;
    std::unique_ptr<uint8_t[]> copy;
    size_t copy_capacity = 0;

    explicit hg_json(size_t max_nesting) : reader(max_nesting) {}
};

hg_json *hg_json_create(size_t max_nesting) { return new (std::nothrow) hg_json(max_nesting); }

void hg_json_destroy(hg_json *json) { delete json; }

hg_json_error hg_json_parse(hg_json *json, const uint8_t *bytes, size_t length, hg_json_tape *tape) {
    if (length == 0) return HG_JSON_EMPTY;
    if (json->copy_capacity < length) {
        size_t capacity = 4096;
        while (capacity < length) capacity *= 2;
        json->copy.reset(new (std::nothrow) uint8_t[capacity + SIMDJSON_PADDING]);
        json->copy_capacity = json->copy ? capacity : 0;
        if (!json->copy) return HG_JSON_MEMORY;
    }
    std::memcpy(json->copy.get(), bytes, length);
    std::memset(json->copy.get() + length, ' ', SIMDJSON_PADDING);
    hg_json_error error = json->reader.parse(json->copy.get(), length);
    if (error) return error;
    tape->words = json->reader.document().tape.get();
    tape->strings = json->reader.document().string_buf.get();
    return HG_JSON_OK;
}

namespace {

using std::string_view;

struct Fault {
    hg_event_error error = HG_EVENT_OK;
    hg_json_error json = HG_JSON_OK;
    string_view name = {};
    explicit operator bool() const { return error != HG_EVENT_OK; }
};

/// What CloudEvents gives a meaning to; anything else is an extension.
enum Attribute : unsigned {
    spec_version = 1, id = 2, source = 4, type = 8, time_ = 16, subject = 32, data = 64, data_base64 = 128,
    data_schema = 256, data_content_type = 512, extension = 1024,
};

Attribute attribute(string_view name) {
    switch (name.size()) {
    case 2: return name == "id" ? id : extension;
    case 4: return name == "type" ? type : name == "data" ? data : name == "time" ? time_ : extension;
    case 6: return name == "source" ? source : extension;
    case 7: return name == "subject" ? subject : extension;
    case 10: return name == "dataschema" ? data_schema : extension;
    case 11: return name == "specversion" ? spec_version : name == "data_base64" ? data_base64 : extension;
    case 15: return name == "datacontenttype" ? data_content_type : extension;
    default: return extension;
    }
}

hg_event_error check_string(Attribute attribute, string_view text) {
    if (attribute == data_base64) return attributes::is_base64(text) ? HG_EVENT_OK : HG_EVENT_BAD_BASE64;
    if (attribute != extension && text.empty()) return HG_EVENT_EMPTY_STRING;
    if (!attributes::is_string(text)) return HG_EVENT_BAD_CHARACTER;
    switch (attribute) {
    case spec_version: return text == "1.0" ? HG_EVENT_OK : HG_EVENT_SPECVERSION;
    case source: return attributes::is_uri_reference(text) ? HG_EVENT_OK : HG_EVENT_BAD_REFERENCE;
    case time_: return attributes::is_time(text) ? HG_EVENT_OK : HG_EVENT_BAD_TIME;
    case data_schema: return attributes::is_absolute_uri(text) ? HG_EVENT_OK : HG_EVENT_BAD_URI;
    case data_content_type: return attributes::is_media_type(text) ? HG_EVENT_OK : HG_EVENT_BAD_MEDIA_TYPE;
    default: return HG_EVENT_OK;
    }
}

hg_event_error check_value(Attribute attribute, simdjson::dom::element value, string_view &text) {
    if (attribute == data) return HG_EVENT_OK;
    if (value.get(text) == simdjson::SUCCESS) return check_string(attribute, text);
    if (attribute != extension) return HG_EVENT_NOT_STRING;
    int64_t number = 0;
    if (value.is_bool()) return HG_EVENT_OK;
    bool is_int32 = value.get(number) == simdjson::SUCCESS && number >= INT32_MIN && number <= INT32_MAX;
    return is_int32 ? HG_EVENT_OK : HG_EVENT_BAD_VALUE;
}

} // namespace

struct hg_scanner {
    Reader reader;
    hg_scan_limits limits{};
    std::vector<hg_line> lines;
    std::vector<std::pair<size_t, std::string>> escaped;
    std::vector<string_view> extensions;
    std::vector<uint8_t> scratch;

    explicit hg_scanner(size_t max_nesting) : reader(max_nesting) {}

    Fault scan(uint8_t *base, Span frame, uint8_t *&out);
    Fault rescan(uint8_t *base, Span text);

private:
    /// What the last text was read from: itself, or a copy.
    const uint8_t *read_from = nullptr;

    hg_json_error parse(Span text);
    Fault find_event(Span line, uint8_t *end, Span &event);
    Fault check_event(Span event, hg_line &line);
    Fault check_extensions();
    void locate_type(Span event, size_t structural, string_view type, hg_line &line);
    size_t after_value(size_t structural) const;
};

hg_json_error hg_scanner::parse(Span text) {
    read_from = text.begin;
    hg_json_error error = reader.parse(text.begin, text.size());
    if (error != HG_JSON_NUMBER) return error;
    // simdjson takes no number that 64 bits don't hold; an event's data may well have one.
    scratch.assign(text.begin, text.end);
    scratch.resize(text.size() + SIMDJSON_PADDING, ' ');
    shorten_numbers({scratch.data(), scratch.data() + text.size()});
    read_from = scratch.data();
    return reader.parse(scratch.data(), text.size());
}

/// Finds and reads the event that begins with `line`, whose text may go on to `end`.
Fault hg_scanner::find_event(Span line, uint8_t *end, Span &event) {
    if (*line.begin != '{') return {HG_EVENT_NOT_OBJECT};
    event = line;
    hg_json_error error = HG_JSON_SYNTAX;
    bool fits = line.size() <= limits.max_event_bytes;
    bool whole = line.end[-1] == '}' && fits;
    if (whole && (error = parse(line)) == HG_JSON_OK) return {};

    uint8_t *close = closing(line.begin, end);
    if (!close) return {fits ? HG_EVENT_JSON : HG_EVENT_TOO_LARGE, error};
    event.end = close;
    if (event.size() > limits.max_event_bytes) return {HG_EVENT_TOO_LARGE};
    if (whole && close == line.end) return {HG_EVENT_JSON, error};
    if ((error = parse(event))) return {HG_EVENT_JSON, error};
    if (!trimmed({close, line_end(close, end)}).empty()) return {HG_EVENT_TRAILING};
    return {};
}

Fault hg_scanner::check_event(Span event, hg_line &line) {
    unsigned seen = 0, present = 0;
    size_t structural = 1;
    extensions.clear();
    simdjson::dom::object object;
    if (reader.document().root().get(object)) return {HG_EVENT_NOT_OBJECT};
    for (auto [name, value] : object) {
        Attribute which = attribute(name);
        if (which == extension) {
            if (!attributes::is_name(name)) return {HG_EVENT_BAD_NAME, HG_JSON_OK, name};
            extensions.push_back(name);
        } else if (seen & which) {
            return {HG_EVENT_REPEATED, HG_JSON_OK, name};
        }
        if (!value.is_null()) {
            string_view text;
            if (hg_event_error error = check_value(which, value, text)) return {error, HG_JSON_OK, name};
            if (which == type) {
                if (text.size() > limits.max_type_bytes) return {HG_EVENT_TYPE_TOO_LONG, HG_JSON_OK, name};
                locate_type(event, structural + 2, text, line);
            }
            present |= which;
        }
        seen |= which;
        if (!(seen & type)) structural = after_value(structural + 2) + 1;
    }
    if (!(present & spec_version)) return {HG_EVENT_MISSING, HG_JSON_OK, "specversion"};
    if (!(present & id)) return {HG_EVENT_MISSING, HG_JSON_OK, "id"};
    if (!(present & source)) return {HG_EVENT_MISSING, HG_JSON_OK, "source"};
    if (!(present & type)) return {HG_EVENT_MISSING, HG_JSON_OK, "type"};
    if ((present & data) && (present & data_base64)) return {HG_EVENT_DATA_TWICE};
    return extensions.size() > 1 ? check_extensions() : Fault{};
}

Fault hg_scanner::check_extensions() {
    std::sort(extensions.begin(), extensions.end());
    auto twice = std::adjacent_find(extensions.begin(), extensions.end());
    if (twice != extensions.end()) return {HG_EVENT_REPEATED, HG_JSON_OK, *twice};
    return {};
}

/// The structural after the value that begins at `structural`: a comma, or the end of what the value stands
/// in.
size_t hg_scanner::after_value(size_t structural) const {
    size_t depth = 0;
    do {
        uint8_t byte = read_from[reader.structurals()[structural++]];
        if (byte == '{' || byte == '[') depth++;
        if (byte == '}' || byte == ']') depth--;
    } while (depth > 0);
    return structural;
}

void hg_scanner::locate_type(Span event, size_t structural, string_view type, hg_line &line) {
    size_t offset = reader.structurals()[structural] + 1;
    const uint8_t *raw = event.begin + offset;
    // With an escape in it, what is written is longer than what is meant.
    if (std::memcmp(raw, type.data(), type.size()) == 0 && raw[type.size()] == '"') {
        line.type_offset = uint32_t(offset);
        line.type_length = uint32_t(type.size());
    } else {
        escaped.emplace_back(lines.size(), std::string(type));
    }
}

Fault hg_scanner::scan(uint8_t *base, Span frame, uint8_t *&out) {
    if (frame.size() >= 3 && std::memcmp(frame.begin, "\xEF\xBB\xBF", 3) == 0)
        return {HG_EVENT_BYTE_ORDER_MARK};
    bool has_returns = std::memchr(frame.begin, '\r', frame.size()) != nullptr;
    for (uint8_t *at = frame.begin; at < frame.end;) {
        Span line = trimmed({at, line_end(at, frame.end)});
        if (line.empty()) {
            at = line_end(line.end, frame.end) + 1;
            continue;
        }
        if (lines.size() == limits.max_events) return {HG_EVENT_TOO_MANY};
        Span event;
        hg_line found{};
        if (Fault fault = find_event(line, frame.end, event)) return fault;
        if (Fault fault = check_event(event, found)) return fault;
        at = line_end(event.end, frame.end) + 1;
        if (has_returns || event.end > line.end) {
            // Within strings these would have been refused.
            for (uint8_t *c = event.begin; c < event.end; c++)
                if (*c == '\r' || *c == '\n') *c = ' ';
        }
        if (out != event.begin) std::memmove(out, event.begin, event.size());
        found.offset = uint32_t(out - base);
        found.length = uint32_t(event.size());
        if (found.type_length) found.type_offset += found.offset;
        lines.push_back(found);
        out += event.size();
        *out++ = '\n';
    }
    return {};
}

Fault hg_scanner::rescan(uint8_t *base, Span text) {
    for (uint8_t *at = text.begin; at < text.end;) {
        Span line{at, line_end(at, text.end)};
        hg_line found{uint32_t(line.begin - base), uint32_t(line.size()), 0, 0};
        at = line.end + 1;
        // An erased event is a line of spaces.
        if (*line.begin == '{') {
            if (hg_json_error error = parse(line)) return {HG_EVENT_JSON, error};
            if (Fault fault = check_event(line, found)) return fault;
            if (found.type_length) found.type_offset += found.offset;
        } else if (!trimmed(line).empty()) {
            return {HG_EVENT_NOT_OBJECT};
        }
        lines.push_back(found);
    }
    return {};
}

namespace {

template <typename Body> void run(hg_scanner *scanner, hg_scan_result *result, Body body) {
    Fault fault;
    scanner->lines.clear();
    scanner->escaped.clear();
    try {
        fault = body();
    } catch (const std::bad_alloc &) {
        fault = {HG_EVENT_MEMORY};
    }
    result->error = fault.error;
    result->json = fault.json;
    result->name = fault.name.data();
    result->name_length = fault.name.size();
    result->lines = scanner->lines.data();
    result->line_count = scanner->lines.size();
}

} // namespace

hg_scanner *hg_scanner_create(size_t max_nesting) { return new (std::nothrow) hg_scanner(max_nesting); }

void hg_scanner_destroy(hg_scanner *scanner) { delete scanner; }

void hg_scanner_scan(
    hg_scanner *scanner, uint8_t *base, size_t start, size_t length, const hg_scan_limits *limits,
    hg_scan_result *result) {
    scanner->limits = *limits;
    uint8_t *out = base + start;
    run(scanner, result, [&] { return scanner->scan(base, {base + start, base + start + length}, out); });
    result->end = size_t(out - base);
}

void hg_scanner_rescan(hg_scanner *scanner, uint8_t *base, size_t length, hg_scan_result *result) {
    scanner->limits = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    run(scanner, result, [&] { return scanner->rescan(base, {base, base + length}); });
    result->end = length;
}

int hg_scanner_escaped(
    const hg_scanner *scanner, size_t index, size_t *line, const char **type, size_t *type_length) {
    if (index >= scanner->escaped.size()) return 0;
    const auto &[place, text] = scanner->escaped[index];
    *line = place;
    *type = text.data();
    *type_length = text.size();
    return 1;
}
