// Counts and distributions of runs: from roll-ups as far as possible, from the runs themselves for
// the rest.
#pragma once

#include <functional>
#include <string_view>

#include "server/sketch/sketch.hpp"
#include "server/store/filter_sql.hpp"

namespace lagtrap::server {

// Some runs of one build with the same mark. A piece from a roll-up has sketches; the runs of other
// pieces are all in one bin.
struct Piece {
    std::uint64_t hour = 0;  // hour of its begin, since 1970; for a day, the first hour
    std::uint32_t event = 0;
    std::uint32_t build = 0;
    RunMark mark = RunMark::None;
    std::uint64_t records = 0, runs = 0, delays = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t last_ns = 0;  // begin of the last
    bool rolled_up = false;
    std::string_view sketch, delay_sketch;  // serialised
    std::uint16_t bin = 0;
};

enum class Detail { Counts, Sketches };  // Counts: does not read the sketches
enum class Grain { Day, Hour };          // Hour: no piece spans more than an hour

using TakePiece = std::function<Status(const Piece&)>;

// Visits all runs that the filter selects, including hidden ones, as pieces in any order.
[[nodiscard]] Status each_piece(Connection& connection, const Dialect& dialect,
                                const NumberedFilter& filter, Detail detail, Grain grain,
                                const TakePiece& take);
// Adds the durations of a piece.
[[nodiscard]] Status add_piece(const Piece& piece, Sketch& durations, Sketch* delay_durations);

}  // namespace lagtrap::server
