// Opens files in a watched process's own view of the file system. Its owner controls that view:
// other mounts, symlinks, pipes, other users' files, file systems that never answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/party.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/mount_finder.hpp"

namespace lagtrap::daemon {

// Facts from /proc/PID that are needed after the process is gone.
struct ProcessFacts {
    // its number in its own pid namespace, which its file names contain
    std::uint32_t inner_pid = 0;
    std::uint32_t effective_uid = 0;
    Party party = root_party;
    std::int64_t started_realtime_ns = 0;  // accurate to about 10 ms
};

[[nodiscard]] Result<ProcessFacts> read_process_facts(const std::filesystem::path& process);

// Opens the process's own /tmp with O_PATH. Names in it can be opened even after the process and
// its mounts are gone. Errors: the process is gone, there is no such folder or it is a symlink, or
// it is not on a local file system.
[[nodiscard]] Result<UniqueFd> open_own_tmp(const std::filesystem::path& process,
                                            MountFinder& mounts);

// Opens the regular file `name` in `directory` for reading, without ever blocking. It must not be a
// symlink, on another mount, or have further links. ErrorKind::NotFound: it does not exist; Denied:
// something else is there.
[[nodiscard]] Result<UniqueFd> open_plain_file(int directory, const std::string& name);

// Opens the file behind `place` (O_PATH is enough) again, with the same requirements.
[[nodiscard]] Result<UniqueFd> reopen_plain_file(int place);

// Opens the file mapped at `range` ("START-END" as in map_files), with the same requirements.
[[nodiscard]] Result<UniqueFd> open_mapped_file(const std::filesystem::path& process,
                                                const std::string& range, MountFinder& mounts);

}  // namespace lagtrap::daemon
