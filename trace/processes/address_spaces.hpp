// Which code was mapped where, in every process at every time of a recording, from the rundown log.
// A process is a series of images: one from its fork (with its parent's mappings), and a new one
// from each exec.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "core/result.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::trace {

class RecordStream;

// A piece of code in memory, from the time it was mapped until another replaces it.
struct CodeMapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t file_offset = 0;
    std::uint64_t at_ns = 0;
    ModuleId module = unknown_module;
};

// One program in one process.
struct ProcessImage {
    std::uint64_t from_ns = 0;
    std::uint32_t parent_pid = 0;
    std::uint32_t uid = 0;
    bool by_exec = false;
    bool forked = false;  // its fork was recorded
    std::string program;  // path; after an exec, the first file mapped
    // path used to start the same file; empty if equal to `program` or unknown
    std::string started_path;
    std::string command_line;
    // path below the root of control groups; empty if unknown
    std::string control_group;
    // its mappings from before from_ns apply here too
    std::shared_ptr<const ProcessImage> inherited;
    // by start; those with equal start by time
    std::map<std::uint64_t, std::vector<CodeMapping>> mappings;
};

// A place in a module's file. For the kernel, JIT code and unknown code, the offset is the address.
// For the latter two, `pid` is the process.
struct CodePlace {
    ModuleId module = unknown_module;
    std::uint32_t pid = 0;
    std::uint64_t offset = 0;
};

// True if a mapping with this path and build id is memory without a file.
[[nodiscard]] bool is_run_time_memory(std::string_view path, std::string_view build_id);

class AddressSpaces {
  public:
    explicit AddressSpaces(ModuleTable& modules) : modules_(modules) {}

    // Reads a whole rundown log, in time order.
    [[nodiscard]] Status load(RecordStream& rundown);

    // The code at `address` of process `pid` at `at_ns`. If nothing was mapped there yet, what was
    // mapped there next (a capture scans a process some milliseconds after it begins).
    [[nodiscard]] CodePlace find(std::uint32_t pid, std::uint64_t address,
                                 std::uint64_t at_ns) const;

    // The image of `pid` at `at_ns`, or its first; nullptr if the log does not have the process.
    [[nodiscard]] const ProcessImage* image_of(std::uint32_t pid, std::uint64_t at_ns) const;

    // Raw build id of the image's program; empty if unknown.
    [[nodiscard]] std::string program_build_id(const ProcessImage& image) const;

  private:
    using Images = std::vector<std::shared_ptr<ProcessImage>>;
    void take(const lagtrap_record* record);
    void take_process(const lagtrap_process& process);
    void take_mapping(const lagtrap_mapping& mapping);
    void take_fork(const lagtrap_task_change& change);
    void take_exec(const lagtrap_name& name);
    ProcessImage& current(std::uint32_t pid, std::uint64_t at_ns);

    ModuleTable& modules_;
    std::unordered_map<std::uint32_t, Images> images_;
    std::unordered_map<std::uint32_t, bool> exited_;
};

}  // namespace lagtrap::trace
