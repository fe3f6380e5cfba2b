// Functions and lines of the frames at markers, from the files of this machine. Places come again and again, so what was
// found once is kept.
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

// One thread's. The files are opened by helpers, whose deadline it waits for (process_inspector.hpp).
class FrameNames {
  public:
    // What one batch may cost; what is beyond it keeps module and offset, and is named in a later batch.
    explicit FrameNames(const trace::NamingLimits& limits)
        : limits_(limits), inspector_(process_inspector() ? *process_inspector() : own_inspector_) {}

    // Names every frame it can and adds the functions inlined there, innermost first, each with the same offset. A
    // file is used only if its build id is the frame's.
    void name(GatheredBatch& gathered);

  private:
    using Functions = std::vector<binaries::SourceFrame>;  // innermost first; empty: nobody knows
    struct Module {
        std::unordered_map<std::uint64_t, Functions> places;
        std::chrono::steady_clock::time_point next_try;
    };
    struct File {
        UniqueFd fd;
        std::uint32_t pid = 0;  // a process that has it; 0: none
    };
    // The file that was mapped, as its users or the machine have it: by build id or, where there is none, device and inode.
    [[nodiscard]] std::optional<File> find(const trace::RecordedModule& module);
    void look_up(const trace::RecordedModule& module, Module& known, std::vector<std::uint64_t> offsets,
                 trace::NamingBudget& budget);

    trace::NamingLimits limits_;
    DirectInspector own_inspector_;
    ProcessInspector& inspector_;
    std::unordered_map<std::string, Module> modules_;
    std::size_t places_ = 0;
};

}  // namespace lagtrap::daemon
