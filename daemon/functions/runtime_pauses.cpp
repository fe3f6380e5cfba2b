#include "daemon/functions/runtime_pauses.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

// Cost beyond the share that is tolerated, in seconds of the share. Long enough for calls to begin
// and end.
constexpr double max_owed_s = 1;

}  // namespace

bool RuntimePauses::look(std::uint64_t now_ns, std::uint64_t spent_ns, double share) {
    const std::uint64_t elapsed_ns = looked_ns_ == 0 ? 0 : now_ns - looked_ns_;
    looked_ns_ = now_ns;
    if (in_) in_ns_ += elapsed_ns;
    const auto spent = static_cast<double>(spent_ns - std::min(spent_ns, spent_ns_));
    spent_ns_ = spent_ns;
    owed_ns_ = std::max(0.0, owed_ns_ + spent - share * static_cast<double>(elapsed_ns));
    in_ = in_ ? owed_ns_ <= share * max_owed_s * 1e9 : owed_ns_ <= 0;
    return in_;
}

}  // namespace lagtrap::daemon
