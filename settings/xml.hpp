// The XML layer of settings files: which texts are accepted, and where tags and attributes are.
// pugixml builds the tree; this layer refuses what pugixml lets pass: bad UTF-8, DTDs, unknown
// references, text outside the outermost element.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "settings/diagnostics.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// An attribute as written; references are not yet replaced.
struct RawAttribute {
    std::size_t offset = 0;  // of its name
    std::string_view name;
    std::string_view value;
};

struct RawTag {
    std::size_t end = 0;  // offset after its '>'
    std::string_view name;
    std::vector<RawAttribute> attributes;
    bool closes_itself = false;
};

// The start tag whose '<' is at `offset`; nullopt if it is malformed.
[[nodiscard]] std::optional<RawTag> scan_start_tag(std::string_view text, std::size_t offset);

// `text` without a UTF-8 byte order mark.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

// Parses `index.text()` into `document`. False, with the reasons in `diagnostics`, if the text is
// not well-formed or contains what settings do not need: other encodings, NUL and other control
// characters, a DTD, processing instructions, deep nesting. Node offsets of `document` are offsets
// into the text.
[[nodiscard]] bool parse_xml(const LineIndex& index, pugi::xml_document& document,
                             Diagnostics& diagnostics);

}  // namespace lagtrap::settings
