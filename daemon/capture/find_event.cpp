#include "daemon/capture/find_event.hpp"

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::daemon {

Result<std::uint32_t> find_event(const std::vector<settings::Event>& events,
                                 const std::string& name) {
    std::vector<std::string> names;
    for (std::uint32_t number = 0; number < events.size(); ++number) {
        if (events[number].name == name) return number;
        names.push_back(events[number].name);
    }
    const std::string nearest = nearest_name(name, names);
    return make_error(ErrorKind::NotFound,
                      fmt::format("the settings have no event \"{}\"{}", printable(name),
                                  nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

}  // namespace lagtrap::daemon
