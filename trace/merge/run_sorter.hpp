// All runs of a capture in order of their begins, however many: sorted in pieces that fit into memory, which wait
// in an unlinked file and are merged when they are read.
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
    // `directory` takes the file; `limit_bytes` of runs are held in memory.
    RunSorter(std::filesystem::path directory, std::size_t limit_bytes);

    [[nodiscard]] Status add(const lagtrap_run& run);
    // After the last add() and before the first peek().
    [[nodiscard]] Status finish();

    // The next run or nullptr at the end, by begin, of one begin the longer first; valid until pop().
    [[nodiscard]] Result<const lagtrap_run*> peek();
    void pop();

  private:
    // A sorted piece in the file and the part of it that is in memory.
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
