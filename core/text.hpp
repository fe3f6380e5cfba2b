// Text from elsewhere (names of processes, files, functions) made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap {

// Valid UTF-8 without control characters: each control character, and each byte that is not valid UTF-8,
// becomes \xHH. What a process calls itself cannot steer a terminal or break an XML or JSON file.
[[nodiscard]] std::string printable(std::string_view raw);

// Without the characters of `blanks` at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

// The name in `known` nearest to `wrong` by edit distance, if it is near enough to be a slip; else empty.
template <typename Names>
[[nodiscard]] std::string nearest_name(std::string_view wrong, const Names& known);

// Two lower-case digits for each byte.
[[nodiscard]] std::string hexadecimal(std::string_view bytes);

// Insertions, deletions and replacements that turn one into the other.
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
