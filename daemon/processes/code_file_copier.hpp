// Opens and copies the files in which processes tell of the code that they make. Their owners shape them at will, so lagtrapd
// lets the inspector pool do it (inspector_pool.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "bpf/records.h"
#include "core/party.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/foreign_files.hpp"
#include "daemon/processes/mount_finder.hpp"

namespace lagtrap::daemon {

struct FollowedProcess {
    ProcessFacts facts;
    UniqueFd tmp;                  // its own /tmp (O_PATH); not valid where it has none
    bool tmp_was_refused = false;  // there is one, but not to be looked into
};

struct OpenedCodeFile {
    UniqueFd file;  // for reading
    std::uint32_t uid = 0;
    std::int64_t written_realtime_ns = 0;
    std::uint64_t size_bytes = 0;
};

// Errors: NotFound, Vanished (the process is gone), Denied (something else lies there, or on no local file system), System;
// and of a pool Timeout and Busy.
class CodeFileCopier {
  public:
    virtual ~CodeFileCopier() = default;

    // Called while the process lives; what it gives can be used afterwards.
    [[nodiscard]] virtual Result<FollowedProcess> follow(std::uint32_t pid) = 0;
    // What the process has mapped there, for reading.
    [[nodiscard]] virtual Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) = 0;

    // Whose file it is; the process may be gone.
    struct Owner {
        std::uint32_t pid = 0;
        Party party = root_party;
    };
    // The plain file `name` in the folder `place`; without a name `place` itself, opened once more.
    [[nodiscard]] virtual Result<OpenedCodeFile> open_code_file(Owner owner, int place, const std::string& name) = 0;
    // The first `limit_bytes` into `to`; gives how many. After an error something of it may be there, and more may come.
    [[nodiscard]] virtual Result<std::uint64_t> copy(Owner owner, int from, int to, std::uint64_t limit_bytes) = 0;
};

// In this process. One thread's.
class DirectCodeFileCopier : public CodeFileCopier {
  public:
    [[nodiscard]] Result<FollowedProcess> follow(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) override;
    [[nodiscard]] Result<OpenedCodeFile> open_code_file(Owner owner, int place, const std::string& name) override;
    [[nodiscard]] Result<std::uint64_t> copy(Owner owner, int from, int to, std::uint64_t limit_bytes) override;

  private:
    MountFinder mounts_;
};

// Who copies for this process; nullptr: the one who wants it does, which only a test may. It outlives its use; to be set
// before there are threads.
void copy_code_files_by(CodeFileCopier* copier);
[[nodiscard]] CodeFileCopier* code_file_copier();

}  // namespace lagtrap::daemon
