// A settings file as elements and values that follow the vocabulary of settings/schema.hpp, with their places.
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
    std::uint64_t number = 0;  // nanoseconds, bytes or count, by the kind
    Place place;               // of the element where it is a default
    bool given = false;        // stands in the file; else it is the default
    bool valid = false;        // false: reported, `number` is 0
};

struct Element {
    const ElementSpec* spec = nullptr;
    Place place;
    std::vector<Attribute> attributes;  // those given, and those with a default
    std::vector<Element> children;

    // nullptr where it is neither given nor has a default.
    [[nodiscard]] const Attribute* attribute(std::string_view name) const;
    // The text of an attribute, empty where attribute() has none.
    [[nodiscard]] std::string_view text_of(std::string_view name) const;
    [[nodiscard]] std::uint64_t number_of(std::string_view name) const;
    [[nodiscard]] std::vector<const Element*> children_of(std::string_view name) const;
    // The first child of this name, or nullptr.
    [[nodiscard]] const Element* child(std::string_view name) const;
};

// The outermost element with all that could be read of it; nothing where the text is not XML, or begins with another
// element than `outermost`. Every deviation from the vocabulary is in `diagnostics`.
[[nodiscard]] std::optional<Element> read_document(const LineIndex& index, Diagnostics& diagnostics,
                                                   const ElementSpec& outermost = root_element());

}  // namespace lagtrap::settings
