// What `lagtrap objects` is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::cli {

struct ObjectsOptions {
    std::string socket;
    std::string process;  // a number or a name
    std::vector<std::string> classes, presets;
    std::string name = "object", library, create, use, release, message, error, success, except, title;  // of one rule
    std::string include, exclude;
    std::string least = "0s";
    std::string mark = "10ms";
    std::string length = "10s";
    std::string patience = "5s";
    std::uint64_t calls_per_second = 5'000;
    double budget_percent = 10;  // of a CPU
    std::size_t top = 20;
    std::string record;           // a file for what the daemon tells; empty: none
    std::string read;             // such a file, or "-", in place of a process
    bool send = false;            // by the spool, for others to follow
    std::string settings, spool;  // that say which one; `spool` comes first
    std::string connect;          // the address of a server, whose machine's process is followed in place of one here
    std::string token_file, ca_file, watch, host;
    bool no_memory = false;
    bool tree = false;  // show each tree as it ends
    bool all = false;
    bool json = false;
    bool list_presets = false;
};

}  // namespace lagtrap::cli
