// The stacks at markers as places in files: what lay where in the process, read when the stack is told of.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "daemon/process_scan.hpp"
#include "trace/modules.hpp"

namespace lagtrap::daemon {

// A place in a module's file; of code that is in no known file (module unknown_module) the address.
struct MarkerPlace {
    trace::ModuleId module = trace::unknown_module;
    std::uint64_t offset = 0;
};

// One thread's.
class MarkerStacks {
  public:
    explicit MarkerStacks(std::filesystem::path proc_root = "/proc") : proc_root_(std::move(proc_root)) {}

    void take(const lagtrap_stack& stack);
    // Its places, innermost first, or nullptr; good until the next call of take() or clear().
    [[nodiscard]] const std::vector<MarkerPlace>* find(std::uint64_t stack_id) const;
    [[nodiscard]] const trace::CodeModule& module(trace::ModuleId id) const { return modules_.at(id); }

    // Whether so many are held that it is time to forget them all and have them told anew.
    [[nodiscard]] bool full() const { return stacks_.size() >= stacks_limit || modules_.size() >= modules_limit; }
    void clear();

  private:
    static constexpr std::size_t stacks_limit = 16'384;
    static constexpr std::size_t modules_limit = 4'096;
    struct Mapping {
        std::uint64_t end = 0;
        std::uint64_t file_offset = 0;
        trace::ModuleId module = trace::unknown_module;
    };
    struct Process {
        std::map<std::uint64_t, Mapping> mappings;  // by start
        std::chrono::steady_clock::time_point next_look;
    };
    [[nodiscard]] const Mapping* mapping_at(const Process& process, std::uint64_t address, std::uint64_t& start) const;
    void look_at(std::uint32_t pid, Process& process);

    std::filesystem::path proc_root_;
    trace::ModuleTable modules_;
    std::unordered_map<std::uint32_t, Process> processes_;
    std::unordered_map<std::uint64_t, std::vector<MarkerPlace>> stacks_;
};

}  // namespace lagtrap::daemon
