#include "daemon/processes/process_texts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "daemon/processes/process_context.hpp"
#include "daemon/processes/started_path.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t maps_limit_bytes = 32ULL << 20;
constexpr std::uint64_t text_limit_bytes = 4096;
// A line of maps is shorter: its path is at most a page, with each byte as \\ooo.
constexpr std::size_t piece_bytes = 64 * 1024;

// Parses an executable line of a maps file; nullopt for others.
std::optional<lagtrap_mapping> code_mapping_of(std::string_view line, std::string_view& path) {
    const auto known = parse_maps_line(line);
    if (!known || !known->executable) return std::nullopt;
    lagtrap_mapping mapping{};
    mapping.header.type = LAGTRAP_RECORD_MAPPING;
    mapping.start = known->start;
    mapping.length = known->end - known->start;
    mapping.file_offset = known->file_offset;
    mapping.device = known->device;
    mapping.inode = known->inode;
    path = known->path.substr(0, text_limit_bytes);
    mapping.path_bytes = static_cast<std::uint16_t>(path.size());
    return mapping;
}

// The path of a process's program; empty if access is denied. nullopt for kernel threads and
// zombies.
std::optional<std::string> read_program(const std::filesystem::path& process) {
    std::array<char, text_limit_bytes> target{};
    const ssize_t bytes = ::readlink((process / "exe").c_str(), target.data(), target.size());
    if (bytes < 0 && errno == ENOENT) return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
}

// First `text_limit_bytes` of the command line, unchanged.
std::string read_command_line(const std::filesystem::path& process) {
    const auto fd = open_file(process / "cmdline", O_RDONLY);
    if (!fd) return {};
    std::array<char, text_limit_bytes> text{};
    const ssize_t bytes = ::read(fd->get(), text.data(), text.size());
    std::string line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    while (!line.empty() && line.back() == '\0') line.pop_back();
    return line;
}

std::uint32_t status_number(const std::string& status, std::string_view label) {
    std::uint32_t number = 0;
    if (const auto at = status.find(label); at != std::string::npos) {
        const auto digits = status.find_first_of("0123456789", at);
        if (digits != std::string::npos)
            std::from_chars(status.data() + digits, status.data() + status.size(), number);
    }
    return number;
}

// Reads the file piece by piece. Stops if visit(line) returns false.
template <typename Visit>
void for_each_maps_line(const std::filesystem::path& process, Visit&& visit) {
    const auto file = open_file(process / "maps", O_RDONLY);
    if (!file) return;
    std::vector<char> piece(piece_bytes);
    std::string text;  // read but not parsed yet
    for (std::uint64_t read_bytes = 0; read_bytes < maps_limit_bytes;) {
        const ssize_t got = ::read(file->get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        read_bytes += static_cast<std::uint64_t>(got);
        text.append(piece.data(), static_cast<std::size_t>(got));
        std::size_t at = 0;
        for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
            if (!visit(std::string_view(text).substr(at, end - at))) return;
        text.erase(0, at);
    }
}

}  // namespace

std::string control_group_of(const std::filesystem::path& process) {
    const auto text = read_file(process / "cgroup", 64 * 1024);
    if (!text) return {};
    std::string found;
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\n', at), text->size());
        // "NUMBER:CONTROLLERS:PATH"
        const std::string_view line = std::string_view(*text).substr(at, end - at);
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

void describe_process(const std::filesystem::path& process, std::uint32_t pid,
                      CommandLines command_lines, RecordBuffer& records) {
    const auto program = read_program(process);
    if (!program) return;
    const auto status = read_file(process / "status", 64 * 1024);
    if (!status) return;
    const std::string arguments = read_command_line(process);
    const std::string command = arguments.substr(0, arguments.find('\0'));
    std::string text = *program + '\0' + shown_command_line(arguments, command_lines) + '\0' +
                       control_group_of(process);
    if (const std::string started = started_path(process, *program, command); !started.empty())
        text += '\0' + started;
    lagtrap_process record{};
    record.header = {0, LAGTRAP_RECORD_PROCESS, 0, monotonic_ns()};
    record.pid = pid;
    record.parent_pid = status_number(*status, "\nPPid:");
    record.uid = status_number(*status, "\nUid:");
    record.text_bytes = static_cast<std::uint32_t>(text.size());
    records.append(&record, sizeof(record), text);
}

void for_each_code_mapping(const std::filesystem::path& process, std::uint32_t pid,
                           const OnMapping& visit) {
    for_each_maps_line(process, [&](std::string_view line) {
        std::string_view path;
        auto mapping = code_mapping_of(line, path);
        if (!mapping) return true;
        mapping->pid = pid;
        mapping->header.at_ns = monotonic_ns();
        return visit(*mapping, path);
    });
}

std::optional<std::uint64_t> context_mapping_of(const std::filesystem::path& process) {
    std::optional<std::uint64_t> found;
    for_each_maps_line(process, [&](std::string_view line) {
        if (line.find("OTEL_CTX") == std::string_view::npos) return true;
        const auto mapping = parse_maps_line(line);
        if (mapping && is_context_mapping(mapping->path)) found = mapping->start;
        return !found;
    });
    return found;
}

Result<std::uint32_t> user_of(const std::filesystem::path& process) {
    TRY_ASSIGN(const std::string status, read_file(process / "status", 64 * 1024));
    return status_number(status, "\nUid:");
}

}  // namespace lagtrap::daemon
