// The owner of a process, for deciding whether another user may trace it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct ProcessCredentials {
    std::array<uid_t, 4> users{};   // real, effective, saved, file system
    std::array<gid_t, 4> groups{};  // likewise
    std::uint64_t permitted_capabilities = 0;
    // Owner of /proc/PID: root if the process is not dumpable, as after exec of a set-user-ID
    // program (proc(5)).
    uid_t folder_user = 0;
};

// `status` is the text of /proc/PID/status. ErrorKind::Invalid: a line is missing.
[[nodiscard]] Result<ProcessCredentials> parse_process_credentials(std::string_view status);

// ErrorKind::Vanished: there is no such process.
[[nodiscard]] Result<ProcessCredentials> read_process_credentials(std::uint32_t pid);

// Applies the rules of ptrace(2) for a caller without capabilities, but stricter: the process must
// not have capabilities either. ErrorKind::Denied: `user` may not trace it; the message has the
// reason.
[[nodiscard]] Status check_owner(const ProcessCredentials& process, uid_t user,
                                 const std::vector<gid_t>& groups);

}  // namespace lagtrap::daemon
