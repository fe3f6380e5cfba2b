// What the arguments of a command line chose.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "cli/commands.hpp"

namespace lagtrap::cli {

inline constexpr const char* default_socket = "/run/lagtrap/control.sock";
inline constexpr const char* default_spool = "/var/lib/lagtrap/spool";
inline constexpr const char* default_settings = "/etc/lagtrap/settings.xml";

// All options of all commands, and the chosen command.
struct Choice {
    ControlOptions control;
    AskOptions ask;
    LiveOptions live;
    unsigned live_seconds = 1;
    CallsOptions calls;
    FunctionsOptions functions;
    ObjectsOptions objects;
    CheckOptions check;
    RehearseOptions rehearse;
    DoctorOptions doctor;
    MarkerOptions markers;
    PresetOptions presets;
    AddOptions add;
    WhyOptions why;
    WatchOptions watch;
    ReportOptions report;
    FetchOptions fetch;
    RunsOptions runs;
    ExportOptions exports;
    SymbolizeOptions symbolize;
    UploadOptions upload;
    std::optional<std::size_t> delay;
    std::function<int(Console&)> run;
};

}  // namespace lagtrap::cli
