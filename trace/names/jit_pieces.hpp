// The JIT code of a process, as the process describes it: which function was at an address at a
// given time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::trace {

inline constexpr std::size_t code_pieces_limit = 1'000'000;  // per file; the rest is left out
inline constexpr std::size_t code_name_limit_bytes = 512;    // longer names are truncated

struct JitPiece {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t from_ns = 0;  // CLOCK_MONOTONIC; 0 if unknown: treated as always present
    std::string_view name;      // any bytes; points into memory that outlives the piece
};

class JitPieces {
  public:
    // `made` is oldest first; a later piece replaces whatever it overlaps. The state at
    // `settled_ns` is computed once, for all lookups after it. Takes O(n log n) time for any input.
    JitPieces(std::vector<JitPiece> made, std::uint64_t settled_ns);

    // Name of the code at `address` at `at_ns`. If nothing was there yet, the code that came there
    // next; empty if there never was any. The view points to the piece's name.
    [[nodiscard]] std::string_view find(std::uint64_t address, std::uint64_t at_ns) const;

  private:
    std::vector<JitPiece> settled_;           // by start, without overlaps
    std::vector<JitPiece> later_;             // by start
    std::vector<std::uint64_t> later_reach_;  // highest end in later_[0..i]
};

}  // namespace lagtrap::trace
