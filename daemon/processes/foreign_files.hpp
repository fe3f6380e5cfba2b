// Opens files that lie in a watched process's own view of the file system, which its owner may shape at will: other
// mounts, links, pipes, files of others, file systems that never answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/party.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/mount_finder.hpp"

namespace lagtrap::daemon {

// What /proc/PID tells that is needed after the process is gone.
struct ProcessFacts {
    std::uint32_t inner_pid = 0;  // its number in its own pid namespace, by which it names its files
    std::uint32_t effective_uid = 0;
    Party party = root_party;
    std::int64_t started_realtime_ns = 0;  // to some 10 ms
};

[[nodiscard]] Result<ProcessFacts> read_process_facts(const std::filesystem::path& process);

// The process's own /tmp, O_PATH: a name in it can be opened when the process is gone, and its mounts with it.
// Errors: gone, no such folder or a link, or not on a local file system.
[[nodiscard]] Result<UniqueFd> open_own_tmp(const std::filesystem::path& process, MountFinder& mounts);

// The plain file `name` in `directory`, for reading without ever waiting: no link, not on another mount, not linked
// elsewhere too. ErrorKind::NotFound: there is none; Denied: there is something else.
[[nodiscard]] Result<UniqueFd> open_plain_file(int directory, const std::string& name);

// The same of what `place` (O_PATH will do) is open on: once more, with the same demands.
[[nodiscard]] Result<UniqueFd> reopen_plain_file(int place);

// The file mapped at `range` ("START-END" as map_files has it), with the same demands.
[[nodiscard]] Result<UniqueFd> open_mapped_file(const std::filesystem::path& process, const std::string& range,
                                                MountFinder& mounts);

}  // namespace lagtrap::daemon
