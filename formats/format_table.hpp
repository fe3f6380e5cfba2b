// The forms in which a recording leaves lagtrap. One table: help, completion, manual, server and its pages come from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/stack_profile.hpp"

namespace lagtrap::formats {

struct Format {
    std::string_view name;        // as `--format` takes it
    std::string_view suffix;      // of a file, without a dot in front
    std::string_view media_type;  // as HTTP has it
    std::string_view title;       // on a page
    std::string_view use;         // what it is for, a phrase
    // Where nothing else is chosen.
    TimeChoice time = TimeChoice::All;
    std::string (*encode)(const StackProfile& profile) = nullptr;
    bool binary = false;
    // Of whole delays, in the place of `encode`. Neither of both: it is a file of the recording as it is, and nothing can be
    // chosen from it.
    Result<std::string> (*encode_delays)(const analysis::Recording& recording,
                                         std::optional<std::size_t> delay) = nullptr;
};

[[nodiscard]] std::span<const Format> formats();

// nullptr: there is none of this name.
[[nodiscard]] const Format* find_format(std::string_view name);

// "all", "on-cpu" or "off-cpu".
[[nodiscard]] std::string_view word_of(TimeChoice time);

[[nodiscard]] std::optional<TimeChoice> time_of_word(std::string_view word);

// A line for each: name, then use.
[[nodiscard]] std::string list_formats();

// The same as a list of mdoc(7), for the manual.
[[nodiscard]] std::string manual_of_formats();

}  // namespace lagtrap::formats
