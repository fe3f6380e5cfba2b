// A small profile made by hand, for tests of single encoders.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/stack_profile.hpp"

namespace lagtrap::test {

// Places and the nodes of one stack that calls them in their order: node N is place N - 1.
inline formats::StackProfile made_profile(std::vector<formats::Place> places) {
    formats::StackProfile profile;
    profile.title = "query, delay 1";
    profile.host = "db1";
    profile.system = "Debian, Linux 6.1";
    profile.places = std::move(places);
    for (std::uint32_t place = 0; place < profile.places.size(); ++place)
        profile.nodes.push_back({place, place});
    return profile;
}

// A piece of time whose stack ends at `node`.
inline formats::Piece piece_of(std::uint64_t begin_ns, std::uint64_t length_ns, std::uint32_t node,
                               analysis::TimeKind kind = analysis::TimeKind::OnCpu) {
    formats::Piece piece;
    piece.begin_ns = begin_ns;
    piece.length_ns = piece.weight_ns = length_ns;
    piece.stack = piece.leaf = node;
    piece.kind = kind;
    return piece;
}

inline formats::ProfiledThread thread_of(std::uint32_t pid, std::uint32_t tid,
                                         const std::string& process, const std::string& name,
                                         std::vector<formats::Piece> pieces) {
    return {pid, tid, process, name, std::move(pieces)};
}

}  // namespace lagtrap::test
