// Finds the party of a process (core/party.hpp), the unit that shared limits apply to. BPF programs
// decide in the same way (bpf/party.bpf.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/party.hpp"
#include "core/result.hpp"

namespace lagtrap::daemon {

// The facts that decide. Of nested namespaces, the outermost below the initial one counts, because
// its processes can create any number of others.
struct ProcessNamespaces {
    struct Pids {
        std::uint32_t inode = 0;
        bool made_by_machine = false;  // by a process in the initial user namespace
    };
    struct Users {
        std::uint32_t inode = 0, owner_uid = 0;
    };
    std::uint32_t uid = 0;     // real user, as the initial namespace numbers it
    std::optional<Pids> pids;  // nullopt if in the initial namespace
    std::optional<Users> users;
};

[[nodiscard]] Party party_of(const ProcessNamespaces& process);

// `process` is "/proc/PID". Reads it each time, which takes about ten microseconds and cannot block
// on file systems. Errors: the process is gone, or access is denied.
[[nodiscard]] Result<Party> read_party(const std::filesystem::path& process);
// For a process known to run as `uid`; if its namespaces cannot be read, returns that user's party.
[[nodiscard]] Party read_party(const std::filesystem::path& process, std::uint32_t uid);

}  // namespace lagtrap::daemon
