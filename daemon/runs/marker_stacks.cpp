#include "daemon/runs/marker_stacks.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t processes_limit = 4'096;
constexpr std::uint32_t texts_limit_bytes = 4U << 20;  // for the paths of one process
// Do not inspect a process every time that it maps code, and even less often if inspecting it takes
// long.
constexpr auto look_interval = 200ms;
constexpr int pause_by_cost = 50;
constexpr auto long_pause = 1s;  // longer pauses are reported

}  // namespace

void MarkerStacks::clear() {
    stacks_.clear();
    processes_.clear();
    all_mappings_ = 0;
    modules_ = trace::ModuleTable();
}

// Replaces the mappings of a process with the current ones.
void MarkerStacks::read_mappings(std::uint32_t pid, Process& process) {
    ScanLimits limits;
    limits.process = {static_cast<std::uint32_t>(mappings_limit), texts_limit_bytes};
    ProcessScan scan(proc_root_, limits);
    scan.add(pid);
    if (scan.records().empty()) return;
    all_mappings_ -= process.mappings.size();
    process.mappings.clear();
    std::set<trace::ModuleId> modules;
    scan.records().for_each([&](const lagtrap_record* record) {
        if (record->type != LAGTRAP_RECORD_MAPPING || process.mappings.size() >= mappings_limit)
            return;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        const std::string path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
        if (!path.starts_with('/') || modules.size() >= modules_of_process_limit) return;
        const std::string build_id(reinterpret_cast<const char*>(mapping.build_id),
                                   mapping.build_id_bytes);
        const trace::ModuleUser user{pid, mapping.start, mapping.start + mapping.length};
        const auto module = modules_.intern(path, build_id, mapping.device, mapping.inode, user);
        modules.insert(module);
        process.mappings[mapping.start] = {mapping.start + mapping.length, mapping.file_offset,
                                           module};
    });
    all_mappings_ += process.mappings.size();
}

bool MarkerStacks::look_at(std::uint32_t pid, Process& process) {
    const auto begin = now_();
    if (begin < process.next_look) {
        if (process.costly) budget_.note_put_off(process.user);
        return false;
    }
    struct stat owner {};
    const auto folder = proc_root_ / std::to_string(pid);
    if (::stat(folder.c_str(), &owner) != 0) return false;
    const Party party = read_party(folder, owner.st_uid);
    if (!budget_.may_look(party, begin)) return false;
    read_mappings(pid, process);
    const auto end = now_();
    budget_.charge(party, end - begin, end);
    process.user = party;
    process.costly = pause_by_cost * (end - begin) > long_pause;
    process.next_look = end + std::max<std::chrono::steady_clock::duration>(
                                  look_interval, pause_by_cost * (end - begin));
    return true;
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
    if (processes_.size() >= processes_limit || all_mappings_ >= all_mappings_limit) {
        processes_.clear();
        all_mappings_ = 0;
    }
    Process& process = processes_[stack.pid];
    std::vector<MarkerPlace> places;
    places.reserve(stack.frame_count);
    for (std::uint16_t i = 0; i < stack.frame_count; ++i) {
        // All frames except the innermost are return addresses; the call is before them.
        const std::uint64_t address =
            i > 0 && stack.frames[i] > 0 ? stack.frames[i] - 1 : stack.frames[i];
        std::uint64_t start = 0;
        const Mapping* mapping = mapping_at(process, address, start);
        if (!mapping && look_at(stack.pid, process)) mapping = mapping_at(process, address, start);
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
