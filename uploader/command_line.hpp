// The command line of lagtrap-uploader, and what follows from it and the settings file.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/result.hpp"
#include "uploader/service.hpp"

namespace lagtrap::uploader {

struct Arguments {
    std::string settings_file;
    std::string spool;
    std::string url;
    std::string token_file;
    std::string ca_file;
    bool allow_http = false;
    bool once = false;
};

// `arguments` must outlive the parsing.
void add_options(CLI::App& app, Arguments& arguments);

// The settings file, overridden by the command line. Errors are for the user.
[[nodiscard]] Result<ServiceSettings> effective_settings(const Arguments& arguments);

}  // namespace lagtrap::uploader
