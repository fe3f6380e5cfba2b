#include "daemon/objects/object_destructors.hpp"

#include <algorithm>
#include <map>

namespace lagtrap::daemon {

std::optional<std::uint64_t> offset_in(const ProcessFiles& code, std::uint32_t file,
                                       std::uint64_t address) {
    const auto place = code.place_at(address);
    return place && place->file == file ? std::optional(place->offset) : std::nullopt;
}

// Of two adjacent functions, the second is a deleting destructor if it calls the first and
// frees the object's memory.
std::set<std::uint64_t> destructors_among(ProcessFiles& code, std::uint32_t file,
                                          const std::vector<VirtualFunction>& functions) {
    struct Pair {
        std::uint64_t first_offset, first_address, second_address;
    };
    std::map<std::uint64_t, std::vector<Pair>> pairs;  // by file offset of the second function
    std::vector<std::uint64_t> seconds;
    for (std::size_t at = 1; at < functions.size(); ++at) {
        const auto first = offset_in(code, file, functions[at - 1].address),
                   second = offset_in(code, file, functions[at].address);
        if (functions[at].slot == 0 || !first || !second) continue;
        pairs[*second].push_back({*first, functions[at - 1].address, functions[at].address});
    }
    for (const auto& [offset, one] : pairs) seconds.push_back(offset);
    std::set<std::uint64_t> addresses;
    (void)code.for_each_part(file, seconds, [&](const auto& part, const auto& found) {
        for (std::size_t at = 0; found && at < part.size(); ++at) {
            const binaries::FunctionCalls& second = (*found)[at];
            if (std::none_of(second.slots.begin(), second.slots.end(),
                             [](const auto& one) { return one.symbol.starts_with("_ZdlPv"); }))
                continue;
            for (const Pair& pair : pairs.at(part[at]))
                if (std::binary_search(second.callees.begin(), second.callees.end(),
                                       pair.first_offset))
                    addresses.insert({pair.first_address, pair.second_address});
        }
        return success();
    });
    return addresses;
}

}  // namespace lagtrap::daemon
