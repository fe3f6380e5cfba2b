#include "daemon/processes/code_file_copier.hpp"

#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

CodeFileCopier* copier_of_process = nullptr;

std::filesystem::path folder_of(std::uint32_t pid) { return "/proc/" + std::to_string(pid); }

}  // namespace

void copy_code_files_by(CodeFileCopier* copier) { copier_of_process = copier; }

CodeFileCopier* code_file_copier() { return copier_of_process; }

Result<FollowedProcess> DirectCodeFileCopier::follow(std::uint32_t pid) {
    FollowedProcess process;
    TRY_ASSIGN(process.facts, read_process_facts(folder_of(pid)));
    auto tmp = open_own_tmp(folder_of(pid), mounts_);
    mounts_.end_request();
    if (tmp) {
        process.tmp = std::move(tmp).value();
    } else {
        // If there is no /tmp, there is no map file. A refused one may have had one.
        process.tmp_was_refused = tmp.error().kind == ErrorKind::Denied;
    }
    return process;
}

Result<UniqueFd> DirectCodeFileCopier::open_mapped(const lagtrap_mapping& mapping) {
    const std::string range =
        fmt::format("{:x}-{:x}", mapping.start, mapping.start + mapping.length);
    auto file = open_mapped_file(folder_of(mapping.pid), range, mounts_);
    mounts_.end_request();
    return file;
}

Result<OpenedCodeFile> DirectCodeFileCopier::open_code_file(Owner, int place,
                                                            const std::string& name) {
    OpenedCodeFile opened;
    TRY_ASSIGN(opened.file, name.empty() ? reopen_plain_file(place) : open_plain_file(place, name));
    struct stat facts {};
    if (::fstat(opened.file.get(), &facts) != 0) return system_error("stat");
    opened.uid = facts.st_uid;
    opened.written_realtime_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec;
    opened.size_bytes = static_cast<std::uint64_t>(facts.st_size);
    return opened;
}

// The kernel copies; the data does not pass through this process.
Result<std::uint64_t> DirectCodeFileCopier::copy(Owner, int from, int to,
                                                 std::uint64_t limit_bytes) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    off_t copied = 0;
    while (static_cast<std::uint64_t>(copied) < limit_bytes) {
        const std::size_t wanted =
            std::min(piece_bytes, limit_bytes - static_cast<std::uint64_t>(copied));
        const ssize_t got = ::sendfile(to, from, &copied, wanted);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("copy");
        if (got == 0) break;
    }
    return static_cast<std::uint64_t>(copied);
}

}  // namespace lagtrap::daemon
