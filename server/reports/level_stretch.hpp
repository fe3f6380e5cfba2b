// Levels of stretches of a series, and how certainly they differ. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lagtrap::server::reports {

// A unit of a series without gaps, such as an hour. The level of several units is the sum of `sum`
// by the sum of `weight`.
struct LevelUnit {
    double sum = 0;
    double weight = 0;  // 0: unknown
};

enum class LevelKind : std::uint8_t {
    // `sum` is a value whose noise is alike in all units, such as the logarithm of a duration;
    // weight is 1
    Value,
    // `sum` counts some of `weight`, such as delays among runs; noise is at least that of counting
    Count,
};

// How likely the level of `group` is by chance at least this far from that of `others`, a series of
// counts, from unit `from` on. Two-sided; the noise is that of the whole series.
[[nodiscard]] double p_of_group(std::span<const LevelUnit> others, std::size_t from,
                                const LevelUnit& group);

using Places = std::vector<std::size_t>;

// The known units, and where they are in the series.
struct KnownUnits {
    LevelKind kind = LevelKind::Value;
    std::vector<LevelUnit> units;
    Places places;
};

// A stretch's level on a scale on which its variance does not depend on it: the value itself, or
// twice the root of the share.
struct Stretch {
    double level = 0;
    double share = 0;  // sum / weight
    double weight = 0;
    double variance = 0;  // of the level, for a weight of 1
    double count = 0;
};

[[nodiscard]] KnownUnits known_of(std::span<const LevelUnit> units, LevelKind kind);

class StretchSums {
  public:
    explicit StretchSums(const KnownUnits& known);
    [[nodiscard]] double weight(std::size_t begin, std::size_t end) const {
        return weights_[end] - weights_[begin];
    }
    [[nodiscard]] double level(std::size_t begin, std::size_t end) const;
    [[nodiscard]] double share(std::size_t begin, std::size_t end) const;
    [[nodiscard]] Stretch stretch(std::size_t begin, std::size_t end) const;

  private:
    [[nodiscard]] double min_variance() const;
    [[nodiscard]] double square_of(std::size_t unit, double share) const;

    const KnownUnits& known_;
    std::vector<double> sums_, weights_;
};

// Each side of a change has at least this many known units.
inline constexpr std::size_t min_side = 3;
inline constexpr double count_offset = 3.0 / 8;  // for the square root of a count (Anscombe, 1948)

// How likely two stretches differ at least this much by chance: by Welch's test, and with the
// common variance of both. `clumping`: how many times the variance of a mean is what independent
// units would have.
[[nodiscard]] double welch_p(const Stretch& a, const Stretch& b);
[[nodiscard]] double common_variance(const Stretch& a, const Stretch& b);  // for a weight of 1
[[nodiscard]] double common_p(const Stretch& a, const Stretch& b, double clumping);
[[nodiscard]] double clumping_of(const KnownUnits& known);

}  // namespace lagtrap::server::reports
