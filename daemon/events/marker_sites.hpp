// Details about probe addresses for the event monitor's programs: entries of a BPF map. The probe's
// cookie has the number of the entry.
#pragma once

#include <bpf/bpf.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

// An event's markers in one file: copy 0 is what it was armed with; each further copy has its own
// number.
struct SiteOwner {
    std::uint32_t event = 0;
    std::uint32_t copy = 0;
    auto operator<=>(const SiteOwner&) const = default;
};

template <typename Site>
class MarkerSites {
  public:
    static_assert(std::has_unique_object_representations_v<Site>, "compared byte by byte");
    MarkerSites(std::uint32_t limit, std::string what) : limit_(limit), what_(std::move(what)) {}

    // Returns the number of an entry with this content; creates it in `map` if there is none.
    // ErrorKind::TooLarge: the map is full.
    [[nodiscard]] Result<std::uint32_t> take(int map, SiteOwner owner, const Site& site) {
        const auto like_it =
            std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
                return !entry.owners.empty() && std::memcmp(&entry.site, &site, sizeof(site)) == 0;
            });
        if (like_it != entries_.end()) {
            like_it->owners.insert(owner);
            return static_cast<std::uint32_t>(like_it - entries_.begin());
        }
        const auto free = std::find_if(entries_.begin(), entries_.end(),
                                       [](const Entry& entry) { return entry.owners.empty(); });
        const auto number = static_cast<std::uint32_t>(free - entries_.begin());
        if (number >= limit_)
            return make_error(ErrorKind::TooLarge,
                              what_ + " of more than " + std::to_string(limit_) + " kinds");
        if (bpf_map_update_elem(map, &number, &site, BPF_ANY) != 0)
            return system_error("register " + what_);
        if (free == entries_.end()) entries_.emplace_back();
        entries_[number] = {{owner}, site};
        return number;
    }

    // Releases all entries of the markers in this file. They must be detached.
    void give_back(SiteOwner owner) {
        for (Entry& entry : entries_) entry.owners.erase(owner);
    }
    // Like give_back(), for all files.
    void give_back_all(std::uint32_t event) {
        for (Entry& entry : entries_)
            std::erase_if(entry.owners, [&](const auto& owner) { return owner.event == event; });
    }

  private:
    struct Entry {
        std::set<SiteOwner> owners;  // empty: the entry is free
        Site site{};
    };
    std::uint32_t limit_;
    std::string what_;
    std::vector<Entry> entries_;
};

}  // namespace lagtrap::daemon
