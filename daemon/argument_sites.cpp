#include "daemon/argument_sites.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

namespace lagtrap::daemon {
namespace {

bool same(const lagtrap_site& a, const lagtrap_site& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

}  // namespace

lagtrap_argument argument_at(const binaries::UsdtArgument& argument) {
    static_assert(binaries::kNoRegister == LAGTRAP_NO_REGISTER);
    lagtrap_argument place{};
    place.number = argument.number;
    switch (argument.place) {
        case binaries::UsdtPlace::Constant: place.place = LAGTRAP_ARGUMENT_CONSTANT; break;
        case binaries::UsdtPlace::Register: place.place = LAGTRAP_ARGUMENT_REGISTER; break;
        case binaries::UsdtPlace::Memory: place.place = LAGTRAP_ARGUMENT_MEMORY; break;
        default: place.place = LAGTRAP_ARGUMENT_NONE; break;
    }
    place.bytes = argument.bytes;
    place.is_signed = argument.is_signed;
    place.first_bit = argument.first_bit;
    place.base = argument.base;
    place.index = argument.index;
    place.scale_shift = argument.scale_shift;
    return place;
}

Result<std::uint32_t> ArgumentSites::take(int map, std::uint32_t event, const lagtrap_site& site) {
    const auto like_it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.taken && entry.event == event && same(entry.site, site);
    });
    if (like_it != entries_.end()) return static_cast<std::uint32_t>(like_it - entries_.begin());
    const auto free = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.taken; });
    const auto number = static_cast<std::uint32_t>(free - entries_.begin());
    if (number >= LAGTRAP_MAX_SITES)
        return make_error(ErrorKind::TooLarge,
                          "arguments of more than " + std::to_string(LAGTRAP_MAX_SITES) + " kinds");
    if (bpf_map_update_elem(map, &number, &site, BPF_ANY) != 0) return system_error("note where arguments are");
    if (free == entries_.end()) entries_.emplace_back();
    entries_[number] = {true, event, site};
    return number;
}

void ArgumentSites::give_back(std::uint32_t event) {
    for (Entry& entry : entries_) entry.taken = entry.taken && entry.event != event;
}

}  // namespace lagtrap::daemon
