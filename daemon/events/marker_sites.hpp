// What the listener's programs are told of a place beside its marker: entries of a map of theirs, whose number is in the
// probe's cookie.
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

// An event's markers in one file: those it was armed with are number 0, in each further copy of a file they have their own.
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

    // The number of an entry with this content, new in `map` if there is none like it.
    // ErrorKind::TooLarge: all are taken.
    [[nodiscard]] Result<std::uint32_t> take(int map, SiteOwner owner, const Site& site) {
        const auto like_it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
            return !entry.owners.empty() && std::memcmp(&entry.site, &site, sizeof(site)) == 0;
        });
        if (like_it != entries_.end()) {
            like_it->owners.insert(owner);
            return static_cast<std::uint32_t>(like_it - entries_.begin());
        }
        const auto free =
            std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.owners.empty(); });
        const auto number = static_cast<std::uint32_t>(free - entries_.begin());
        if (number >= limit_)
            return make_error(ErrorKind::TooLarge, what_ + " of more than " + std::to_string(limit_) + " kinds");
        if (bpf_map_update_elem(map, &number, &site, BPF_ANY) != 0) return system_error("register " + what_);
        if (free == entries_.end()) entries_.emplace_back();
        entries_[number] = {{owner}, site};
        return number;
    }

    // All that the markers in this file have; they are met no more.
    void give_back(SiteOwner owner) {
        for (Entry& entry : entries_) entry.owners.erase(owner);
    }
    // The same, in all files.
    void give_back_all(std::uint32_t event) {
        for (Entry& entry : entries_)
            std::erase_if(entry.owners, [&](const auto& owner) { return owner.event == event; });
    }

  private:
    struct Entry {
        std::set<SiteOwner> owners;  // none: it is free
        Site site{};
    };
    std::uint32_t limit_;
    std::string what_;
    std::vector<Entry> entries_;
};

}  // namespace lagtrap::daemon
