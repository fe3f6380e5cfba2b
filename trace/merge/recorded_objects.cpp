#include "trace/merge/recorded_objects.hpp"

#include <utility>

#include "trace/logs/lines_file.hpp"

namespace lagtrap::trace {
namespace {

// False: what follows makes no sense.
bool take(const std::string& line, RecordedObjects& all) {
    auto reply = calls::parse_objects_reply(line);
    const Status added = reply ? all.summary.add(std::move(*reply)) : Status(reply.error());
    if (!added) all.problem = added.error().message;
    return added.ok();
}

}  // namespace

RecordedObjects read_recorded_objects(const std::filesystem::path& capture) {
    RecordedObjects all;
    const Status read = read_lines(capture, objects_lines, [&](const std::string& line) { return take(line, all); });
    if (!read && read.error().kind != ErrorKind::NotFound) all.problem = read.error().message;
    if (all.summary.has_begun() && !all.summary.ended() && all.problem.empty())
        all.problem = "lagtrapd ended before it told the counts";
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

}  // namespace lagtrap::trace
