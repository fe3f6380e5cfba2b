#include "daemon/processes/process_inspector.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "daemon/processes/process_texts.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto mounts_lifetime = 1s;
constexpr std::size_t namespaces_limit = 64;
constexpr std::string_view memory_file = "/memfd:";

ProcessInspector* inspector_of_process = nullptr;

std::string range_of(const lagtrap_mapping& mapping) {
    return fmt::format("{:x}-{:x}", mapping.start, mapping.start + mapping.length);
}

// By what the kernel says of the descriptor: asks no file system.
std::uint64_t mount_id_of(int fd) {
    const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), 64 * 1024);
    if (!text) return 0;
    const std::size_t label = text->find("mnt_id:");
    if (label == std::string::npos) return 0;
    const std::size_t digits = text->find_first_of("0123456789", label);
    std::uint64_t id = 0;
    if (digits != std::string::npos) std::from_chars(text->data() + digits, text->data() + text->size(), id);
    return id;
}

// Of memory that was made executable by a descriptor (memfd_create): it lies on a mount of the kernel's own.
bool is_memory(int fd) {
    struct statfs facts {};
    return ::fstatfs(fd, &facts) == 0 && (facts.f_type == TMPFS_MAGIC || facts.f_type == HUGETLBFS_MAGIC);
}

Error not_local(std::string_view type) {
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("it lies on a file system ({}) that may never answer; only local ones are read", type));
}

std::uint64_t device_number(std::uint32_t major_number, std::uint32_t minor_number) {
    return std::uint64_t{major_number} << 32 | minor_number;
}

}  // namespace

void inspect_processes_by(ProcessInspector* inspector) { inspector_of_process = inspector; }

ProcessInspector* process_inspector() { return inspector_of_process; }

Result<InspectedProcess> DirectInspector::read(std::uint32_t pid, Code code, const InspectionLimits& limits) {
    InspectedProcess process;
    describe_process(folder_of(pid), pid, process.records);
    if (code == Code::Left) return process;
    std::uint64_t mappings = 0, text_bytes = 0;
    for_each_code_mapping(folder_of(pid), pid, [&](const lagtrap_mapping& mapping, std::string_view path) {
        if (mappings >= limits.mappings || text_bytes + path.size() > limits.text_bytes) {
            ++process.mappings_left_out;
            return true;
        }
        ++mappings;
        text_bytes += path.size();
        process.records.append(&mapping, sizeof(mapping), path);
        return true;
    });
    return process;
}

Result<std::vector<std::uint64_t>> DirectInspector::read_words(std::uint32_t pid,
                                                               const std::vector<std::uint64_t>& addresses) {
    if (addresses.size() > inspected_words_limit)
        return make_error(ErrorKind::TooLarge, fmt::format("{} words of memory; at most {} are read", addresses.size(),
                                                           inspected_words_limit));
    const UniqueFd memory(::open((folder_of(pid) / "mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (!memory.valid())
        return errno == ENOENT ? Error{ErrorKind::Vanished, ENOENT, "the process is gone"}
                               : system_error("read its memory");
    std::vector<std::uint64_t> words(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        std::uint64_t word = 0;
        const ssize_t got = ::pread(memory.get(), &word, sizeof word, static_cast<off_t>(addresses[i]));
        words[i] = got == static_cast<ssize_t>(sizeof word) ? word : 0;
    }
    return words;
}

std::shared_ptr<const MountTable> DirectInspector::mounts_of(const std::filesystem::path& process) {
    std::error_code failed;
    const std::string name = std::filesystem::read_symlink(process / "ns" / "mnt", failed).string();
    if (failed) return nullptr;
    const auto now = std::chrono::steady_clock::now();
    if (const auto known = known_mounts_.find(name);
        known != known_mounts_.end() && now - known->second.read_at < mounts_lifetime)
        return known->second.table;
    const auto text = read_file(process / "mountinfo", mountinfo_limit_bytes);
    if (!text) return nullptr;
    const auto own = process == "/proc/self" ? nullptr : mounts_of("/proc/self");
    auto table = std::make_shared<const MountTable>(MountTable::parse(*text, own.get()));
    if (known_mounts_.size() >= namespaces_limit) known_mounts_.clear();
    known_mounts_[name] = {table, now};
    return table;
}

Result<DirectInspector::Place> DirectInspector::place_of(UniqueFd fd, const MountTable& mounts) {
    const Mount* mount = mounts.by_id(mount_id_of(fd.get()));
    if (mount && !mount->local) return not_local(mount->type);
    struct statx facts {};
    if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &facts) != 0)
        return system_error("statx");
    if (!S_ISREG(facts.stx_mode)) return make_error(ErrorKind::Denied, "is not a regular file");
    const bool set_uid_counts = mount && mount->set_uid_counts;
    const std::uint64_t device = device_number(facts.stx_dev_major, facts.stx_dev_minor);
    // The mount was taken away while the process goes on; its file system may be mounted elsewhere.
    if (!mount) mount = mounts.by_device(device);
    if (mount ? !mount->local : !is_memory(fd.get())) return not_local(mount ? mount->type : "no longer mounted");
    Place place{std::move(fd), {}};
    place.identity.device = device;
    place.identity.inode = facts.stx_ino;
    place.identity.size_bytes = facts.stx_size;
    place.identity.changed_ns = facts.stx_ctime.tv_sec * 1'000'000'000LL + facts.stx_ctime.tv_nsec;
    place.identity.only_root_writes =
        set_uid_counts && facts.stx_uid == 0 && (facts.stx_mode & (S_IWGRP | S_IWOTH)) == 0;
    return place;
}

// That very file, though it was deleted or lies in another mount namespace.
Result<DirectInspector::Place> DirectInspector::find_mapped(const NamedMapping& mapping,
                                                            const MountTable& mounts) const {
    const auto folder = folder_of(mapping.mapping.pid);
    if (!mounts.answers_to_a_look()) {
        std::uint64_t device = 0;
        for_each_code_mapping(folder, mapping.mapping.pid, [&](const lagtrap_mapping& found, std::string_view) {
            if (found.start == mapping.mapping.start) device = found.device;
            return device == 0;
        });
        const Mount* const mount = mounts.by_device(device);
        if (mount && !mount->local) return not_local(mount->type);
    }
    TRY_ASSIGN(UniqueFd fd, open_resolved(AT_FDCWD, folder / "map_files" / range_of(mapping.mapping), O_PATH, 0, 0));
    return place_of(std::move(fd), mounts);
}

// By its name below `root`, if it is the mapping's file (where that has a number; else the caller has a build id to compare).
Result<DirectInspector::Place> DirectInspector::find_by_path(const std::filesystem::path& root,
                                                             const NamedMapping& mapping, const MountTable& mounts) {
    std::filesystem::path path(mapping.path);
    if (mapping.path.ends_with(deleted_mark)) path = mapping.path.substr(0, mapping.path.size() - deleted_mark.size());
    const Mount* const mount = mounts.holding(path);
    if (mount && !mount->local) return not_local(mount->type);
    TRY_ASSIGN(const UniqueFd folder, open_resolved(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0, 0));
    TRY_ASSIGN(UniqueFd fd,
               open_resolved(folder.get(), path.relative_path(), O_PATH, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
    TRY_ASSIGN(Place place, place_of(std::move(fd), mounts));
    if (mapping.mapping.inode != 0 && mapping.mapping.inode != place.identity.inode)
        return make_error(ErrorKind::Vanished, "another file lies there by now");
    return place;
}

Result<DirectInspector::Place> DirectInspector::find(const NamedMapping& mapping) {
    if (!mapping.path.starts_with('/') || mapping.path.starts_with("//"))
        return make_error(ErrorKind::Denied, "is no file");
    const auto folder = folder_of(mapping.mapping.pid);
    if (const auto mounts = mounts_of(folder)) {
        auto place = find_mapped(mapping, *mounts);
        if (place || place.error().kind == ErrorKind::Unsupported || mapping.path.starts_with(memory_file))
            return place;
        place = find_by_path(folder / "root", mapping, *mounts);
        if (place || place.error().kind == ErrorKind::Unsupported) return place;
    }
    const auto own = mounts_of("/proc/self");
    if (!own) return make_error(ErrorKind::System, "the mounts of this process cannot be read");
    return find_by_path("/", mapping, *own);
}

std::vector<Result<CodeFileIdentity>> DirectInspector::identify(const std::vector<NamedMapping>& mappings) {
    std::vector<Result<CodeFileIdentity>> identities;
    identities.reserve(mappings.size());
    for (const NamedMapping& mapping : mappings) {
        const auto place = find(mapping);
        identities.push_back(place ? Result<CodeFileIdentity>(place->identity) : place.error());
    }
    return identities;
}

Result<OpenedFile> DirectInspector::open(const NamedMapping& mapping) {
    TRY_ASSIGN(const Place place, find(mapping));
    if (may_open_) TRY(may_open_(place.identity.device));
    TRY_ASSIGN(UniqueFd file, reopen_regular_file(place.fd.get()));
    return OpenedFile{std::move(file), place.identity};
}

}  // namespace lagtrap::daemon
