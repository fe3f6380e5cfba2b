// Converts a bundle's delays to spans for an OpenTelemetry collector. `lagtrap export` reads the
// recording in a separate process, as it does for users.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::uploader {

// Returns the body of an OTLP/HTTP request, at most 16 MiB. Calls `keep_going` ten times a second
// and kills the program if it returns false, or after two minutes. `program` is the path of
// lagtrap. Errors: the bundle cannot be read (with the program's message); ErrorKind::Timeout if
// time or `keep_going` ended it.
[[nodiscard]] Result<std::string> make_spans(const std::string& program,
                                             const std::filesystem::path& bundle,
                                             const std::function<bool()>& keep_going);

}  // namespace lagtrap::uploader
