#include "cli/add/add_target.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <sstream>

#include "cli/control/process_name.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

std::uint32_t number_of(const std::string& text) {
    std::uint32_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// Keeps the processes of the program that most of them run.
AddTarget target_of(std::vector<MappedProcess> processes) {
    std::map<std::string, std::size_t> counts;
    for (const MappedProcess& process : processes) ++counts[process.files.front()];
    AddTarget target;
    std::size_t most = 0;
    for (const auto& [program, count] : counts)
        if (count > most) {
            most = count;
            target.program = program;
        }
    for (MappedProcess& process : processes)
        if (process.files.front() == target.program) target.processes.push_back(std::move(process));
    if (target.program.ends_with(deleted_mark)) {
        target.program.resize(target.program.size() - deleted_mark.size());
        target.outdated = true;
    }
    const std::string& link = target.processes.front().link;
    target.name = link.empty() ? target.program : link;
    return target;
}

std::vector<MappedProcess> chosen(const std::vector<MappedProcess>& all, const auto& fits) {
    std::vector<MappedProcess> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), fits);
    return some;
}

bool has_name(const MappedProcess& process, const std::string& name) {
    if (process.name == name) return true;
    return !process.files.empty() && (fs::path(process.files.front()).filename() == name ||
                                      fs::path(process.link).filename() == name);
}

fs::path program_in_path(const std::string& name) {
    const char* const folders = std::getenv("PATH");
    std::istringstream list(std::string(folders ? folders : "") + ":/usr/sbin:/usr/libexec");
    for (std::string folder; std::getline(list, folder, ':');) {
        const fs::path file = fs::path(folder) / name;
        if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

AddTarget target_of_file(const fs::path& file, const std::vector<MappedProcess>& all) {
    std::error_code failed;
    const fs::path whole = fs::canonical(file, failed);
    const std::string path = failed ? file.string() : whole.string();
    return {
        path,
        fs::absolute(file).lexically_normal().string(),
        {},
        chosen(all, [&](const MappedProcess& process) { return process.files.front() == path; })};
}

}  // namespace

fs::path file_of(const AddTarget& target, const MappedProcess& process) {
    const fs::path folder = fs::path("/proc") / std::to_string(process.pid);
    return target.outdated ? folder / "exe"
                           : folder / "root" / fs::path(target.program).relative_path();
}

fs::path readable_file(const AddTarget& target) {
    return target.processes.empty() ? fs::path(target.program)
                                    : file_of(target, target.processes.front());
}

Result<AddTarget> find_target(const std::string& text, const fs::path& proc_root) {
    auto all = mapped_processes(proc_root);
    std::erase_if(all, [](const MappedProcess& process) {
        return process.pid == static_cast<std::uint32_t>(::getpid()) || process.files.empty();
    });
    if (const std::uint32_t pid = number_of(text); pid != 0) {
        auto found = chosen(all, [&](const MappedProcess& process) { return process.pid == pid; });
        if (found.empty())
            return make_error(
                ErrorKind::NotFound,
                "no process " + text + ", or it is a kernel thread, or only root can inspect it");
        return target_of(std::move(found));
    }
    std::error_code ignored;
    if (text.find('/') != std::string::npos) {
        if (!fs::is_regular_file(text, ignored))
            return make_error(ErrorKind::NotFound, "no such program: " + printable(text));
        return target_of_file(text, all);
    }
    const std::string unit = text.find('.') == std::string::npos ? text + ".service" : text;
    if (text == unit) {
        auto found = chosen(all, [&](const auto& one) {
            return is_in_unit(proc_root / std::to_string(one.pid), unit);
        });
        if (found.empty())
            return make_error(ErrorKind::NotFound,
                              "the unit " + printable(unit) + " has no processes");
        AddTarget target = target_of(std::move(found));
        target.unit = unit;
        return target;
    }
    auto named = chosen(all, [&](const MappedProcess& process) { return has_name(process, text); });
    if (!named.empty()) return target_of(std::move(named));
    if (auto found = chosen(
            all,
            [&](const auto& one) { return is_in_unit(proc_root / std::to_string(one.pid), unit); });
        !found.empty()) {
        AddTarget target = target_of(std::move(found));
        target.unit = unit;
        return target;
    }
    if (const fs::path file = program_in_path(text); !file.empty())
        return target_of_file(file, all);
    return make_error(ErrorKind::NotFound,
                      "no process, unit, or program in PATH is named " + printable(text));
}

}  // namespace lagtrap::cli
