// Parties: users or containers that share a limited resource of the machine (decision 18).
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap {

// A user, by uid, including all of their user namespaces; or a container created by root, by the
// inode number of its outermost pid or user namespace, including everything in it. The numbers
// match bpf/party.h. Only shares are counted by party; settings and files of recordings use plain
// uids.
using Party = std::uint32_t;

// The machine's own root user. Its programs belong to the machine and are not limited to a share.
constexpr Party root_party = 0;
constexpr Party first_container_party = 0xF0000000;
// All processes whose party could not be determined.
constexpr Party unknown_party = 0xFFFFFFFE;

[[nodiscard]] constexpr Party party_of_user(std::uint32_t uid) {
    return uid < first_container_party ? uid : unknown_party;
}

[[nodiscard]] constexpr bool is_container(Party party) {
    return party >= first_container_party && party != unknown_party;
}

// "user 1000", "container 4026532841" (the number lsns(8) shows for its namespace), or "unknown
// users".
[[nodiscard]] std::string party_text(Party party);

}  // namespace lagtrap
