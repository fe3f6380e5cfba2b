// What the daemon and a process that inspects others for it say to each other (inspector_pool.hpp). Both are of one build,
// so numbers are as this machine has them.
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
    Follow,
    OpenMapped,
    OpenCodeFile,  // with the descriptor of the place
    Give,          // a descriptor for the next request; has no answer
    Copy,          // with the descriptor to copy from; the one given is copied to
    User,          // on the way to the answer: whose the process is, and on which device a file is opened
    Device,
    Answer,
};

// Before each message's body.
struct InspectionHead {
    InspectionMessage kind{};
    std::uint32_t error = 0;  // of an answer: 0, or 1 + ErrorKind; then the body is its text
    std::uint64_t body_bytes = 0;
};

inline constexpr std::uint64_t inspection_limit_bytes = 16 << 20;  // of a body
inline constexpr std::size_t inspected_mappings_limit = 65'536;    // of one request
inline constexpr std::size_t inspected_path_limit_bytes = 4096;

// Sends all of it; `file` (-1: none) with the first byte. False: the other side is gone.
[[nodiscard]] bool send_inspection(int socket, const InspectionHead& head, const std::string& body, int file = -1);
// As many bytes as there are now, `size` at most; a descriptor that comes with them replaces `file`. 0: the other side is
// gone; less than 0: errno says why.
[[nodiscard]] long receive_inspection(int socket, char* into, std::size_t size, UniqueFd& file, int flags);

}  // namespace lagtrap::daemon
