#include "uploader/spool_tidying.hpp"

#include <string>

#include <spdlog/spdlog.h>

namespace lagtrap::uploader {

void SpoolTidying::tidy(spool::Spool& spool, const spool::RetentionLimits& limits) {
    last_ = std::chrono::steady_clock::now();
    const auto outcome = spool.apply_retention(limits, std::chrono::system_clock::now());
    if (!outcome) {
        spdlog::error("retention: {}", outcome.error().message);
    } else if (lock_.note(outcome->left_to_another, last_)) {
        spdlog::warn("cannot enforce the limits of the spool: {}, for more than a minute",
                     spool.who_holds_retention());
    } else if (const std::string said = outcome->describe(); !said.empty()) {
        spdlog::warn("{}", said);
    }
}

}  // namespace lagtrap::uploader
