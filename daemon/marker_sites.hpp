// What the listener's programs are told of a place beside its marker: entries of a map of theirs, whose number is in the
// probe's cookie.
#pragma once

#include <bpf/bpf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

template <typename Site>
class MarkerSites {
  public:
    static_assert(std::has_unique_object_representations_v<Site>, "compared byte by byte");
    MarkerSites(std::uint32_t limit, std::string what) : limit_(limit), what_(std::move(what)) {}

    // The number of an entry with this content, new in `map` if the event has none like it.
    // ErrorKind::TooLarge: all are taken.
    [[nodiscard]] Result<std::uint32_t> take(int map, std::uint32_t event, const Site& site) {
        const auto like_it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
            return entry.taken && entry.event == event && std::memcmp(&entry.site, &site, sizeof(site)) == 0;
        });
        if (like_it != entries_.end()) return static_cast<std::uint32_t>(like_it - entries_.begin());
        const auto free =
            std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.taken; });
        const auto number = static_cast<std::uint32_t>(free - entries_.begin());
        if (number >= limit_)
            return make_error(ErrorKind::TooLarge, what_ + " of more than " + std::to_string(limit_) + " kinds");
        if (bpf_map_update_elem(map, &number, &site, BPF_ANY) != 0) return system_error("note where " + what_ + " are");
        if (free == entries_.end()) entries_.emplace_back();
        entries_[number] = {true, event, site};
        return number;
    }

    // All of an event's entries; its markers are met no more.
    void give_back(std::uint32_t event) {
        for (Entry& entry : entries_) entry.taken = entry.taken && entry.event != event;
    }

  private:
    struct Entry {
        bool taken = false;
        std::uint32_t event = 0;
        Site site{};
    };
    std::uint32_t limit_;
    std::string what_;
    std::vector<Entry> entries_;
};

}  // namespace lagtrap::daemon
