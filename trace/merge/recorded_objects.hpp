// Reads a recording's object trace: objects.jsonl in the capture, which the daemon wrote, or its
// shorter copy in the system file. calls/object_stream.hpp defines the lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/json/value.hpp>

#include "calls/object_summary.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

struct RecordedObjects {
    calls::ObjectsSummary summary;  // has_begun() is false if objects were not traced
    std::string problem;            // why it is missing, entirely or from some line on
};

// Never fails; read errors are reported as the problem.
[[nodiscard]] RecordedObjects read_recorded_objects(const std::filesystem::path& capture);
// Reads the copy in a system file.
[[nodiscard]] RecordedObjects objects_of(const SystemFile& file);
// The object trace of process `pid` from a bundle's system file, as ObjectsSummary::to_json(); null
// if there is none.
[[nodiscard]] boost::json::value objects_json(const SystemFile& file, std::uint32_t pid,
                                              std::size_t rows_limit);

// Adds the object trace to the system file if it fits; otherwise the recording quality says why it
// is missing.
void report_objects(const std::filesystem::path& directory, SystemFile& file);

}  // namespace lagtrap::trace
