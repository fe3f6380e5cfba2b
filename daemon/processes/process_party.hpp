// Whose a process is, where users share something: see core/party.hpp. BPF programs decide the same (bpf/party.bpf.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/party.hpp"
#include "core/result.hpp"

namespace lagtrap::daemon {

// What tells it. Of namespaces inside each other the outermost one counts, just below the machine's own: who is in it can make
// any number of others.
struct ProcessNamespaces {
    struct Pids {
        std::uint32_t inode = 0;
        bool made_by_machine = false;  // by a process of the machine's own user namespace
    };
    struct Users {
        std::uint32_t inode = 0, owner_uid = 0;
    };
    std::uint32_t uid = 0;     // the real one, as the machine numbers it
    std::optional<Pids> pids;  // nullopt: in the machine's own
    std::optional<Users> users;
};

[[nodiscard]] Party party_of(const ProcessNamespaces& process);

// `process` is "/proc/PID". It is read anew each time, in some ten microseconds, and from no file system that may hang. Errors:
// the process is gone, or may not be looked into.
[[nodiscard]] Result<Party> read_party(const std::filesystem::path& process);
// The same of a process that is known to run as `uid`; where its namespaces cannot be read, this user's.
[[nodiscard]] Party read_party(const std::filesystem::path& process, std::uint32_t uid);

}  // namespace lagtrap::daemon
