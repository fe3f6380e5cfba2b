// The options of `lagtrap objects`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::cli {

struct ObjectsOptions {
    std::string socket;
    std::string process;  // id or name
    std::vector<std::string> classes, presets;
    // Of one rule.
    std::string name = "object", library, create, use, release, message, error, success, except,
                title;
    std::string include, exclude;
    std::string least = "0s";
    std::string mark = "10ms";
    std::string length = "10s";
    std::string timeout = "5s";
    std::uint64_t calls_per_second = 5'000;
    double budget_percent = 10;  // of one CPU
    std::size_t top = 20;
    std::string record;           // file for the daemon's answer; empty for none
    std::string read;             // such a file, or "-", instead of a process
    bool send = false;            // through the spool, for others to follow
    std::string settings, spool;  // determine the spool; `spool` takes precedence
    // address of a server: follow another machine's process through it
    std::string connect;
    std::string token_file, ca_file, watch, host;
    bool no_memory = false;
    bool tree = false;  // show each tree when it ends
    bool all = false;
    bool json = false;
    bool list_presets = false;
};

}  // namespace lagtrap::cli
