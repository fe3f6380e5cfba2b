// Unwind tables that the merge makes for the files in copied stacks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <unordered_map>

#include "binaries/unwind/unwind_table.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/processes/address_spaces.hpp"
#include "trace/processes/modules.hpp"
#include "trace/stacks/copied_stack.hpp"

namespace lagtrap::trace {

struct LateTableLimits {
    std::size_t table_bytes = 256 << 20;  // of all tables; further files are left out
    std::chrono::seconds time{60};        // for making them all
};

// Reads each file once, with the rights of this process. Not thread-safe.
class LateTables {
  public:
    struct Options {
        std::filesystem::path proc_root = "/proc";
        bool open_programs = true;
        bool this_boot = true;  // if false, the vDSO is not the recorded one
        LateTableLimits limits{};
        std::filesystem::path machine = machine_root();
        std::filesystem::path vdso{};  // a file that contains it; empty: use this process's own
    };
    LateTables(const ModuleTable& modules, const Options& options)
        : modules_(modules), options_(options) {}

    [[nodiscard]] CodeRule rule_at(const CodePlace& place);

  private:
    struct Table {
        CodeRule::Kind kind = CodeRule::Kind::NoTable;
        binaries::UnwindTable table;
    };
    [[nodiscard]] Table make(const RecordedModule& module);

    const ModuleTable& modules_;
    const Options options_;
    std::size_t table_bytes_ = 0;
    std::chrono::steady_clock::duration took_{};
    std::unordered_map<ModuleId, Table> tables_;
};

}  // namespace lagtrap::trace
