// Who counts as one where the users of a machine share something (decision 18).
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap {

// A user of the machine, by uid, with all of their user namespaces; or a container that root has made, by the inode number of
// its outermost pid or user namespace, with everything in it. Numbers as bpf/party.h has them. In settings and in files of
// recordings a uid is a uid: only shares are counted by parties.
using Party = std::uint32_t;

// The machine's own root, and nobody else. Its programs are the machine's: they have no share of their own.
constexpr Party root_party = 0;
constexpr Party first_container_party = 0xF0000000;
// Processes of which it cannot be told, all together.
constexpr Party unknown_party = 0xFFFFFFFE;

[[nodiscard]] constexpr Party party_of_user(std::uint32_t uid) {
    return uid < first_container_party ? uid : unknown_party;
}

[[nodiscard]] constexpr bool is_container(Party party) {
    return party >= first_container_party && party != unknown_party;
}

// "user 1000", "container 4026532841", as lsns(8) numbers its namespace, or "unknown users".
[[nodiscard]] std::string party_text(Party party);

}  // namespace lagtrap
