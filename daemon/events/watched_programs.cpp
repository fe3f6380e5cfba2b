#include "daemon/events/watched_programs.hpp"

#include <chrono>

#include "core/timed_call.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto link_timeout = 1s;

}  // namespace

std::set<std::string> watched_programs(const settings::Settings& settings) {
    std::set<std::string> paths;
    for (const settings::Event& event : settings.events) {
        for (const std::string& path : {event.begin.binary, event.end.binary, event.scope.binary})
            paths.insert(path);
        for (const settings::Stage& stage : event.stages) paths.insert(stage.marker.binary);
    }
    paths.erase(std::string());
    return paths;
}

std::set<std::string> programs_to_find(const settings::Settings& settings) {
    std::set<std::string> paths = watched_programs(settings);
    for (const std::string& path : std::set<std::string>(paths)) {
        const auto linked = call_within<std::string>(
            link_timeout, path,
            [path]() -> Result<std::string> { return real_path_on_machine(path).string(); });
        if (linked && !linked->empty()) paths.insert(*linked);
    }
    return paths;
}

}  // namespace lagtrap::daemon
