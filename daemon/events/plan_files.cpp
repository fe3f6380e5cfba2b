#include "daemon/events/plan_files.hpp"

#include <chrono>

#include "core/timed_call.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::chrono::seconds recheck_timeout(2);

}  // namespace

std::string being_written(const std::string& path) {
    return path + " is being written; it will be watched afterwards";
}

std::set<std::string> files_of(const EventPlan& plan) {
    std::set<std::string> paths;
    for (const MarkerPlan& marker : plan.markers)
        if (marker.places.file) paths.insert(marker.places.file->path());
    return paths;
}

Status check_not_written(const WriteGuard& guard, const std::set<std::string>& paths) {
    for (const std::string& path : paths)
        if (guard.written(path)) return make_error(ErrorKind::Busy, being_written(path));
    return success();
}

// A lease protects a file from before it was read.
Status check_unchanged(const WriteGuard& guard, const EventPlan& plan) {
    for (const MarkerPlan& marker : plan.markers) {
        const auto& file = marker.places.file;
        if (!file || guard.holds(file->path())) continue;
        TRY_ASSIGN(const bool unchanged,
                   call_within<bool>(recheck_timeout, file->path(),
                                     [file]() -> Result<bool> { return file->unchanged(); }));
        if (!unchanged)
            return make_error(ErrorKind::Busy, file->path() + " changed while it was read");
    }
    return success();
}

}  // namespace lagtrap::daemon
