// Durations of many runs as counts in bins of a logarithmic scale: quantiles within 1 % of the true value, and two
// sketches merge into what all their values together would have given. The idea is DDSketch (Masson, Rim, Lee: "DDSketch:
// a fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// Holds at most 2,184 bins: every duration from 1 ns to 2^63 ns has its own. One thread at a time.
class Sketch {
  public:
    struct Bin {
        std::uint64_t low_ns = 0;  // durations of the bin are above low_ns, up to high_ns
        std::uint64_t high_ns = 0;
        std::uint64_t count = 0;
    };

    // The bin of a duration, 0 (for 0 and 1 ns) to 2183. The same on every machine for all that matters: a duration at
    // the very edge may fall on either side of it.
    [[nodiscard]] static std::uint16_t bin_of(std::uint64_t duration_ns);
    // The value that stands for a bin, within 1 % of everything in it.
    [[nodiscard]] static std::uint64_t value_of(std::uint16_t bin);

    void add(std::uint64_t duration_ns, std::uint64_t count = 1) { add_bin(bin_of(duration_ns), count); }
    void add_bin(std::uint16_t bin, std::uint64_t count);
    // Takes out what was added; never below zero.
    void remove_bin(std::uint16_t bin, std::uint64_t count);
    void merge(const Sketch& other);
    // Takes out what was merged; no bin goes below zero.
    void subtract(const Sketch& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    // `share` from 0 to 1; 0.5 is the median. Zero without values.
    [[nodiscard]] std::uint64_t quantile_ns(double share) const;
    // Those that hold something, from short to long.
    [[nodiscard]] std::vector<Bin> bins() const;
    // How many are in bins that lie wholly above `duration_ns`'s bin.
    [[nodiscard]] std::uint64_t count_above(std::uint64_t duration_ns) const;

    // A few bytes a bin that holds something.
    [[nodiscard]] std::string serialise() const;
    // Adds a serialised sketch to this one. An error leaves this sketch as it was.
    [[nodiscard]] Status merge_serialised(std::string_view bytes);

    bool operator==(const Sketch& other) const;

  private:
    void reserve_bin(std::uint16_t bin);

    std::uint16_t first_ = 0;  // bin of counts_[0]
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
};

}  // namespace lagtrap::server
