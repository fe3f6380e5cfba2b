// The delays of a bundle as spans for an OpenTelemetry collector, made by `lagtrap export`: a program of its own reads the
// recording, as it does for people.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::uploader {

// The body of a request of OTLP over HTTP, 16 MiB at most. `keep_going` is asked ten times a second; false kills the program, as
// two minutes do. `program`: path of lagtrap. Errors: the bundle cannot be read (with what the program said), ErrorKind::Timeout
// where time or `keep_going` ended it.
[[nodiscard]] Result<std::string> make_spans(const std::string& program, const std::filesystem::path& bundle,
                                             const std::function<bool()>& keep_going);

}  // namespace lagtrap::uploader
