// Opens and copies the files in which processes describe generated code. Because their owners
// control these files, lagtrapd leaves this to the inspector pool (inspector_pool.hpp).
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
    UniqueFd tmp;                  // its own /tmp (O_PATH); invalid if there is none
    bool tmp_was_refused = false;  // there is one, but it must not be accessed
};

struct OpenedCodeFile {
    UniqueFd file;  // open for reading
    std::uint32_t uid = 0;
    std::int64_t written_realtime_ns = 0;
    std::uint64_t size_bytes = 0;
};

// Errors: NotFound, Vanished (the process is gone), Denied (something else is there, or not on a
// local file system), System. A pool also returns Timeout and Busy.
class CodeFileCopier {
  public:
    virtual ~CodeFileCopier() = default;

    // Call it while the process is alive. The result remains valid afterwards.
    [[nodiscard]] virtual Result<FollowedProcess> follow(std::uint32_t pid) = 0;
    // Opens for reading what the process has mapped there.
    [[nodiscard]] virtual Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) = 0;

    // The process that owns a file; it may be gone.
    struct Owner {
        std::uint32_t pid = 0;
        Party party = root_party;
    };
    // Opens the regular file `name` in the folder `place`. With an empty name, opens `place` itself
    // again.
    [[nodiscard]] virtual Result<OpenedCodeFile> open_code_file(Owner owner, int place,
                                                                const std::string& name) = 0;
    // Copies the first `limit_bytes` into `to` and returns how many were copied. After an error,
    // `to` may have a part of the file, and may still be written to.
    [[nodiscard]] virtual Result<std::uint64_t> copy(Owner owner, int from, int to,
                                                     std::uint64_t limit_bytes) = 0;
};

// Does this in the calling process. Use it on one thread.
class DirectCodeFileCopier : public CodeFileCopier {
  public:
    [[nodiscard]] Result<FollowedProcess> follow(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) override;
    [[nodiscard]] Result<OpenedCodeFile> open_code_file(Owner owner, int place,
                                                        const std::string& name) override;
    [[nodiscard]] Result<std::uint64_t> copy(Owner owner, int from, int to,
                                             std::uint64_t limit_bytes) override;

  private:
    MountFinder mounts_;
};

// Sets the copier for this process. nullptr (the default) means that callers copy directly, which
// only tests may do. It must outlive its use. Call it before threads start.
void copy_code_files_by(CodeFileCopier* copier);
[[nodiscard]] CodeFileCopier* code_file_copier();

}  // namespace lagtrap::daemon
