// JIT code of a process, as the process tells of it: what lay at an address at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::trace {

inline constexpr std::size_t code_pieces_limit = 1'000'000;  // of one file; more are left out
inline constexpr std::size_t code_name_limit_bytes = 512;    // longer names are cut

struct JitPiece {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t from_ns = 0;  // CLOCK_MONOTONIC; 0: not known, take it for all the time
    std::string_view name;      // any bytes; of memory that outlives the piece
};

class JitPieces {
  public:
    // `made`: the oldest piece first; a later one takes the place of what it overlaps. What was made at or before
    // `settled_ns` is laid out once, for times after it. Takes n log n time, whatever the pieces are.
    JitPieces(std::vector<JitPiece> made, std::uint64_t settled_ns);

    // Name of the code that lay at `address` at `at_ns`. Where there was none yet, what came there next; empty where
    // there never was any. The view is the piece's.
    [[nodiscard]] std::string_view find(std::uint64_t address, std::uint64_t at_ns) const;

  private:
    std::vector<JitPiece> settled_;           // by start, none over another
    std::vector<JitPiece> later_;             // by start
    std::vector<std::uint64_t> later_reach_;  // the highest end of later_[0] to later_[i]
};

}  // namespace lagtrap::trace
