// What `lagtrap why -- COMMAND` says of a command, for people.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/command_life.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct LifeFacts {
    std::string command;        // as it was called
    std::uint64_t took_ns = 0;  // as its caller saw
    int exit_code = 0;
    bool beyond_limit = false;  // it went on when the recording had ended
};

[[nodiscard]] std::string life_text(const analysis::Recording& recording, const analysis::CommandLife& life,
                                    const LifeFacts& facts, const Paint& paint, std::size_t columns);

}  // namespace lagtrap::cli
