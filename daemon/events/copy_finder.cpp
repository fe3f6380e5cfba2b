#include "daemon/events/copy_finder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "daemon/events/copy_names.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto read_timeout = 5s;
constexpr std::size_t known_files_limit = 4'096;

}  // namespace

CopyFinder::CopyFinder(ProcessInspector& inspector, bool wants_build_ids,
                       const std::atomic<bool>& stopped, std::unique_ptr<RealFiles> real_files)
    : inspector_(inspector),
      wants_build_ids_(wants_build_ids),
      stopped_(stopped),
      real_files_(std::move(real_files)),
      machines_mounts_{mounts_of("/proc/self"), mounts_of("/proc/1")} {
    if (const auto root = facts_on_machine("/")) root_device_ = root->st_dev;
}

Result<std::unique_ptr<CopyFinder>> CopyFinder::make(ProcessInspector& inspector,
                                                     bool wants_build_ids,
                                                     const std::atomic<bool>& stopped) {
    TRY_ASSIGN(auto real_files, RealFiles::load());
    return std::unique_ptr<CopyFinder>(
        new CopyFinder(inspector, wants_build_ids, stopped, std::move(real_files)));
}

// The name by which the process's program was started, if it has another one; else empty.
std::string CopyFinder::name_at_start(const MappedFile& mapped_file) const {
    if (!mapped_file.started_as.empty()) return mapped_file.started_as;
    if (!mapped_file.perhaps_started_as) return {};
    const auto process =
        inspector_.read(mapped_file.mapping.mapping.pid, ProcessInspector::Code::Left, {});
    if (!process) return {};
    std::optional<StartedBeside> started;
    process->records.for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_PROCESS) return;
        const auto& facts = *reinterpret_cast<const lagtrap_process*>(record);
        started = started_beside({reinterpret_cast<const char*>(&facts + 1), facts.text_bytes});
    });
    if (!started || started->program != mapped_file.mapping.path) return {};
    return started->started_as;
}

// For a chroot in the same mount namespace, /proc shows paths from outside of it.
FileView CopyFinder::view_of(const MappedFile& mapped_file) const {
    const std::string& path = mapped_file.mapping.path;
    const auto folder = folder_of(mapped_file.mapping.mapping.pid);
    std::error_code failed;
    const auto root = std::filesystem::read_symlink(folder / "root", failed).string();
    const bool machines = !failed && root == "/" && machines_mounts_.contains(mounts_of(folder));
    if (std::string name = name_at_start(mapped_file); !name.empty())
        return {std::move(name), machines};
    if (failed || root.size() < 2 || !path.starts_with(root + "/")) return {path, machines};
    return {path.substr(root.size()), machines};
}

Result<CopyFinder::Identity> CopyFinder::identify(const MappedFile& mapped_file) {
    const auto identities = inspector_.identify({mapped_file.mapping});
    if (identities.empty()) return make_error(ErrorKind::Vanished, "it is gone");
    if (!identities.front()) return identities.front().error();
    const CodeFileIdentity& identity = *identities.front();
    return Identity(identity.device, identity.inode, identity.size_bytes, identity.changed_ns);
}

std::optional<CopyFinder::KnownFile> CopyFinder::known(const Identity& identity) const {
    const auto found = known_.find(identity);
    if (found == known_.end()) return std::nullopt;
    return found->second;
}

Result<CopyFinder::Opened> CopyFinder::open(const MappedFile& mapped_file,
                                            const Identity& identity) {
    TRY_ASSIGN(OpenedFile opened, inspector_.open(mapped_file.mapping));
    KnownFile file{{}, mapped_file.build_id};
    TRY_ASSIGN(file.real, real_files_->of(opened.file.get()));
    if (wants_build_ids_ && file.build_id.empty()) {
        UniqueFd again(::fcntl(opened.file.get(), F_DUPFD_CLOEXEC, 0));
        if (!again.valid()) return system_error("reopen a program");
        const auto program = binaries::ProgramFile::open(
            std::move(again), mapped_file.mapping.path,
            {std::chrono::steady_clock::now() + read_timeout, &stopped_});
        if (program) file.build_id = program->build_id();
    }
    if (known_.size() >= known_files_limit) known_.clear();
    known_.insert_or_assign(identity, file);
    return Opened{std::move(file), std::move(opened.file)};
}

}  // namespace lagtrap::daemon
