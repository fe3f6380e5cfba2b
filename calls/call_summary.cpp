#include "calls/call_summary.hpp"

#include <algorithm>

namespace lagtrap::calls {

void Summary::add(const Tree& tree, const std::vector<Times>& times) {
    std::vector<std::uint32_t> places(tree.calls.size());
    for (std::size_t number = 0; number < tree.calls.size(); ++number) {
        const Call& call = tree.calls[number];
        const std::uint32_t parent = call.parent == no_parent ? no_parent : places[call.parent];
        const auto [found, is_new] = numbers_.try_emplace(
            {parent, call.function}, static_cast<std::uint32_t>(calls_.size()));
        places[number] = found->second;
        if (is_new)
            calls_.push_back(
                {.function = call.function, .parent = parent, .min_ns = times[number].wall_ns});
        SummedCall& summed = calls_[found->second];
        const Times& time = times[number];
        ++summed.count;
        summed.min_ns = std::min(summed.min_ns, time.wall_ns);
        summed.max_ns = std::max(summed.max_ns, time.wall_ns);
        summed.left_out += call.left_out;
        if (call.end == CallEnd::Left || call.end == CallEnd::ThreadEnd) ++summed.not_returned;
        summed.sum.wall_ns += time.wall_ns;
        summed.sum.on_cpu_ns += time.on_cpu_ns;
        summed.sum.runnable_ns += time.runnable_ns;
        summed.sum.blocked_ns += time.blocked_ns;
        summed.sum.own_ns += time.own_ns;
    }
}

}  // namespace lagtrap::calls
