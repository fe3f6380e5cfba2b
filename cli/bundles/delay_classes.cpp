#include "cli/bundles/delay_classes.hpp"

#include "analysis/before_recording.hpp"
#include "cli/control/status_fields.hpp"

namespace lagtrap::cli {

std::vector<std::pair<std::string, std::uint64_t>> delay_classes(const boost::json::object& event) {
    const boost::json::object& mostly = part(event, "delays_mostly");
    std::vector<std::pair<std::string, std::uint64_t>> classes{
        {"on a CPU", number(mostly, "on_cpu")},
        {"for a CPU", number(mostly, "runnable")},
        {"CPU quota", number(mostly, "throttled")},
        {"between threads", number(mostly, "handed_over")},
        {"not known", number(mostly, "not_known")}};
    const boost::json::array& blocked = list(mostly, "blocked");
    for (std::uint32_t wait_class = 0; wait_class < analysis::wait_classes(); ++wait_class) {
        const bool reported = wait_class < blocked.size() && blocked[wait_class].is_int64();
        const std::int64_t delays = reported ? blocked[wait_class].as_int64() : 0;
        classes.emplace_back(analysis::reason_of_class(wait_class),
                             delays > 0 ? static_cast<std::uint64_t>(delays) : 0);
    }
    return classes;
}

}  // namespace lagtrap::cli
