#include "core/mapped_files.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "core/files.hpp"

namespace lagtrap {
namespace {

constexpr std::uint64_t maps_limit_bytes = 32ULL << 20;

// Parses a number and removes it and the character after it.
bool take_number(std::string_view& text, int base, std::uint64_t& into) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into, base);
    if (failed != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    return true;
}

}  // namespace

// "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234      /usr/bin/app"
std::optional<MapsLine> parse_maps_line(std::string_view line) {
    constexpr std::size_t access_size = 5;  // "r-xp "
    MapsLine mapping;
    std::uint64_t major_number = 0, minor_number = 0;
    if (!take_number(line, 16, mapping.start) || !take_number(line, 16, mapping.end))
        return std::nullopt;
    if (line.size() < access_size || mapping.end < mapping.start) return std::nullopt;
    mapping.executable = line[2] == 'x';
    line.remove_prefix(access_size);
    if (!take_number(line, 16, mapping.file_offset) || !take_number(line, 16, major_number) ||
        !take_number(line, 16, minor_number) || !take_number(line, 10, mapping.inode))
        return std::nullopt;
    mapping.device = major_number << 32 | minor_number;
    mapping.path = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    return mapping;
}

Result<std::vector<std::string>> mapped_files(const std::filesystem::path& process) {
    const std::string pid = process.filename().string();
    std::error_code failure;
    const std::string program = std::filesystem::read_symlink(process / "exe", failure).string();
    if (failure == std::errc::no_such_file_or_directory) {
        return make_error(ErrorKind::NotFound, "no process " + pid + ", or it is a kernel thread");
    }
    if (failure) return system_error("inspect process " + pid, failure.value());
    TRY_ASSIGN(const std::string maps, read_file(process / "maps", maps_limit_bytes));
    std::vector<std::string> files{program};
    std::set<std::string> seen{program};
    for (std::size_t begin = 0; begin < maps.size();) {
        const std::size_t end = std::min(maps.find('\n', begin), maps.size());
        const std::string_view line = std::string_view(maps).substr(begin, end - begin);
        begin = end + 1;
        const auto mapping = parse_maps_line(line);
        if (!mapping || !mapping->executable || !mapping->path.starts_with('/')) continue;
        if (seen.emplace(mapping->path).second) files.emplace_back(mapping->path);
    }
    return files;
}

}  // namespace lagtrap
