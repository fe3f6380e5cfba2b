// The findings of `lagtrap doctor`, one per line of its output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bpf/kernel_features.hpp"

namespace lagtrap::cli {

enum class Health {
    Works,
    Otherwise,  // missing, but something else works instead
    Missing,
    Unknown,  // the caller lacks permission to check
};

struct Finding {
    std::string name;
    Health health = Health::Works;
    std::string reason;   // what was found
    std::string advice;   // what to do, or what works instead; empty if there is nothing to do
    bool needed = false;  // lagtrap does not work on this machine without it
};

// How to examine the machine; the defaults examine this one.
struct DoctorPlaces {
    std::filesystem::path root = "/";  // contains /proc, /sys and /usr/lib/debug
    std::string settings;
    std::string socket;
    bool ask_server = false;
};

// Kernel, privileges, and limits set by the kernel. `features` is the result of bpf::ask_kernel().
[[nodiscard]] std::vector<Finding> kernel_findings(
    const std::vector<bpf::Feature>& features, const std::vector<std::string>& missing_capabilities,
    const std::filesystem::path& root);

// Settings, spool, daemon, uploader and debug files; the server if `places.ask_server`.
[[nodiscard]] std::vector<Finding> service_findings(const DoctorPlaces& places);

}  // namespace lagtrap::cli
