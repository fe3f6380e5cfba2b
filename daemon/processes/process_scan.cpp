#include "daemon/processes/process_scan.hpp"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "binaries/elf/program_file.hpp"
#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t cut_text_bytes = 256;

}  // namespace

ProcessScan::ProcessScan(std::filesystem::path proc_root, ScanLimits limits)
    : proc_root_(std::move(proc_root)),
      limits_(limits),
      room_(limits.total_bytes),
      own_inspector_(proc_root_),
      inspector_(proc_root_ == "/proc" && process_inspector() ? *process_inspector()
                                                              : own_inspector_) {}

void ProcessScan::add(std::uint32_t pid) { add(pid, Code::Read); }

void ProcessScan::add_again(std::uint32_t pid) {
    added_.erase(pid);
    add(pid, Code::Known);
}

void ProcessScan::add(std::uint32_t pid, Code code) {
    if (!added_.insert(pid).second) return;
    const auto wanted =
        code == Code::Read ? ProcessInspector::Code::Read : ProcessInspector::Code::Left;
    const auto process = inspector_.read(pid, wanted, limits_.process);
    if (process) take(process->records);
}

void ProcessScan::take(const RecordBuffer& process) {
    Party party = root_party;
    process.for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_PROCESS) {
            lagtrap_process head = *reinterpret_cast<const lagtrap_process*>(record);
            const std::string_view texts(reinterpret_cast<const char*>(record) + sizeof(head),
                                         head.text_bytes);
            party = read_party(proc_root_ / std::to_string(head.pid), head.uid);
            if (room_.take(party, record->size_bytes))
                return records_.append(&head, sizeof(head), texts);
            // Program, command line and control group; keep the first.
            const std::string cut =
                std::string(texts.substr(0, std::min(texts.find('\0'), cut_text_bytes))) + '\0' +
                '\0';
            head.text_bytes = static_cast<std::uint32_t>(cut.size());
            records_.append(&head, sizeof(head), cut);
        } else if (room_.take(party, record->size_bytes)) {
            lagtrap_mapping mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
            const std::string path(path_of(*reinterpret_cast<const lagtrap_mapping*>(record)));
            if (mapping.inode != 0) set_build_id_of(mapping, path);
            records_.append(&mapping, sizeof(mapping), path);
        }
    });
}

void ProcessScan::set_build_id_of(lagtrap_mapping& mapping, const std::string& path) {
    const auto [known, is_new] = build_ids_.try_emplace({mapping.device, mapping.inode});
    if (is_new)
        if (const auto opened = inspector_.open({mapping, path}))
            known->second = binaries::read_build_id(opened->file.get());
    set_build_id(mapping, known->second);
}

void ProcessScan::add_others(Code code) {
    for (const std::uint32_t pid : list_processes(proc_root_)) add(pid, code);
}

std::set<std::uint32_t> list_processes(const std::filesystem::path& proc_root) {
    std::set<std::uint32_t> processes;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(proc_root.c_str()), ::closedir);
    if (!directory) return processes;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        std::uint32_t pid = 0;
        const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (failure == std::errc{} && end == name.data() + name.size()) processes.insert(pid);
    }
    return processes;
}

}  // namespace lagtrap::daemon
