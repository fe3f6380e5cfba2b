// What `lagtrap doctor` finds, a line each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bpf/kernel_features.hpp"

namespace lagtrap::cli {

enum class Health {
    Works,
    Otherwise,  // it lacks, and something else is done instead
    Missing,
    Unknown,  // the caller may not ask
};

struct Finding {
    std::string name;
    Health health = Health::Works;
    std::string reason;   // what was found
    std::string advice;   // what to do, or what works instead; empty where nothing is to be done
    bool needed = false;  // without it lagtrap does not do its work on this machine
};

// How the machine is asked; the defaults are the running one's.
struct DoctorPlaces {
    std::filesystem::path root = "/";  // of /proc, /sys and /usr/lib/debug
    std::string settings;
    std::string socket;
    bool ask_server = false;
};

// Kernel, privileges and the limits that it sets. `features` as bpf::ask_kernel() has them.
[[nodiscard]] std::vector<Finding> kernel_findings(const std::vector<bpf::Feature>& features,
                                                   const std::vector<std::string>& missing_capabilities,
                                                   const std::filesystem::path& root);

// Settings, spool, daemon, uploader, debug files; the server if it is to be asked.
[[nodiscard]] std::vector<Finding> service_findings(const DoctorPlaces& places);

}  // namespace lagtrap::cli
