#include "daemon/events/tracepoint_programs.hpp"

#include <map>
#include <string>
#include <utility>

namespace lagtrap::daemon {

std::vector<std::size_t> tracepoint_programs_of(
    const std::vector<const settings::Marker*>& markers) {
    std::map<std::pair<std::string, std::string>, std::size_t> used;
    std::vector<std::size_t> programs;
    for (const settings::Marker* marker : markers) {
        const bool on_tracepoint = marker->kind == settings::MarkerKind::Tracepoint;
        programs.push_back(on_tracepoint ? used[{marker->provider, marker->name}]++ : 0);
    }
    return programs;
}

}  // namespace lagtrap::daemon
