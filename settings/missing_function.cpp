#include "settings/missing_function.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "binaries/elf/library_paths.hpp"
#include "core/function_name.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"

namespace lagtrap::settings {
namespace {

using binaries::Function;
using binaries::ProgramFile;

constexpr std::size_t near_names_searched = 200'000;
constexpr std::size_t names_demangled = 1'000;
constexpr std::size_t max_compared_bytes = 200;

// The files mapped by the first process of the program, including libraries loaded at run time.
// Empty if there is no such process, or this user may not read its maps.
std::vector<std::string> mapped_by_a_process_of(const std::string& program) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        if (!std::filesystem::equivalent(entry.path() / "exe", program, ignored)) continue;
        if (auto files = mapped_files(entry.path())) return std::move(*files);
    }
    return {};
}

std::string last_part(const std::string& name) {
    const auto colons = name.rfind("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
}

// Of the functions with the same last part, the one nearest to `wanted`.
std::string same_in_other_scope(const std::vector<Function>& functions, const std::string& wanted) {
    const std::string part = last_part(wanted);
    std::set<std::string> candidates;
    std::size_t demangled = 0;
    for (const Function& function : functions) {
        if (!function.name.starts_with('_') || function.name.find(part) == std::string::npos)
            continue;
        if (++demangled > names_demangled) break;
        const std::string name = binaries::demangle_without_parameters(function.name);
        if (name != function.name && last_part(name) == part) candidates.insert(name);
    }
    const auto distance = [&](const std::string& name) {
        return edit_distance(without_anonymous_namespaces(name).substr(0, max_compared_bytes),
                             wanted);
    };
    const auto nearest =
        std::min_element(candidates.begin(), candidates.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    return nearest == candidates.end() ? std::string() : *nearest;
}

std::string slip_of(const std::vector<Function>& functions, const std::string& wanted) {
    std::set<std::string> near;
    for (std::size_t i = 0; i < functions.size() && i < near_names_searched; ++i) {
        const std::string& name = functions[i].name;
        const std::size_t difference =
            std::max(name.size(), wanted.size()) - std::min(name.size(), wanted.size());
        if (difference < wanted.size() / 3 + 2) near.insert(name);
    }
    return nearest_name(wanted, near);
}

}  // namespace

std::string library_hint(const std::string& program, const std::string& function) {
    std::vector<std::filesystem::path> libraries = binaries::libraries_of(program);
    for (const std::string& path : mapped_by_a_process_of(program))
        if (std::find(libraries.begin(), libraries.end(), path) == libraries.end())
            libraries.emplace_back(path);
    for (const auto& library : libraries) {
        const auto file = ProgramFile::open(library);
        const auto found =
            file ? file->find_functions(function) : Result<std::vector<Function>>(file.error());
        if (!found || found->empty()) continue;
        return fmt::format(
            "it is in binary=\"{}\", a library of this program; <scope binary=\"{}\"/> limits it "
            "to this program",
            printable(library.string()), printable(program));
    }
    return {};
}

std::string near_function(const ProgramFile& file, const std::string& function) {
    const auto functions = file.functions();
    const std::string wanted = without_anonymous_namespaces(without_parameters(function));
    if (!functions || wanted.empty() || wanted.size() > max_compared_bytes) return {};
    const std::string same = same_in_other_scope(*functions, wanted);
    return same.empty() ? slip_of(*functions, function) : same;
}

}  // namespace lagtrap::settings
