#include "daemon/processes/process_inspector.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "core/mapped_files.hpp"
#include "daemon/processes/careful_walk.hpp"
#include "daemon/processes/process_party.hpp"
#include "daemon/processes/process_texts.hpp"
#include "sandbox/file_broker.hpp"
#include "sandbox/foreign_file.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::string_view memory_file = "/memfd:";

ProcessInspector* inspector_of_process = nullptr;

std::string range_of(const lagtrap_mapping& mapping) {
    return fmt::format("{:x}-{:x}", mapping.start, mapping.start + mapping.length);
}

}  // namespace

void inspect_processes_by(ProcessInspector* inspector) { inspector_of_process = inspector; }

ProcessInspector* process_inspector() { return inspector_of_process; }

Result<InspectedProcess> DirectInspector::read(std::uint32_t pid, Code code,
                                               const InspectionLimits& limits) {
    InspectedProcess process;
    describe_process(folder_of(pid), pid, limits.command_lines, process.records);
    if (code == Code::Left) return process;
    std::uint64_t mappings = 0, text_bytes = 0;
    for_each_code_mapping(
        folder_of(pid), pid, [&](const lagtrap_mapping& mapping, std::string_view path) {
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

Result<UniqueFd> DirectInspector::memory_of(std::uint32_t pid) const {
    UniqueFd memory(::open((folder_of(pid) / "mem").c_str(), O_RDONLY | O_CLOEXEC));
    if (memory.valid()) return memory;
    return errno == ENOENT ? Error{ErrorKind::Vanished, ENOENT, "the process is gone"}
                           : system_error("read its memory");
}

Result<std::string> DirectInspector::read_memory(std::uint32_t pid, std::uint64_t address,
                                                 std::uint64_t bytes) {
    if (bytes > inspected_memory_limit_bytes)
        return make_error(ErrorKind::TooLarge, "too much memory requested");
    TRY_ASSIGN(const UniqueFd memory, memory_of(pid));
    std::string text(bytes, '\0');
    const ssize_t got =
        ::pread(memory.get(), text.data(), text.size(), static_cast<off_t>(address));
    if (got < 0 || static_cast<std::uint64_t>(got) != bytes)
        return make_error(ErrorKind::NotFound, "no readable memory there");
    return text;
}

Result<ProcessContext> DirectInspector::process_context(std::uint32_t pid) {
    const auto address = context_mapping_of(folder_of(pid));
    if (!address) return make_error(ErrorKind::NotFound, "it publishes no process context");
    return read_process_context(*address, [&](std::uint64_t from, std::uint64_t bytes) {
        return read_memory(pid, from, bytes);
    });
}

Result<std::vector<std::uint64_t>> DirectInspector::read_words(
    std::uint32_t pid, const std::vector<std::uint64_t>& addresses) {
    if (addresses.size() > inspected_words_limit)
        return make_error(ErrorKind::TooLarge,
                          fmt::format("{} words of memory requested; the limit is {}",
                                      addresses.size(), inspected_words_limit));
    TRY_ASSIGN(const UniqueFd memory, memory_of(pid));
    std::vector<std::uint64_t> words(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        std::uint64_t word = 0;
        const ssize_t got =
            ::pread(memory.get(), &word, sizeof word, static_cast<off_t>(addresses[i]));
        words[i] = got == static_cast<ssize_t>(sizeof word) ? word : 0;
    }
    return words;
}

Result<DirectInspector::Place> DirectInspector::place_of(UniqueFd fd,
                                                         const std::filesystem::path& process) {
    TRY(mounts_.check_local(fd.get(), process));
    struct statx facts {};
    if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &facts) != 0)
        return system_error("statx");
    if (!S_ISREG(facts.stx_mode)) return make_error(ErrorKind::Denied, "is not a regular file");
    TRY_ASSIGN(const Mount mount, mounts_.mount_of(fd.get(), process));
    Place place{std::move(fd), {}};
    place.identity.device = device_number(facts.stx_dev_major, facts.stx_dev_minor);
    place.identity.inode = facts.stx_ino;
    place.identity.size_bytes = facts.stx_size;
    place.identity.changed_ns = facts.stx_ctime.tv_sec * 1'000'000'000LL + facts.stx_ctime.tv_nsec;
    // Root in a container writes as root too, but its files must not affect other containers.
    place.identity.only_root_writes = mount.set_uid_counts && facts.stx_uid == 0 &&
                                      (facts.stx_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                                      !is_container(read_party(process, facts.stx_uid));
    return place;
}

// Finds the mapped file itself, even if it was deleted or is in another mount namespace.
Result<DirectInspector::Place> DirectInspector::find_mapped(const NamedMapping& mapping) {
    const auto process = folder_of(mapping.mapping.pid);
    const auto device = [&] {
        std::uint64_t of_mapping = 0;
        for_each_code_mapping(process, mapping.mapping.pid,
                              [&](const lagtrap_mapping& found, std::string_view) {
                                  if (found.start == mapping.mapping.start)
                                      of_mapping = found.device;
                                  return of_mapping == 0;
                              });
        return of_mapping;
    };
    if (const std::string server = mounts_.server_behind(process, device); !server.empty())
        return MountFinder::not_local(server);
    TRY_ASSIGN(
        UniqueFd fd,
        open_resolved(AT_FDCWD, process / "map_files" / range_of(mapping.mapping), O_PATH, 0, 0));
    return place_of(std::move(fd), process);
}

Result<DirectInspector::Place> DirectInspector::find_program(std::uint32_t pid) {
    const auto process = folder_of(pid);
    std::error_code failed;
    const std::string program = std::filesystem::read_symlink(process / "exe", failed).string();
    const auto device = [&] {
        std::uint64_t of_program = 0;
        for_each_code_mapping(process, pid,
                              [&](const lagtrap_mapping& found, std::string_view path) {
                                  if (path == program) of_program = found.device;
                                  return of_program == 0;
                              });
        return of_program;
    };
    if (const std::string server = mounts_.server_behind(process, device); !server.empty())
        return MountFinder::not_local(server);
    TRY_ASSIGN(UniqueFd fd, open_resolved(AT_FDCWD, process / "exe", O_PATH, 0, 0));
    return place_of(std::move(fd), process);
}

// Finds the file by its path below `root` and checks that it is the mapped one. If the mapping has
// no inode number, the caller must compare build ids.
Result<DirectInspector::Place> DirectInspector::find_by_path(const std::filesystem::path& process,
                                                             const std::filesystem::path& root,
                                                             const NamedMapping& mapping) {
    std::filesystem::path path(mapping.path);
    if (mapping.path.ends_with(deleted_mark))
        path = mapping.path.substr(0, mapping.path.size() - deleted_mark.size());
    TRY_ASSIGN(UniqueFd folder, open_resolved(AT_FDCWD, root, O_PATH | O_DIRECTORY, 0, 0));
    TRY_ASSIGN(UniqueFd fd, walk_to(std::move(folder), path, [&](int place) {
                   return mounts_.check_local(place, process);
               }));
    TRY_ASSIGN(Place place, place_of(std::move(fd), process));
    if (mapping.mapping.inode != 0 && mapping.mapping.inode != place.identity.inode)
        return make_error(ErrorKind::Vanished, "a different file is there now");
    return place;
}

Result<DirectInspector::Place> DirectInspector::find(const NamedMapping& mapping) {
    if (!mapping.path.starts_with('/') || mapping.path.starts_with("//"))
        return make_error(ErrorKind::Denied, "is not a file");
    const auto process = folder_of(mapping.mapping.pid);
    std::error_code failed;
    if (std::filesystem::exists(process / "mountinfo", failed)) {
        auto place = find_mapped(mapping);
        if (place || place.error().kind == ErrorKind::Unsupported ||
            mapping.path.starts_with(memory_file))
            return place;
        place = find_by_path(process, process / "root", mapping);
        if (place || place.error().kind == ErrorKind::Unsupported) return place;
    }
    return find_by_path("/proc/self", machine_root(), mapping);
}

std::vector<Result<CodeFileIdentity>> DirectInspector::identify(
    const std::vector<NamedMapping>& mappings) {
    std::vector<Result<CodeFileIdentity>> identities;
    identities.reserve(mappings.size());
    for (const NamedMapping& mapping : mappings) {
        const auto place = find(mapping);
        identities.push_back(place ? Result<CodeFileIdentity>(place->identity) : place.error());
    }
    mounts_.end_request();
    return identities;
}

// Opens a place for reading after it was checked.
Result<OpenedFile> DirectInspector::reopen(const Result<Place>& place) const {
    if (!place) return place.error();
    if (may_open_) TRY(may_open_(place->identity.device));
    TRY_ASSIGN(UniqueFd file, reopen_regular_file(place->fd.get()));
    const bool program = is_program(file.get());
    return OpenedFile{std::move(file), place->identity, program};
}

Result<OpenedFile> DirectInspector::open(const NamedMapping& mapping) {
    const auto place = find(mapping);
    mounts_.end_request();
    return reopen(place);
}

Result<OpenedFile> DirectInspector::open_program(std::uint32_t pid) {
    const auto place = find_program(pid);
    mounts_.end_request();
    return reopen(place);
}

Result<UniqueFd> DirectInspector::open_root(std::uint32_t pid) {
    return open_resolved(AT_FDCWD, folder_of(pid) / "root", O_PATH | O_DIRECTORY, 0, 0);
}

}  // namespace lagtrap::daemon
