#include "daemon/events/event_copies.hpp"

#include <algorithm>

#include "settings/program_name.hpp"

namespace lagtrap::daemon {

std::vector<std::string> names_of(const settings::Event& event) {
    std::vector<std::string> names{event.begin.binary, event.end.binary};
    for (const auto& stage : event.stages) names.push_back(stage.marker.binary);
    std::erase(names, std::string());
    return names;
}

bool is_named_like(std::string_view path, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return settings::file_name_of(name) == settings::file_name_of(path);
    });
}

}  // namespace lagtrap::daemon
