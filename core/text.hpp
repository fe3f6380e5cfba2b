// Makes untrusted text (names of processes, files, functions) safe to show; compares and trims
// text.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap {

// Returns valid UTF-8 without control characters: replaces each control character, and each byte
// that is not valid UTF-8, by \xHH. So a process name cannot control a terminal or break an XML or
// JSON file.
[[nodiscard]] std::string printable(std::string_view raw);

// Removes the characters of `blanks` from both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

// The name in `known` with the smallest edit distance to `wrong`; empty if none is close enough to
// be a typo.
template <typename Names>
[[nodiscard]] std::string nearest_name(std::string_view wrong, const Names& known);

// Two lower-case hexadecimal digits per byte.
[[nodiscard]] std::string hexadecimal(std::string_view bytes);

// The number of insertions, deletions and replacements that turn one into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

template <typename Names>
std::string nearest_name(std::string_view wrong, const Names& known) {
    std::string best;
    std::size_t best_distance = wrong.size() / 3 + 2;
    for (const auto& name : known) {
        const std::size_t distance = edit_distance(wrong, name);
        if (distance < best_distance) {
            best_distance = distance;
            best = std::string(name);
        }
    }
    return best;
}

}  // namespace lagtrap
