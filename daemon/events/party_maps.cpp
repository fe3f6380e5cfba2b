#include "daemon/events/party_maps.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

template <typename Key>
std::vector<Key> keys_of(int map) {
    std::vector<Key> keys;
    Key key{}, next{};
    for (const Key* at = nullptr; bpf_map_get_next_key(map, at, &next) == 0; at = &key) {
        keys.push_back(next);
        key = next;
        if (keys.size() >= 2 * 2048) break;  // entries that come and go could make it loop forever
    }
    return keys;
}

std::vector<lagtrap_hitter> limited_of(int map, std::uint32_t event) {
    auto parties = keys_of<lagtrap_hitter>(map);
    std::erase_if(parties, [&](const lagtrap_hitter& party) { return party.event != event; });
    return parties;
}

}  // namespace

std::map<std::uint32_t, HitParties> PartyMaps::take() const {
    std::map<std::uint32_t, HitParties> result;
    const auto take_from = [&](int map, auto member) {
        for (const lagtrap_hitter& who : keys_of<lagtrap_hitter>(map)) {
            lagtrap_hits hits{};
            if (bpf_map_lookup_elem(map, &who, &hits) != 0) continue;
            (void)bpf_map_delete_elem(map, &who);
            (result[who.event].*member).push_back({{who.party, who.pid}, hits.paired, hits.passed});
        }
    };
    take_from(maps_.parties, &HitParties::users);
    take_from(maps_.processes, &HitParties::processes);
    return result;
}

Status PartyMaps::limit(std::uint32_t event, const HitParty& who, bool wanted) const {
    const lagtrap_hitter party{event, who.party, who.pid};
    const std::uint32_t yes = 1;
    const int failed = wanted ? bpf_map_update_elem(maps_.limited, &party, &yes, BPF_ANY)
                              : bpf_map_delete_elem(maps_.limited, &party);
    if (failed != 0 && failed != -ENOENT) return libbpf_error("limit paired hits", failed);
    return success();
}

bool PartyMaps::limits(std::uint32_t event) const {
    return !limited_of(maps_.limited, event).empty();
}

void PartyMaps::release_all(std::uint32_t event) const {
    for (const lagtrap_hitter& party : limited_of(maps_.limited, event))
        (void)bpf_map_delete_elem(maps_.limited, &party);
}

void PartyMaps::set_without_recordings(const std::set<Party>& parties) const {
    const int map = maps_.without_recordings;
    for (const Party party : keys_of<Party>(map))
        if (!parties.contains(party)) (void)bpf_map_delete_elem(map, &party);
    const std::uint32_t yes = 1;
    for (const Party party : parties) (void)bpf_map_update_elem(map, &party, &yes, BPF_ANY);
}

}  // namespace lagtrap::daemon
