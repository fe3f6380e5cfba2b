// The cookies of probes at markers, which tell the event monitor's programs what was hit: the
// number of the marker, and where needed that of an entry in a BPF map with more.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/marker_sites.hpp"
#include "daemon/probes/probe_places.hpp"

namespace lagtrap::daemon {

class MarkerCookies {
  public:
    // The programs' maps: where arguments are, and where indirect jumps out of functions go.
    struct Maps {
        int arguments = -1, exits = -1;
    };

    // One cookie for each address. The entries that they need in the maps belong to `owner` until
    // give_back(). Error: a map is full.
    [[nodiscard]] Result<std::vector<std::uint64_t>> take(const Maps& maps, SiteOwner owner,
                                                          std::uint32_t marker_id,
                                                          const ProbePlaces& places);
    // See MarkerSites.
    void give_back(SiteOwner owner);
    void give_back_all(std::uint32_t event);

  private:
    MarkerSites<lagtrap_site> arguments_{LAGTRAP_MAX_SITES, "arguments"};
    MarkerSites<lagtrap_exit_site> exits_{LAGTRAP_MAX_EXIT_SITES, "indirect jumps"};
};

}  // namespace lagtrap::daemon
