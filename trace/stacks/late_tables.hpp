// Unwind tables made by a merge, of the files that copies of stacks lead through.
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
    std::size_t table_bytes = 256 << 20;  // of all tables; the files of others are left out
    std::chrono::seconds time{60};        // to make them all
};

// Reads files with the rights of this process, each once. Not for several threads at once.
class LateTables {
  public:
    struct Options {
        std::filesystem::path proc_root = "/proc";
        bool open_programs = true;
        bool this_boot = true;  // else the vDSO is not that of the recording
        LateTableLimits limits{};
        std::filesystem::path machine = machine_root();
        std::filesystem::path vdso{};  // a file with it; empty: this process's own
    };
    LateTables(const ModuleTable& modules, const Options& options) : modules_(modules), options_(options) {}

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
