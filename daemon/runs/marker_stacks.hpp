// Stacks at markers as positions in files. The mappings of a process are read when its stack is
// reported.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "daemon/processes/look_budget.hpp"
#include "daemon/processes/process_scan.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::daemon {

// A position in a module's file. For code in no known file (module unknown_module), the address.
struct MarkerPlace {
    trace::ModuleId module = trace::unknown_module;
    std::uint64_t offset = 0;
};

// Use it on one thread.
class MarkerStacks {
  public:
    // The current time; tests provide their own.
    using Now = std::chrono::steady_clock::time_point (*)();
    explicit MarkerStacks(std::filesystem::path proc_root = "/proc",
                          Now now = std::chrono::steady_clock::now)
        : proc_root_(std::move(proc_root)), now_(now) {}

    void take(const lagtrap_stack& stack);
    // Its frames, innermost first, or nullptr. Valid until the next call of take() or clear().
    [[nodiscard]] const std::vector<MarkerPlace>* find(std::uint64_t stack_id) const;
    [[nodiscard]] const trace::RecordedModule& module(trace::ModuleId id) const {
        return modules_.at(id);
    }

    // True if so many stacks are held that clear() should be called and all stacks sent again.
    [[nodiscard]] bool full() const {
        return stacks_.size() >= stacks_limit || modules_.size() >= modules_limit;
    }
    void clear();
    // Users whose processes were inspected less often than their stacks required. Thread-safe.
    [[nodiscard]] std::vector<LookBudget::Limited> limited() const { return budget_.limited(); }

  private:
    static constexpr std::size_t stacks_limit = 16'384;
    static constexpr std::size_t modules_limit = 4'096;
    // For one process, in order of address; code beyond the limit is unknown.
    static constexpr std::size_t mappings_limit = 16'384;
    static constexpr std::size_t modules_of_process_limit = 1'024;
    // For all processes together; beyond it, all are dropped and read again when needed.
    static constexpr std::size_t all_mappings_limit = 262'144;
    struct Mapping {
        std::uint64_t end = 0;
        std::uint64_t file_offset = 0;
        trace::ModuleId module = trace::unknown_module;
    };
    struct Process {
        std::map<std::uint64_t, Mapping> mappings;  // by start
        std::chrono::steady_clock::time_point next_look;
        Party user = root_party;
        bool costly = false;  // inspecting it is slow, so the pause before the next time is long
    };
    [[nodiscard]] const Mapping* mapping_at(const Process& process, std::uint64_t address,
                                            std::uint64_t& start) const;
    // False if it is too soon to inspect the process again, or not allowed.
    bool look_at(std::uint32_t pid, Process& process);
    void read_mappings(std::uint32_t pid, Process& process);

    std::filesystem::path proc_root_;
    Now now_;
    LookBudget budget_;
    std::size_t all_mappings_ = 0;
    trace::ModuleTable modules_;
    std::unordered_map<std::uint32_t, Process> processes_;
    std::unordered_map<std::uint64_t, std::vector<MarkerPlace>> stacks_;
};

}  // namespace lagtrap::daemon
