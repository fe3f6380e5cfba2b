#include "cli/control/process_name.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t max_listed = 10;
constexpr std::size_t shown_bytes = 60;

std::uint32_t number_of(const std::string& text) {
    std::uint32_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// For other users' processes, only the name is readable.
bool has_name(const std::filesystem::path& process, const std::string& name) {
    auto shown = read_file(process / "comm", 64);
    if (shown && !shown->empty()) shown->pop_back();
    if (shown && *shown == name) return true;
    std::error_code failed;
    return std::filesystem::read_symlink(process / "exe", failed).filename() == name;
}

std::vector<std::uint32_t> processes_that(const std::filesystem::path& proc_root,
                                          const auto& fits) {
    std::vector<std::uint32_t> found;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(proc_root, failed)) {
        const std::uint32_t number = number_of(entry.path().filename().string());
        if (number != 0 && fits(entry.path())) found.push_back(number);
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string command_of(const std::filesystem::path& process) {
    auto command = read_file(process / "cmdline", 4096);
    if (!command) return {};
    std::replace(command->begin(), command->end(), '\0', ' ');
    while (!command->empty() && command->back() == ' ') command->pop_back();
    return printable(command->substr(0, shown_bytes));
}

}  // namespace

Result<std::uint32_t> find_process(const std::string& text,
                                   const std::filesystem::path& proc_root) {
    std::error_code failed;
    if (const std::uint32_t number = number_of(text); number != 0) {
        if (std::filesystem::exists(proc_root / text, failed)) return number;
        return make_error(ErrorKind::NotFound, fmt::format("no process {}", number));
    }
    const std::vector<std::uint32_t> found = processes_named(text, proc_root);
    if (found.size() == 1) return found.front();
    if (found.empty())
        return make_error(ErrorKind::NotFound,
                          fmt::format("no process is named {}; \"ps -e\" lists running processes",
                                      printable(text)));
    std::string message = fmt::format(
        "{} processes are named {}; choose one by its id:", found.size(), printable(text));
    for (std::size_t i = 0; i < std::min(found.size(), max_listed); ++i)
        message += fmt::format("\n  {:>7}  {}", found[i],
                               command_of(proc_root / std::to_string(found[i])));
    if (found.size() > max_listed)
        message += fmt::format("\n  and {} more", found.size() - max_listed);
    return make_error(ErrorKind::Invalid, message);
}

std::vector<std::uint32_t> processes_named(const std::string& name,
                                           const std::filesystem::path& proc_root) {
    return processes_that(proc_root, [&](const auto& process) { return has_name(process, name); });
}

std::vector<std::uint32_t> processes_of_unit(const std::string& unit,
                                             const std::filesystem::path& proc_root) {
    return processes_that(proc_root,
                          [&](const auto& process) { return is_in_unit(process, unit); });
}

bool is_in_unit(const std::filesystem::path& process, const std::string& unit) {
    constexpr std::size_t cgroup_file_bytes = 64 * 1024;
    const auto groups = read_file(process / "cgroup", cgroup_file_bytes);
    if (!groups) return false;
    std::istringstream lines(*groups);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream parts(line.substr(std::min(line.size(), line.find('/'))));
        for (std::string part; std::getline(parts, part, '/');)
            if (part == unit) return true;
    }
    return false;
}

}  // namespace lagtrap::cli
