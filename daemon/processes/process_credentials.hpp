// Whom a process belongs to, as far as another user may look into it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct ProcessCredentials {
    std::array<uid_t, 4> users{};   // real, effective, saved, of file accesses
    std::array<gid_t, 4> groups{};  // the same
    std::uint64_t permitted_capabilities = 0;
    // Of /proc/PID: root once the process may not be dumped, as after the exec of a set-user-ID program (proc(5)).
    uid_t folder_user = 0;
};

// `status` is the text of /proc/PID/status. ErrorKind::Invalid: it lacks a line.
[[nodiscard]] Result<ProcessCredentials> parse_process_credentials(std::string_view status);

// ErrorKind::Vanished: there is no such process.
[[nodiscard]] Result<ProcessCredentials> read_process_credentials(std::uint32_t pid);

// By the rules of ptrace(2) for a caller without capabilities, and stricter: the process may have none either.
// ErrorKind::Denied: it is not `user`'s to trace, and why.
[[nodiscard]] Status check_owner(const ProcessCredentials& process, uid_t user, const std::vector<gid_t>& groups);

}  // namespace lagtrap::daemon
