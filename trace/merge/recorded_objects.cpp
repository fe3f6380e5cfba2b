#include "trace/merge/recorded_objects.hpp"

#include <utility>

#include <fmt/core.h>

#include "core/text.hpp"
#include "trace/logs/lines_file.hpp"

namespace lagtrap::trace {
namespace {

// Kept in the system file: calls of the longest trees, and total bytes of the lines.
constexpr std::size_t object_calls_kept = 300;
constexpr std::size_t object_bytes_kept = 512 << 10;

// Returns false if the line is malformed; then ignore the rest.
bool take(const std::string& line, RecordedObjects& all) {
    auto reply = calls::parse_objects_reply(line);
    const Status added = reply ? all.summary.add(std::move(*reply)) : Status(reply.error());
    if (!added) all.problem = added.error().message;
    return added.ok();
}

}  // namespace

RecordedObjects read_recorded_objects(const std::filesystem::path& capture) {
    RecordedObjects all;
    const Status read = read_lines(capture, objects_lines,
                                   [&](const std::string& line) { return take(line, all); });
    if (!read && read.error().kind != ErrorKind::NotFound) all.problem = read.error().message;
    if (all.summary.has_begun() && !all.summary.ended() && all.problem.empty())
        all.problem = "lagtrapd exited before it reported the counts";
    return all;
}

RecordedObjects objects_of(const SystemFile& file) {
    RecordedObjects all;
    for (const std::string& line : file.objects)
        if (!take(line, all)) break;
    return all;
}

boost::json::value objects_json(const SystemFile& file, std::uint32_t pid, std::size_t rows_limit) {
    const RecordedObjects all = objects_of(file);
    if (!all.summary.has_begun() || all.summary.started().pid != pid) return nullptr;
    return all.summary.to_json(rows_limit);
}

// Only in the system file, and limited, because names of many C++ classes would fill it.
void report_objects(const std::filesystem::path& directory, SystemFile& file) {
    const RecordedObjects all = read_recorded_objects(directory);
    std::size_t bytes = 0;
    for (std::string& line : all.summary.lines(object_calls_kept)) {
        bytes += line.size();
        file.objects.push_back(std::move(line));
    }
    std::string problem = all.problem;
    if (bytes > object_bytes_kept) {
        file.objects.clear();
        problem = "their names are too large; use fewer classes, or --exclude";
    }
    if (problem.empty() || file.quality.omitted.size() >= omitted_limit) return;
    file.quality.omitted.push_back(
        printable(fmt::format("objects were not followed: {}", problem)));
}

}  // namespace lagtrap::trace
