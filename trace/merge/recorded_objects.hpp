// The trace of objects of a recording: objects.jsonl in the capture, as the daemon wrote it, and shorter in the system file. Lines
// are those of calls/object_stream.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/json/value.hpp>

#include "calls/object_summary.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

struct RecordedObjects {
    calls::ObjectsSummary summary;  // it has not begun: there is no trace of objects
    std::string problem;            // why there is none, or none from some line on
};

// Never fails: what cannot be read is the problem.
[[nodiscard]] RecordedObjects read_recorded_objects(const std::filesystem::path& capture);
// The same of a system file.
[[nodiscard]] RecordedObjects objects_of(const SystemFile& file);
// Of the system file of a bundle; null: there is none of this process. As ObjectsSummary::to_json().
[[nodiscard]] boost::json::value objects_json(const SystemFile& file, std::uint32_t pid, std::size_t rows_limit);

// Writes them into the system file, as far as it has room for them; what is missing stands beside what else was given up.
void tell_objects(const std::filesystem::path& directory, SystemFile& file);

}  // namespace lagtrap::trace
