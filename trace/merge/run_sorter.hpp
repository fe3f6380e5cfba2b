// Sorts any number of runs of a capture by begin time. Sorted pieces that fit into memory go to an
// unlinked file and are merged when read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "bpf/records.h"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::trace {

class RunSorter {
  public:
    // The file is created in `directory`; up to `limit_bytes` of runs stay in memory.
    RunSorter(std::filesystem::path directory, std::size_t limit_bytes);

    [[nodiscard]] Status add(const lagtrap_run& run);
    // Call after the last add() and before the first peek().
    [[nodiscard]] Status finish();

    // Returns the next run by begin, or nullptr at the end; runs with equal begins come longest
    // first. Valid until pop().
    [[nodiscard]] Result<const lagtrap_run*> peek();
    void pop();

  private:
    // A sorted piece of the file, and the part of it that is in memory.
    struct Piece {
        std::uint64_t next_byte = 0;
        std::uint64_t end_byte = 0;
        std::vector<lagtrap_run> runs;
        std::size_t position = 0;
    };
    Status spill();
    Status refill(Piece& piece);
    static bool before(const lagtrap_run& a, const lagtrap_run& b);

    std::filesystem::path directory_;
    std::size_t runs_limit_;
    std::vector<lagtrap_run> runs_;
    UniqueFd file_;
    std::uint64_t file_bytes_ = 0;
    std::vector<Piece> pieces_;
    Piece* front_ = nullptr;
};

}  // namespace lagtrap::trace
