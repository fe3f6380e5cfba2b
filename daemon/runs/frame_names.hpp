// Finds functions and lines of the frames at markers, in the files of this machine, and caches
// them, because the same addresses recur.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "binaries/dwarf/source_lines.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/runs/gathered_batch.hpp"
#include "trace/names/naming_budget.hpp"

namespace lagtrap::daemon {

// Use it on one thread. Helpers open the files; it waits for them up to their deadline
// (process_inspector.hpp).
class FrameNames {
  public:
    // `limits` apply to one batch. Frames beyond them keep module and offset, and are named in a
    // later batch.
    explicit FrameNames(const trace::NamingLimits& limits)
        : limits_(limits),
          inspector_(process_inspector() ? *process_inspector() : own_inspector_) {}

    // Names every frame it can, and adds inlined functions as frames with the same offset,
    // innermost first. Uses a file only if its build id is the frame's.
    void name(GatheredBatch& gathered);

  private:
    using Functions = std::vector<binaries::SourceFrame>;  // innermost first; empty if unknown
    struct Module {
        std::unordered_map<std::uint64_t, Functions> places;
        std::chrono::steady_clock::time_point next_try;
    };
    struct File {
        UniqueFd fd;
        std::uint32_t pid = 0;  // a process that maps it; 0 if none
    };
    // Opens the mapped file through its users or on the machine, and checks its build id or, if it
    // has none, device and inode.
    [[nodiscard]] std::optional<File> find(const trace::RecordedModule& module);
    void look_up(const trace::RecordedModule& module, Module& known,
                 std::vector<std::uint64_t> offsets, trace::NamingBudget& budget);

    trace::NamingLimits limits_;
    DirectInspector own_inspector_;
    ProcessInspector& inspector_;
    std::unordered_map<std::string, Module> modules_;
    std::size_t places_ = 0;
};

}  // namespace lagtrap::daemon
