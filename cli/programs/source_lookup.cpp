#include "cli/programs/source_lookup.hpp"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "binaries/dwarf/place_names.hpp"
#include "cli/bundles/confined_reading.hpp"
#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"
#include "trace/processes/module_files.hpp"

namespace lagtrap::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t functions_limit = 4096;
constexpr std::size_t maps_limit_bytes = 16 << 20;
constexpr std::chrono::milliseconds cpu_time_limit = 2s;

std::optional<trace::RecordedModule> module_of(std::string_view line, std::uint32_t pid) {
    const auto mapping = parse_maps_line(line);
    if (!mapping || !mapping->path.starts_with('/')) return std::nullopt;
    trace::RecordedModule module;
    module.path = mapping->path;
    module.device = mapping->device;
    module.inode = mapping->inode;
    module.users.push_back({pid, mapping->start, mapping->end});
    return module;
}

std::map<std::string, trace::RecordedModule> modules_of(std::uint32_t pid) {
    std::map<std::string, trace::RecordedModule> modules;
    const auto maps = read_file(fmt::format("/proc/{}/maps", pid), maps_limit_bytes);
    if (!maps) return modules;
    for (std::size_t at = 0, end = 0; (end = maps->find('\n', at)) != std::string::npos;
         at = end + 1)
        if (auto module = module_of(std::string_view(*maps).substr(at, end - at), pid))
            modules.try_emplace(printable(module->path), std::move(*module));
    return modules;
}

}  // namespace

void find_sources(std::vector<calls::Function>& functions, std::uint32_t pid) {
    const auto reading = ConfinedReading::start();
    if (!reading) return;
    // by file and offset
    std::map<std::string, std::map<std::uint64_t, std::vector<std::size_t>>> wanted;
    for (std::size_t number = 0; number < std::min(functions.size(), functions_limit); ++number)
        if (functions[number].line == 0)
            wanted[functions[number].module][functions[number].entry].push_back(number);
    const auto modules = modules_of(pid);
    const auto until = std::chrono::steady_clock::now() + cpu_time_limit;
    for (const auto& [path, places] : wanted) {
        const auto module = modules.find(path);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            until - std::chrono::steady_clock::now());
        if (module == modules.end() || left.count() <= 0) continue;
        const auto file = trace::find_module_file(module->second, "/proc");
        if (!file) continue;
        binaries::PlaceNamesRequest request;
        request.path = file->path;
        request.cpu_time = left;
        for (const auto& [offset, numbers] : places) request.offsets.push_back(offset);
        const auto named = binaries::name_places(file->fd, request);
        if (!named) continue;
        std::size_t place = 0;
        for (const auto& [offset, numbers] : places) {
            const auto& frames = named->places.at(place++).frames;
            if (frames.empty() || frames.back().line == 0) continue;
            // If functions are inlined at its begin, the last frame is the function itself.
            for (const std::size_t number : numbers) {
                functions[number].source = printable(frames.back().file);
                functions[number].line = frames.back().line;
            }
        }
    }
}

}  // namespace lagtrap::cli
