// Parts that all writers of track events share.
#pragma once

#include <cstdint>
#include <string>

#include <protozero/pbf_writer.hpp>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace::perfetto {

// Defines a text that events refer to by its number, `id`.
inline void add_interned(protozero::pbf_writer& interned, Field field, std::uint64_t id,
                         const std::string& text) {
    protozero::pbf_writer entry(interned, field);
    entry.add_uint64(interned_string::iid, id);
    entry.add_string(interned_string::text, text);
}

// Adds a number under an interned name.
inline void annotate(protozero::pbf_writer& event, std::uint64_t name, std::uint64_t value) {
    protozero::pbf_writer annotation(event, track_event::debug_annotations);
    annotation.add_uint64(debug_annotation::name_iid, name);
    annotation.add_uint64(debug_annotation::uint_value, value);
}

}  // namespace lagtrap::trace::perfetto
