// Durations of many runs as counts in bins of a logarithmic scale: quantiles within 1 % of the true
// value, and two sketches merge into what all their values together would have given. The idea is
// DDSketch (Masson, Rim, Lee: "DDSketch: a fast and fully-mergeable quantile sketch with
// relative-error guarantees", VLDB 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// Has at most 2,184 bins, which cover every duration from 1 ns to 2^63 ns. Not thread-safe.
class Sketch {
  public:
    struct Bin {
        std::uint64_t low_ns = 0;  // durations of the bin are above low_ns, up to high_ns
        std::uint64_t high_ns = 0;
        std::uint64_t count = 0;
    };

    // The bin of a duration, from 0 (0 and 1 ns) to 2183. It can differ between machines only for a
    // duration at the very edge of a bin.
    [[nodiscard]] static std::uint16_t bin_of(std::uint64_t duration_ns);
    // The value that represents a bin, within 1 % of every duration in it.
    [[nodiscard]] static std::uint64_t value_of(std::uint16_t bin);

    void add(std::uint64_t duration_ns, std::uint64_t count = 1) {
        add_bin(bin_of(duration_ns), count);
    }
    void add_bin(std::uint16_t bin, std::uint64_t count);
    // Removes an added value; counts never become negative.
    void remove_bin(std::uint16_t bin, std::uint64_t count);
    void merge(const Sketch& other);
    // Removes a merged sketch; counts never become negative.
    void subtract(const Sketch& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    // `share` is from 0 to 1; 0.5 is the median. Returns 0 if there are no values.
    [[nodiscard]] std::uint64_t quantile_ns(double share) const;
    // The non-empty bins, shortest durations first.
    [[nodiscard]] std::vector<Bin> bins() const;
    // Number of values in bins above that of `duration_ns`.
    [[nodiscard]] std::uint64_t count_above(std::uint64_t duration_ns) const;

    // Takes a few bytes per non-empty bin.
    [[nodiscard]] std::string serialise() const;
    // Adds a serialised sketch to this one. On error, this sketch is unchanged.
    [[nodiscard]] Status merge_serialised(std::string_view bytes);

    bool operator==(const Sketch& other) const;

  private:
    void reserve_bin(std::uint16_t bin);

    std::uint16_t first_ = 0;  // bin of counts_[0]
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
};

}  // namespace lagtrap::server
