#include "trace/processes/address_spaces.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "trace/logs/record_stream.hpp"

namespace lagtrap::trace {
namespace {

constexpr int inheritance_limit = 64;
constexpr std::uint64_t any_time = std::numeric_limits<std::uint64_t>::max();

enum class When { Before, After };

// The mapping of `address` in the image's own list: the last one made at or before `at_ns`, or with
// When::After the first one made later.
const CodeMapping* find_in(const ProcessImage& image, std::uint64_t address, std::uint64_t at_ns,
                           When when) {
    const CodeMapping* best = nullptr;
    auto place = image.mappings.upper_bound(address);
    // A mapping may partly cover another one; mappings that start earlier may still reach this
    // address.
    for (int looked = 0; place != image.mappings.begin() && looked < 8; ++looked) {
        --place;
        for (const CodeMapping& mapping : place->second) {
            if (address >= mapping.end) continue;
            if ((mapping.at_ns <= at_ns) != (when == When::Before)) continue;
            if (best == nullptr ||
                (when == When::Before ? mapping.at_ns >= best->at_ns : mapping.at_ns < best->at_ns))
                best = &mapping;
        }
    }
    return best;
}

const CodeMapping* find_inherited(const ProcessImage& image, std::uint64_t address,
                                  std::uint64_t at_ns, When when) {
    const ProcessImage* here = &image;
    for (int depth = 0; here != nullptr && depth < inheritance_limit; ++depth) {
        if (const CodeMapping* found = find_in(*here, address, at_ns, when)) return found;
        at_ns = std::min(at_ns, here->from_ns);
        here = here->inherited.get();
    }
    return nullptr;
}

}  // namespace

// Names as the kernel writes them (fs/proc/task_mmu.c; "//anon" in perf's records). A memory file
// may contain a program; then it has a build id.
bool is_run_time_memory(std::string_view path, std::string_view build_id) {
    constexpr std::array<std::string_view, 9> beginnings{"//anon", "[anon",          "[heap]",
                                                         "[stack", "/anon_hugepage", "/dev/zero",
                                                         "/SYSV",  "/memfd:",        "anon_inode:"};
    if (path.empty()) return true;
    return build_id.empty() &&
           std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return path.starts_with(beginning); });
}

Status AddressSpaces::load(RecordStream& rundown) {
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, rundown.peek());
        if (record == nullptr) return success();
        take(record);
        rundown.pop();
    }
}

void AddressSpaces::take(const lagtrap_record* record) {
    switch (record->type) {
        case LAGTRAP_RECORD_PROCESS:
            take_process(*reinterpret_cast<const lagtrap_process*>(record));
            break;
        case LAGTRAP_RECORD_MAPPING:
            take_mapping(*reinterpret_cast<const lagtrap_mapping*>(record));
            break;
        case LAGTRAP_RECORD_FORK:
            take_fork(*reinterpret_cast<const lagtrap_task_change*>(record));
            break;
        case LAGTRAP_RECORD_NAME: take_exec(*reinterpret_cast<const lagtrap_name*>(record)); break;
        case LAGTRAP_RECORD_EXIT: {
            const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
            if (change.pid == change.tid) exited_[change.pid] = true;
            break;
        }
        default: break;
    }
}

ProcessImage& AddressSpaces::current(std::uint32_t pid, std::uint64_t at_ns) {
    Images& images = images_[pid];
    if (images.empty()) {
        images.push_back(std::make_shared<ProcessImage>());
        images.back()->from_ns = at_ns;
    }
    return *images.back();
}

void AddressSpaces::take_process(const lagtrap_process& process) {
    ProcessImage& image = current(process.pid, process.header.at_ns);
    image.parent_pid = process.parent_pid;
    image.uid = process.uid;
    const std::string_view text(reinterpret_cast<const char*>(&process + 1), process.text_bytes);
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end > 0) image.program = text.substr(0, end);
    if (end == text.size()) return;
    const std::size_t second = std::min(text.find('\0', end + 1), text.size());
    image.command_line = text.substr(end + 1, second - end - 1);
    if (second == text.size()) return;
    const std::size_t third = std::min(text.find('\0', second + 1), text.size());
    image.control_group = text.substr(second + 1, third - second - 1);
    if (third < text.size()) image.started_path = text.substr(third + 1);
}

void AddressSpaces::take_mapping(const lagtrap_mapping& mapping) {
    if (mapping.length == 0 || mapping.start + mapping.length < mapping.start) return;
    const std::string path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
    const std::string build_id(reinterpret_cast<const char*>(mapping.build_id),
                               mapping.build_id_bytes);
    const std::uint64_t end = mapping.start + mapping.length;
    ProcessImage& image = current(mapping.pid, mapping.header.at_ns);
    const ModuleId module = is_run_time_memory(path, build_id)
                                ? jit_module
                                : modules_.intern(path, build_id, mapping.device, mapping.inode,
                                                  {mapping.pid, mapping.start, end});
    if (image.program.empty() && path.starts_with('/')) image.program = path;
    image.mappings[mapping.start].push_back(
        {mapping.start, end, mapping.file_offset, mapping.header.at_ns, module});
}

void AddressSpaces::take_fork(const lagtrap_task_change& change) {
    if (change.pid == change.parent_pid || change.pid != change.tid) return;  // a thread
    Images& images = images_[change.pid];
    const bool alive = !images.empty() && !exited_[change.pid];
    exited_[change.pid] = false;
    if (!alive) {
        images.push_back(std::make_shared<ProcessImage>());
        images.back()->from_ns = change.header.at_ns;
    }
    ProcessImage& image = *images.back();
    image.from_ns = std::min<std::uint64_t>(image.from_ns, change.header.at_ns);
    image.forked = true;
    image.parent_pid = change.parent_pid;
    const auto parent = images_.find(change.parent_pid);
    if (parent == images_.end() || parent->second.empty()) return;
    const auto& inherited = parent->second.back();
    if (inherited.get() == &image || image.inherited != nullptr) return;
    image.inherited = inherited;
    image.uid = inherited->uid;
    if (image.program.empty()) {
        image.program = inherited->program;
        image.started_path = inherited->started_path;
    }
    if (image.command_line.empty()) image.command_line = inherited->command_line;
    if (image.control_group.empty()) image.control_group = inherited->control_group;
}

void AddressSpaces::take_exec(const lagtrap_name& name) {
    if (name.by_exec == 0) return;
    const ProcessImage& before = current(name.pid, name.header.at_ns);
    auto image = std::make_shared<ProcessImage>();
    image->from_ns = name.header.at_ns;
    image->by_exec = true;
    image->forked = before.forked;
    image->parent_pid = before.parent_pid;
    image->uid = before.uid;
    image->control_group = before.control_group;
    images_[name.pid].push_back(std::move(image));
}

const ProcessImage* AddressSpaces::image_of(std::uint32_t pid, std::uint64_t at_ns) const {
    const auto found = images_.find(pid);
    if (found == images_.end() || found->second.empty()) return nullptr;
    for (auto image = found->second.rbegin(); image != found->second.rend(); ++image)
        if ((*image)->from_ns <= at_ns) return image->get();
    return found->second.front().get();
}

CodePlace AddressSpaces::find(std::uint32_t pid, std::uint64_t address, std::uint64_t at_ns) const {
    const ProcessImage* image = image_of(pid, at_ns);
    if (image == nullptr) return {unknown_module, pid, address};
    const CodeMapping* mapping = find_inherited(*image, address, at_ns, When::Before);
    if (mapping == nullptr) mapping = find_inherited(*image, address, at_ns, When::After);
    if (mapping == nullptr) mapping = find_inherited(*image, address, any_time, When::Before);
    if (mapping == nullptr) return {unknown_module, pid, address};
    if (mapping->module == unknown_module || mapping->module == jit_module)
        return {mapping->module, pid, address};
    return {mapping->module, 0, address - mapping->start + mapping->file_offset};
}

std::string AddressSpaces::program_build_id(const ProcessImage& image) const {
    const ProcessImage* here = &image;
    for (int depth = 0; here != nullptr && depth < inheritance_limit; ++depth) {
        for (const auto& [start, mappings] : here->mappings)
            for (const CodeMapping& mapping : mappings)
                if (modules_.at(mapping.module).path == image.program)
                    return modules_.at(mapping.module).build_id;
        here = here->inherited.get();
    }
    return {};
}

}  // namespace lagtrap::trace
