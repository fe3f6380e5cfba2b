// What lagtrap-merge says of the bundle that it made.
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

// How a program's output is put into a sentence: its beginning, printable, in one line.
[[nodiscard]] std::string shown_output(std::string_view text);

// What a merge that ended well has printed: its last line, a JSON object with the bundle's path, which must be an entry of the
// spool in `output`, and its digest. The text is not trusted. ErrorKind::Invalid: anything else, shown so that it can be
// logged.
[[nodiscard]] Result<MergedBundle> parse_merge_answer(std::string_view text, const std::filesystem::path& output);

}  // namespace lagtrap::daemon
