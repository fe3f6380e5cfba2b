// The protocol between the daemon and its inspector helpers (inspector_pool.hpp). Both are the same
// build, so numbers are in native format.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

enum class InspectionMessage : std::uint32_t {
    Read = 1,  // requests
    Identify,
    Open,
    Words,
    Memory,
    OpenProgram,
    OpenRoot,
    Context,
    Follow,
    OpenMapped,
    OpenCodeFile,  // with the descriptor of the place
    Give,          // a descriptor for the next request; has no answer
    Copy,          // with the source descriptor; the given one is the destination
    // progress messages: the owner of the process, and the device of the file being opened
    User,
    Device,
    Answer,
};

// Precedes each message's body.
struct InspectionHead {
    InspectionMessage kind{};
    std::uint32_t error = 0;  // for answers: 0, or 1 + ErrorKind with the error text as body
    std::uint64_t body_bytes = 0;
};

inline constexpr std::uint64_t inspection_limit_bytes = 16 << 20;  // for a body
inline constexpr std::size_t inspected_mappings_limit = 65'536;    // per request
inline constexpr std::size_t inspected_path_limit_bytes = 4096;

// Sends everything, with `file` (-1: none) in the first byte. False if the other side is gone.
[[nodiscard]] bool send_inspection(int socket, const InspectionHead& head, const std::string& body,
                                   int file = -1);
// Receives what is available, up to `size` bytes; a received descriptor replaces `file`. 0 if the
// other side is gone; negative on error, with errno set.
[[nodiscard]] long receive_inspection(int socket, char* into, std::size_t size, UniqueFd& file,
                                      int flags);

}  // namespace lagtrap::daemon
