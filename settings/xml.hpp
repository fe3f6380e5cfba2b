// The XML layer of settings files: what is a text that we read at all, and where its tags and attributes stand.
// pugixml builds the tree; what it lets pass (bad UTF-8, DTDs, unknown references, text beside the outermost
// element) is refused here.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "settings/diagnostics.hpp"
#include "settings/place.hpp"

namespace lagtrap::settings {

// An attribute as it stands in the text, references not yet replaced.
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

// The start tag whose '<' stands at `offset`; nothing where it is malformed.
[[nodiscard]] std::optional<RawTag> scan_start_tag(std::string_view text, std::size_t offset);

// `text` without a UTF-8 byte order mark.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

// Parses `index.text()` into `document`. False where the text is not well-formed, or holds what settings never
// need: other encodings, NUL and other control characters, a DTD, processing instructions, deep nesting. The
// reasons are then in `diagnostics`. The node offsets of `document` are offsets of the text.
[[nodiscard]] bool parse_xml(const LineIndex& index, pugi::xml_document& document, Diagnostics& diagnostics);

}  // namespace lagtrap::settings
