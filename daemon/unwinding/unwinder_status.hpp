// What the unwinder reports about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/unwinding/code_modules.hpp"
#include "daemon/unwinding/process_spaces.hpp"

namespace lagtrap::daemon {

struct UnwinderStatus {
    SpaceTotals spaces;
    ModuleTotals modules;
    std::uint64_t tables = 0;          // ready
    std::uint64_t tables_waiting = 0;  // to be made, and files to be identified
    std::uint64_t tables_without_room = 0;
    std::uint64_t table_bytes = 0;  // of ready tables
    std::uint64_t tables_kept = 0;  // part of `tables`: never dropped for others
    std::uint64_t kept_bytes = 0;
    std::uint64_t used_bytes = 0;   // tables and spaces
    std::uint64_t taken_bytes = 0;  // memory allocated from the kernel
    std::uint64_t budget_bytes = 0;
    std::uint64_t events_lost = 0;
    // completed scans of all processes: at the start, and after events were lost
    std::uint64_t scans = 0;
    std::uint64_t not_described = 0;  // mappings missing in captures because of the limit
    struct Largest {
        std::string path;
        std::uint64_t bytes = 0;
    };
    std::vector<Largest> largest;  // at most 10
    // files without a table because they could not be read; at most 10
    std::vector<UnreadableFile> unreadable;
};

// Counts the modules' tables, and lists the largest ones.
void note_tables(const CodeModules& modules, UnwinderStatus& status);

}  // namespace lagtrap::daemon
