// Words for who had the CPU while a thread waited for it. For analysis/ only.
#pragma once

#include <string>

#include "analysis/cpu_holders.hpp"
#include "analysis/thread_name.hpp"

namespace lagtrap::analysis {

// ", nginx.service" if that is not `own_unit`, the unit of the delayed process.
[[nodiscard]] std::string other_unit(const std::string& unit, const std::string& own_unit);

// " at low priority (nice 10) while report (500) had CPU 1, in merge_rows", to follow "waited 20.0
// ms for a CPU".
[[nodiscard]] std::string cpu_holder_words(const CpuWaits& cpu, const ThreadName& who_waited,
                                           const std::string& own_unit);

}  // namespace lagtrap::analysis
