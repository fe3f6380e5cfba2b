#include <algorithm>
#include <map>

#include "formats/encoders.hpp"

namespace lagtrap::formats {

namespace {

std::string without_semicolon(std::string name) {
    std::replace(name.begin(), name.end(), ';', ':');
    return name;
}

}  // namespace

std::string encode_folded(const StackProfile& profile) {
    // Sum in nanoseconds, so that short stacks add up before rounding.
    std::map<std::string, std::uint64_t> sums_ns;
    for (const ProfiledThread& thread : profile.threads) {
        std::map<std::uint32_t, std::uint64_t> by_leaf;
        for (const Piece& piece : thread.pieces) by_leaf[piece.leaf] += piece.weight_ns;
        const std::string start =
            without_semicolon(thread.process) + ";" + without_semicolon(thread.name);
        for (const auto& [leaf, time_ns] : by_leaf) {
            std::string line = start;
            for (const std::uint32_t node : profile.path_of(leaf)) {
                const Place& place = profile.places[profile.nodes[node].place];
                line += ";" + without_semicolon(place.function) + (place.kernel ? "_[k]" : "");
            }
            sums_ns[line] += time_ns;
        }
    }
    std::string text;
    for (const auto& [line, time_ns] : sums_ns)
        if (time_ns >= 1000) text += line + " " + std::to_string(time_ns / 1000) + "\n";
    return text;
}

}  // namespace lagtrap::formats
