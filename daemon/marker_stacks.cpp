#include "daemon/marker_stacks.hpp"

#include <algorithm>
#include <string_view>

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t processes_limit = 4'096;
// A process that maps code all the time is not looked at each time.
constexpr auto look_interval = 200ms;

}  // namespace

void MarkerStacks::clear() {
    stacks_.clear();
    processes_.clear();
    modules_ = trace::ModuleTable();
}

// What a process has mapped now takes the place of what it had.
void MarkerStacks::look_at(std::uint32_t pid, Process& process) {
    process.next_look = std::chrono::steady_clock::now() + look_interval;
    ProcessScan scan(proc_root_);
    scan.add(pid);
    if (scan.records().empty()) return;
    process.mappings.clear();
    scan.records().for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_MAPPING) return;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        const std::string path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
        if (!path.starts_with('/')) return;
        const std::string build_id(reinterpret_cast<const char*>(mapping.build_id), mapping.build_id_bytes);
        const trace::ModuleUser user{pid, mapping.start, mapping.start + mapping.length};
        const auto module = modules_.intern(path, build_id, mapping.device, mapping.inode, user);
        process.mappings[mapping.start] = {mapping.start + mapping.length, mapping.file_offset, module};
    });
}

const MarkerStacks::Mapping* MarkerStacks::mapping_at(const Process& process, std::uint64_t address,
                                                      std::uint64_t& start) const {
    auto after = process.mappings.upper_bound(address);
    if (after == process.mappings.begin()) return nullptr;
    --after;
    start = after->first;
    return address < after->second.end ? &after->second : nullptr;
}

void MarkerStacks::take(const lagtrap_stack& stack) {
    if (processes_.size() >= processes_limit) processes_.clear();
    Process& process = processes_[stack.pid];
    std::vector<MarkerPlace> places;
    places.reserve(stack.frame_count);
    for (std::uint16_t i = 0; i < stack.frame_count; ++i) {
        // All but the innermost are return addresses: the call lies before them.
        const std::uint64_t address = i > 0 && stack.frames[i] > 0 ? stack.frames[i] - 1 : stack.frames[i];
        std::uint64_t start = 0;
        const Mapping* mapping = mapping_at(process, address, start);
        if (!mapping && std::chrono::steady_clock::now() >= process.next_look) {
            look_at(stack.pid, process);
            mapping = mapping_at(process, address, start);
        }
        if (mapping)
            places.push_back({mapping->module, address - start + mapping->file_offset});
        else
            places.push_back({trace::unknown_module, address});
    }
    stacks_.insert_or_assign(stack.stack_id, std::move(places));
}

const std::vector<MarkerPlace>* MarkerStacks::find(std::uint64_t stack_id) const {
    const auto found = stacks_.find(stack_id);
    return found == stacks_.end() ? nullptr : &found->second;
}

}  // namespace lagtrap::daemon
