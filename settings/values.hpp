// Checks one value of a settings file against its specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/schema.hpp"

namespace lagtrap::settings {

// What is wrong with a value: "expected ...", and a hint, which may be empty.
struct ValueProblem {
    std::string allowed;
    std::string hint;
};

// nullopt if `text` is valid for this attribute. Then `number` holds nanoseconds, bytes, millionths
// or the count, depending on the kind. Does not check what depends on other attributes or on the
// machine.
[[nodiscard]] std::optional<ValueProblem> check_value(const AttributeSpec& attribute,
                                                      std::string_view text, std::uint64_t& number);

// The longer side of a range ("4s..20s") that check_value accepted, in nanoseconds; nullopt if it
// is a single duration.
[[nodiscard]] std::optional<std::uint64_t> longest_of_range(std::string_view text);

// N of "argN"; nullopt for other texts and for numbers of more than nine digits.
[[nodiscard]] std::optional<std::uint32_t> argument_number(std::string_view text);

// Splits the text at spaces.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);

}  // namespace lagtrap::settings
