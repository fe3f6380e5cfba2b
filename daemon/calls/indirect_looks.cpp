#include "daemon/calls/indirect_looks.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t look_length_ns = 1'000'000'000;
constexpr std::uint64_t look_pause_ns = 10'000'000'000;

}  // namespace

IndirectLooks::Step IndirectLooks::step(std::uint64_t now_ns, std::uint64_t hits,
                                        std::uint64_t hit_ns) {
    if (!looking_) {
        if (now_ns < next_ns_) return Step::Wait;
        looking_ = true;
        began_ns_ = now_ns;
        hits_before_ = hits;
        return Step::Begin;
    }
    const auto took_ns = static_cast<double>((hits - hits_before_) * hit_ns);
    const bool expensive = took_ns > budget_ * static_cast<double>(look_length_ns);
    if (!expensive && now_ns - began_ns_ < look_length_ns) return Step::Wait;
    looking_ = false;
    next_ns_ = now_ns + (expensive ? look_pause_ns : look_length_ns / 2);
    return Step::End;
}

void IndirectLooks::note_nothing_new(std::uint64_t now_ns) {
    next_ns_ = std::max(next_ns_, now_ns + look_pause_ns);
}

void IndirectLooks::stop() {
    looking_ = false;
    next_ns_ = UINT64_MAX;
}

}  // namespace lagtrap::daemon
