// A settings file as elements and values that follow the vocabulary in settings/schema.hpp, with
// their places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/diagnostics.hpp"
#include "settings/place.hpp"
#include "settings/schema.hpp"

namespace lagtrap::settings {

struct Attribute {
    const AttributeSpec* spec = nullptr;
    std::string text;
    std::uint64_t number = 0;  // nanoseconds, bytes, millionths or count, depending on the kind
    Place place;               // the element's place if it is a default
    bool given = false;        // written in the file; false: the default
    bool valid = false;        // false: an error was reported, and `number` is 0
};

struct Element {
    const ElementSpec* spec = nullptr;
    Place place;
    std::vector<Attribute> attributes;  // those given, and those with defaults
    std::vector<Element> children;

    // nullptr if it is not given and has no default.
    [[nodiscard]] const Attribute* attribute(std::string_view name) const;
    // The attribute's text; empty if attribute() returns nullptr.
    [[nodiscard]] std::string_view text_of(std::string_view name) const;
    [[nodiscard]] std::uint64_t number_of(std::string_view name) const;
    [[nodiscard]] std::vector<const Element*> children_of(std::string_view name) const;
    // The first child with this name; nullptr if there is none.
    [[nodiscard]] const Element* child(std::string_view name) const;
};

// Returns the outermost element with everything that could be read, or nullopt if the text is not
// XML or its outermost element is not `outermost`. Adds every deviation from the vocabulary to
// `diagnostics`.
[[nodiscard]] std::optional<Element> read_document(const LineIndex& index, Diagnostics& diagnostics,
                                                   const ElementSpec& outermost = root_element());

}  // namespace lagtrap::settings
