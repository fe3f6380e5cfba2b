// Parses what lagtrap-merge reports about the bundle that it made.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct MergedBundle {
    std::string path;
    std::string digest;  // SHA-256, 64 hexadecimal digits
};

// The beginning of a program's output as one printable line, for a sentence.
[[nodiscard]] std::string shown_output(std::string_view text);

// Parses the output of a successful merge. Its last line is a JSON object with the bundle's path,
// which must be a spool entry in `output`, and its digest. The text is not trusted.
// ErrorKind::Invalid if it is anything else; the message shows the text.
[[nodiscard]] Result<MergedBundle> parse_merge_answer(std::string_view text,
                                                      const std::filesystem::path& output);

}  // namespace lagtrap::daemon
