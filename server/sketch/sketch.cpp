#include "server/sketch/sketch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "server/sketch/varint.hpp"

namespace lagtrap::server {
namespace {

constexpr double accuracy = 0.01;
constexpr double growth = (1 + accuracy) / (1 - accuracy);
constexpr std::size_t bin_count = 2184;

// Upper edges of the bins, so that bin_of() and value_of() cannot disagree.
const std::array<double, bin_count>& edges() {
    static const auto table = [] {
        std::array<double, bin_count> made{};
        for (std::size_t bin = 0; bin < bin_count; ++bin)
            made[bin] = std::pow(growth, static_cast<double>(bin));
        return made;
    }();
    return table;
}

std::uint64_t to_integer(double value) {
    constexpr double largest = 9.2e18;
    return static_cast<std::uint64_t>(std::llround(std::min(value, largest)));
}

}  // namespace

std::uint16_t Sketch::bin_of(std::uint64_t duration_ns) {
    if (duration_ns <= 1) return 0;
    static const double scale = 1 / std::log(growth);
    const double value = static_cast<double>(duration_ns);
    auto bin = std::min(static_cast<std::size_t>(std::log(value) * scale), bin_count - 1);
    while (bin + 1 < bin_count && edges()[bin] < value) ++bin;
    while (bin > 0 && edges()[bin - 1] >= value) --bin;
    return static_cast<std::uint16_t>(bin);
}

std::uint64_t Sketch::value_of(std::uint16_t bin) {
    return to_integer(2 * edges()[std::min<std::size_t>(bin, bin_count - 1)] / (growth + 1));
}

void Sketch::reserve_bin(std::uint16_t bin) {
    if (counts_.empty()) {
        first_ = bin;
        counts_.resize(1);
    } else if (bin < first_) {
        counts_.insert(counts_.begin(), first_ - bin, 0);
        first_ = bin;
    } else if (bin >= first_ + counts_.size()) {
        counts_.resize(bin - first_ + 1U);
    }
}

void Sketch::add_bin(std::uint16_t bin, std::uint64_t count) {
    if (count == 0) return;
    bin = std::min(bin, static_cast<std::uint16_t>(bin_count - 1));
    reserve_bin(bin);
    counts_[bin - first_] += count;
    count_ += count;
}

void Sketch::remove_bin(std::uint16_t bin, std::uint64_t count) {
    if (bin < first_ || bin >= first_ + counts_.size()) return;
    auto& held = counts_[bin - first_];
    const auto taken = std::min(held, count);
    held -= taken;
    count_ -= taken;
}

void Sketch::merge(const Sketch& other) {
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
        add_bin(static_cast<std::uint16_t>(other.first_ + i), other.counts_[i]);
}

void Sketch::subtract(const Sketch& other) {
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
        remove_bin(static_cast<std::uint16_t>(other.first_ + i), other.counts_[i]);
}

std::uint64_t Sketch::quantile_ns(double share) const {
    if (count_ == 0) return 0;
    const double last = static_cast<double>(count_ - 1);
    const double place = std::clamp(share, 0.0, 1.0) * last + 0.5;
    // For a large count, rounding to double could give a rank beyond the last value.
    const std::uint64_t rank = place < last ? static_cast<std::uint64_t>(place) : count_ - 1;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        below += counts_[i];
        if (below > rank) return value_of(static_cast<std::uint16_t>(first_ + i));
    }
    return value_of(static_cast<std::uint16_t>(first_ + counts_.size() - 1));
}

std::vector<Sketch::Bin> Sketch::bins() const {
    std::vector<Bin> found;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] == 0) continue;
        const std::size_t bin = first_ + i;
        found.push_back({bin == 0 ? 0 : to_integer(std::floor(edges()[bin - 1])),
                         to_integer(std::floor(edges()[bin])), counts_[i]});
    }
    return found;
}

std::uint64_t Sketch::count_above(std::uint64_t duration_ns) const {
    std::uint64_t above = 0;
    const auto bin = bin_of(duration_ns);
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (first_ + i > bin) above += counts_[i];
    return above;
}

std::string Sketch::serialise() const {
    std::string out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] == 0) continue;
        put_varint(out, first_ + i - next);
        put_varint(out, counts_[i]);
        next = first_ + i + 1;
    }
    return out;
}

Status Sketch::merge_serialised(std::string_view bytes) {
    const Error broken = make_error(ErrorKind::Invalid, "a stored sketch of durations is damaged");
    std::uint64_t gap = 0, count = 0, sum = count_;
    std::size_t bin = 0;
    for (auto rest = bytes; !rest.empty(); ++bin) {
        if (!take_varint(rest, gap) || !take_varint(rest, count) || gap >= bin_count ||
            bin + gap >= bin_count)
            return broken;
        if (__builtin_add_overflow(sum, count, &sum)) return broken;
        bin += gap;
    }
    bin = 0;
    for (auto rest = bytes; take_varint(rest, gap) && take_varint(rest, count); ++bin) {
        bin += gap;
        add_bin(static_cast<std::uint16_t>(bin), count);
    }
    return success();
}

bool Sketch::operator==(const Sketch& other) const { return serialise() == other.serialise(); }

}  // namespace lagtrap::server
