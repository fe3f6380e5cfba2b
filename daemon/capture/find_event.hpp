// The event that a client names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Its place in `events`. ErrorKind::NotFound, with the nearest name: there is no such event.
[[nodiscard]] Result<std::uint32_t> find_event(const std::vector<settings::Event>& events,
                                               const std::string& name);

}  // namespace lagtrap::daemon
