#pragma once

#include <optional>
#include <string>

#include "spool/spool.hpp"
#include "uploader/target.hpp"

namespace lagtrap::uploader {

// What the service needs from the settings and the command line.
struct ServiceSettings {
    std::string spool_path;
    spool::RetentionLimits retention;
    std::optional<Target> target;     // nullopt: bundles wait, and only retention runs
    std::optional<Target> collector;  // receives spans; nullopt: no spans are made
    std::string lagtrap_program;      // makes the spans
};

}  // namespace lagtrap::uploader
