// Text output of `lagtrap why -- COMMAND`.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/command_life.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct LifeFacts {
    std::string command;        // with its arguments
    std::uint64_t took_ns = 0;  // from its start to its end
    int exit_code = 0;
    bool beyond_limit = false;  // it ran longer than the recording
};

[[nodiscard]] std::string life_text(const analysis::Recording& recording,
                                    const analysis::CommandLife& life, const LifeFacts& facts,
                                    const Paint& paint, std::size_t columns);

}  // namespace lagtrap::cli
