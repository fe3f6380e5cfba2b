// The other end of a socket, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "bpf/records.h"

namespace lagtrap::trace {

// "127.0.0.1:5432", "[::1]:53 (UDP)": of what a record of a wait has after it. Empty: that is too short, or of no known family.
[[nodiscard]] std::string peer_text(std::string_view peer);

// Whether a record of this kind (enum lagtrap_wait_file_kind) has a struct lagtrap_peer.
[[nodiscard]] bool has_peer(unsigned kind);
// Whether it is about a socket.
[[nodiscard]] bool is_of_socket(unsigned kind);

}  // namespace lagtrap::trace
