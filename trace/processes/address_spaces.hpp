// Which code lay where in every process at every time of a recording: what the rundown log tells. A process is a
// series of images: one from its fork (with what its parent had mapped), a new one from each exec.
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

// A piece of code in memory, from the time it was mapped until another takes its place.
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
    bool forked = false;       // seen to be forked in the recording
    std::string program;       // path; of an exec the first file that was mapped
    std::string started_path;  // by which the same file was started; empty: by `program`, or not known
    std::string command_line;
    std::string control_group;                      // path below the root of control groups; empty: not known
    std::shared_ptr<const ProcessImage> inherited;  // whose mappings of before from_ns are in this one too
    std::map<std::uint64_t, std::vector<CodeMapping>> mappings;  // by start; those of one start by time
};

// A place in a module's file. Of the kernel, of JIT code and of unknown code the offset is the address,
// and of the last two `pid` says whose.
struct CodePlace {
    ModuleId module = unknown_module;
    std::uint32_t pid = 0;
    std::uint64_t offset = 0;
};

// Whether a mapping of this path and build id is memory that no file stands behind.
[[nodiscard]] bool is_run_time_memory(std::string_view path, std::string_view build_id);

class AddressSpaces {
  public:
    explicit AddressSpaces(ModuleTable& modules) : modules_(modules) {}

    // Reads a whole rundown log, records in order of time.
    [[nodiscard]] Status load(RecordStream& rundown);

    // What `address` of process `pid` was at `at_ns`. Where nothing was mapped there yet, what came to lie there
    // (the capture's own scan of a process comes some milliseconds after its begin).
    [[nodiscard]] CodePlace find(std::uint32_t pid, std::uint64_t address, std::uint64_t at_ns) const;

    // The image of `pid` at `at_ns`, or its first; nullptr for processes that the log does not know.
    [[nodiscard]] const ProcessImage* image_of(std::uint32_t pid, std::uint64_t at_ns) const;

    // Raw build id of the image's program; empty where it is not known.
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
