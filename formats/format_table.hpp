// The table of formats in which recordings are exported. Help, completion, manual, server and pages
// are generated from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

struct Format {
    std::string_view name;        // argument of `--format`
    std::string_view suffix;      // of a file name, without the leading dot
    std::string_view media_type;  // for HTTP
    std::string_view title;       // for a page
    std::string_view use;         // purpose, as a phrase
    // The default choice.
    TimeChoice time = TimeChoice::All;
    std::string (*encode)(const StackProfile& profile) = nullptr;
    bool binary = false;
    // Encodes whole delays; set instead of `encode`. If both are null, the format is a file of the
    // recording itself, and nothing can be selected from it.
    Result<std::string> (*encode_delays)(const analysis::Recording& recording,
                                         std::optional<std::size_t> delay) = nullptr;
};

[[nodiscard]] std::span<const Format> formats();

// Returns nullptr if there is no format of this name.
[[nodiscard]] const Format* find_format(std::string_view name);

// Returns "all", "on-cpu" or "off-cpu".
[[nodiscard]] std::string_view word_of(TimeChoice time);

[[nodiscard]] std::optional<TimeChoice> time_of_word(std::string_view word);

// One line per format: name, then use.
[[nodiscard]] std::string list_formats();

// The same as an mdoc(7) list, for the manual.
[[nodiscard]] std::string manual_of_formats();

}  // namespace lagtrap::formats
