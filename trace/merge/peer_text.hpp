// Formats the remote address of a socket.
#pragma once

#include <string>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::trace {

// "127.0.0.1:5432", "[::1]:53 (UDP)". `peer` holds the bytes after a wait record. Empty if they are
// too short or of an unknown address family.
[[nodiscard]] std::string peer_text(std::string_view peer);

// True if a record of this kind (enum lagtrap_wait_file_kind) carries a struct lagtrap_peer.
[[nodiscard]] bool has_peer(unsigned kind);
// True if a record of this kind is about a socket or pipe, and its number identifies it.
[[nodiscard]] bool is_of_socket(unsigned kind);

}  // namespace lagtrap::trace
