#include "server/store/object_figures.hpp"

#include <algorithm>
#include <vector>

#include "calls/object_stream.hpp"
#include "server/store/labels.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t figure_limit = INT64_MAX;

std::uint64_t failures_of(const std::vector<calls::ClassCounts>& classes) {
    std::uint64_t failures = 0;
    for (const calls::ClassCounts& one : classes)
        failures += std::min(one.failures, figure_limit - failures);
    return failures;
}

void take_first(const calls::ObjectsStarted& started, ObjectFigures& figures) {
    figures.began_realtime_ns = std::min(started.began_realtime_ns, figure_limit);
    figures.class_count = started.classes.size();
    for (std::size_t at = 0; at < std::min(started.classes.size(), watch_classes_limit); ++at)
        figures.classes += (at == 0 ? "" : "\n") + stored_text(started.classes[at]);
}

}  // namespace

ObjectFigures figures_of_objects(std::string_view lines) {
    ObjectFigures figures;
    for (std::size_t begin = 0; begin < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', begin), lines.size());
        const auto reply =
            calls::parse_objects_reply(std::string(lines.substr(begin, end - begin)));
        begin = end + 1;
        if (!reply) continue;
        if (reply->started) take_first(*reply->started, figures);
        if (reply->calls) figures.calls += reply->calls->size();
        if (reply->counts) figures.failures = failures_of(reply->counts->classes);
        if (reply->ended) {
            figures.failures = failures_of(reply->ended->classes);
            figures.not_reported = std::min(reply->ended->not_sent, figure_limit);
        }
    }
    return figures;
}

}  // namespace lagtrap::server
