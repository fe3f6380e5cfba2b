#include "cli/watch/watch_check.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "core/text.hpp"
#include "settings/preset.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::cli {
namespace {

Status check_preset(const std::string& name) {
    const auto file = settings::find_preset(name);
    if (file) return success();
    const std::string question = settings::ask_about_preset(name);
    return make_error(ErrorKind::NotFound,
                      file.error().message + "; " +
                          (question.empty() ? "`lagtrap presets` lists all" : question));
}

}  // namespace

Status check_syscall(const std::string& name, const std::vector<std::string>& known) {
    constexpr std::string_view prefix = "sys_enter_";
    std::vector<std::string> names;
    for (const std::string& tracepoint : known)
        if (tracepoint.starts_with(prefix)) names.push_back(tracepoint.substr(prefix.size()));
    if (names.empty() || std::find(names.begin(), names.end(), name) != names.end())
        return success();
    const std::string nearest = nearest_name(name, names);
    return make_error(
        ErrorKind::NotFound,
        "the kernel has no system call " + printable(name) + " to watch; " +
            (nearest.empty() ? "`lagtrap list-markers --tracepoints sys_enter_` lists them"
                             : "did you mean " + nearest + "?"));
}

Status check_calls_of(const std::filesystem::path& program) {
    std::array<char, EI_NIDENT> head{};
    std::ifstream(program, std::ios::binary).read(head.data(), head.size());
    if (!std::string_view(head.data(), head.size()).starts_with(ELFMAG) ||
        head[EI_CLASS] != ELFCLASS32)
        return success();
    return make_error(ErrorKind::Unsupported,
                      program.string() +
                          ": is a 32-bit program; only system calls of 64-bit programs can be "
                          "watched");
}

Status check_names(const WatchWish& wish) {
    if (!wish.preset.empty()) return check_preset(wish.preset);
    if (wish.syscall.empty()) return success();
    const auto tracefs = settings::TraceFs::open();
    return tracefs ? check_syscall(wish.syscall, tracefs->names("syscalls")) : success();
}

}  // namespace lagtrap::cli
