#include "cli/control/process_name.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t most_listed = 10;
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

std::string command_of(const std::filesystem::path& process) {
    auto command = read_file(process / "cmdline", 4096);
    if (!command) return {};
    std::replace(command->begin(), command->end(), '\0', ' ');
    while (!command->empty() && command->back() == ' ') command->pop_back();
    return printable(command->substr(0, shown_bytes));
}

}  // namespace

Result<std::uint32_t> find_process(const std::string& text, const std::filesystem::path& proc_root) {
    std::error_code failed;
    if (const std::uint32_t number = number_of(text); number != 0) {
        if (std::filesystem::exists(proc_root / text, failed)) return number;
        return make_error(ErrorKind::NotFound, fmt::format("no process {}", number));
    }
    std::vector<std::uint32_t> found;
    for (const auto& entry : std::filesystem::directory_iterator(proc_root, failed)) {
        const std::uint32_t number = number_of(entry.path().filename().string());
        if (number != 0 && has_name(entry.path(), text)) found.push_back(number);
    }
    std::sort(found.begin(), found.end());
    if (found.size() == 1) return found.front();
    if (found.empty())
        return make_error(ErrorKind::NotFound,
                          fmt::format("no process is named {}; \"ps -e\" lists running processes", printable(text)));
    std::string message =
        fmt::format("{} processes are named {}; choose one by its id:", found.size(), printable(text));
    for (std::size_t i = 0; i < std::min(found.size(), most_listed); ++i)
        message += fmt::format("\n  {:>7}  {}", found[i], command_of(proc_root / std::to_string(found[i])));
    if (found.size() > most_listed) message += fmt::format("\n  and {} more", found.size() - most_listed);
    return make_error(ErrorKind::Invalid, message);
}

}  // namespace lagtrap::cli
