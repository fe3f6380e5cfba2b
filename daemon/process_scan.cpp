#include "daemon/process_scan.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "binaries/program_file.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "daemon/mapped_file.hpp"
#include "daemon/started_path.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t maps_limit_bytes = 32ULL << 20;
constexpr std::uint64_t text_limit_bytes = 4096;

using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
using BuildIds = std::map<FileIdentity, std::string>;

// An executable line of a maps file.
struct MapsLine {
    std::uint64_t start = 0, end = 0, offset = 0, device = 0, inode = 0;
    std::string_view path;
};

std::optional<MapsLine> parse_maps_line(const std::string& line) {
    unsigned long start = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    std::array<char, 5> access{};
    int path_at = -1;
    const int fields = std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, access.data(), &offset,
                                   &major_number, &minor_number, &inode, &path_at);
    if (fields < 7 || access[2] != 'x') return std::nullopt;
    MapsLine parsed{start, end, offset, std::uint64_t{major_number} << 32 | minor_number, inode, {}};
    if (path_at > 0 && static_cast<std::size_t>(path_at) < line.size())
        parsed.path = std::string_view(line).substr(path_at);
    return parsed;
}

void add_mappings(RecordBuffer& records, const std::filesystem::path& process, std::uint32_t pid, BuildIds& build_ids) {
    const auto maps = read_file(process / "maps", maps_limit_bytes);
    if (!maps) return;
    std::size_t at = 0;
    while (at < maps->size()) {
        const std::size_t line_end = std::min(maps->find('\n', at), maps->size());
        const std::string text = maps->substr(at, line_end - at);
        at = line_end + 1;
        const auto line = parse_maps_line(text);
        if (!line) continue;
        lagtrap_mapping mapping{};
        mapping.header = {0, LAGTRAP_RECORD_MAPPING, 0, monotonic_ns()};
        mapping.pid = pid;
        mapping.start = line->start;
        mapping.length = line->end - line->start;
        mapping.file_offset = line->offset;
        mapping.device = line->device;
        mapping.inode = line->inode;
        const std::string path(line->path.substr(0, text_limit_bytes));
        if (line->inode != 0) {
            const auto [known, is_new] = build_ids.try_emplace(FileIdentity{line->device, line->inode});
            if (is_new) {
                const UniqueFd file = open_mapped_file(process, mapping, path);
                if (file.valid()) known->second = binaries::read_build_id(file.get());
            }
            set_build_id(mapping, known->second);
        }
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        records.append(&mapping, sizeof(mapping), path);
    }
}

// The program of a process; empty where it may not be known. nullopt: a thread of the kernel, or what is left of a process.
std::optional<std::string> read_program(const std::filesystem::path& process) {
    std::array<char, text_limit_bytes> target{};
    const ssize_t bytes = ::readlink((process / "exe").c_str(), target.data(), target.size());
    if (bytes < 0 && errno == ENOENT) return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
}

// First `text_limit_bytes` of the command line, as the kernel has it.
std::string read_command_line(const std::filesystem::path& process) {
    const auto fd = open_file(process / "cmdline", O_RDONLY);
    if (!fd) return {};
    std::array<char, text_limit_bytes> text{};
    const ssize_t bytes = ::read(fd->get(), text.data(), text.size());
    std::string line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    while (!line.empty() && line.back() == '\0') line.pop_back();
    return line;
}

std::string parted_by_spaces(std::string arguments) {
    std::replace(arguments.begin(), arguments.end(), '\0', ' ');
    return arguments;
}

// The control group that says what the process belongs to: of version 2, else systemd's own, else the first below a root.
std::string read_control_group(const std::filesystem::path& process) {
    const auto text = read_file(process / "cgroup", 64 * 1024);
    if (!text) return {};
    std::string found;
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        const std::string_view line = std::string_view(*text).substr(at, end - at);  // "NUMBER:CONTROLLERS:PATH"
        at = end + 1;
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view path = line.substr(second + 1, text_limit_bytes);
        if (path == "/" || path.empty()) continue;
        if (controllers.empty()) return std::string(path);
        if (controllers == "name=systemd" || found.empty()) found = path;
    }
    return found;
}

std::uint32_t status_number(const std::string& status, std::string_view label) {
    std::uint32_t number = 0;
    if (const auto at = status.find(label); at != std::string::npos) {
        const auto digits = status.find_first_of("0123456789", at);
        if (digits != std::string::npos) std::from_chars(status.data() + digits, status.data() + status.size(), number);
    }
    return number;
}

void add_process(RecordBuffer& records, const std::filesystem::path& process, std::uint32_t pid) {
    const auto program = read_program(process);
    if (!program) return;
    const auto status = read_file(process / "status", 64 * 1024);
    if (!status) return;
    const std::string arguments = read_command_line(process);
    const std::string command = arguments.substr(0, arguments.find('\0'));
    std::string text = *program + '\0' + parted_by_spaces(arguments) + '\0' + read_control_group(process);
    if (const std::string started = started_path(process, *program, command); !started.empty()) text += '\0' + started;
    lagtrap_process record{};
    record.header = {0, LAGTRAP_RECORD_PROCESS, 0, monotonic_ns()};
    record.pid = pid;
    record.parent_pid = status_number(*status, "\nPPid:");
    record.uid = status_number(*status, "\nUid:");
    record.text_bytes = static_cast<std::uint32_t>(text.size());
    records.append(&record, sizeof(record), text);
}

}  // namespace

void RecordBuffer::append(const void* record, std::size_t size, std::string_view text) {
    const std::size_t bytes = size + text.size();
    const std::size_t at = words_.size();
    words_.resize(at + (bytes + 7) / 8);
    char* const place = reinterpret_cast<char*>(words_.data() + at);
    std::memcpy(place, record, size);
    text.copy(place + size, text.size());
    reinterpret_cast<lagtrap_record*>(place)->size_bytes = static_cast<std::uint32_t>(bytes);
}

void ProcessScan::add(std::uint32_t pid) { add(pid, Code::Read); }

void ProcessScan::add(std::uint32_t pid, Code code) {
    if (!added_.insert(pid).second) return;
    const auto process = proc_root_ / std::to_string(pid);
    add_process(records_, process, pid);
    if (code == Code::Read) add_mappings(records_, process, pid, build_ids_);
}

void ProcessScan::add_others(Code code) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(proc_root_.c_str()), ::closedir);
    if (!directory) return;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        std::uint32_t pid = 0;
        const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (failure == std::errc{} && end == name.data() + name.size()) add(pid, code);
    }
}

}  // namespace lagtrap::daemon
