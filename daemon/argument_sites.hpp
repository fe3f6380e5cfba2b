// Where the sites of USDT probes have the arguments that are wanted of them: entries of a map of the listener's programs.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/usdt_arguments.hpp"
#include "bpf/listener.h"
#include "core/result.hpp"

namespace lagtrap::daemon {

// Of an argument that can be read.
[[nodiscard]] lagtrap_argument argument_at(const binaries::UsdtArgument& argument);

class ArgumentSites {
  public:
    // The number of an entry with this content, new in `map` if the event has none like it.
    // ErrorKind::TooLarge: all LAGTRAP_MAX_SITES are taken.
    [[nodiscard]] Result<std::uint32_t> take(int map, std::uint32_t event, const lagtrap_site& site);
    // All of an event's entries; its markers are met no more.
    void give_back(std::uint32_t event);

  private:
    struct Entry {
        bool taken = false;
        std::uint32_t event = 0;
        lagtrap_site site{};
    };
    std::vector<Entry> entries_;
};

}  // namespace lagtrap::daemon
