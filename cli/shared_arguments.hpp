// Arguments that several commands have.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/command_choice.hpp"

namespace lagtrap::cli {

// If the command is chosen, runs `run` with `options`, which must outlive `choice`.
template <typename Options>
void set_run(CLI::App& command, Choice& choice, const Options& options,
             int (*run)(const Options&, Console&)) {
    command.callback([&choice, &options, run] {
        choice.run = [&options, run](Console& console) { return run(options, console); };
    });
}

inline void add_socket(CLI::App& command, std::string& socket,
                       const char* help = "The daemon's control socket") {
    socket = default_socket;
    command.add_option("--socket", socket, help)->envname("LAGTRAP_SOCKET")->capture_default_str();
}

inline void add_spool(CLI::App& command, std::string& spool, const char* help) {
    spool = default_spool;
    command.add_option("--spool", spool, help)->envname("LAGTRAP_SPOOL")->capture_default_str();
}

}  // namespace lagtrap::cli
