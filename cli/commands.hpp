// What each command of `lagtrap` does once its options are known. Each returns the program's exit code and says
// on `console.err` what failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"

namespace lagtrap::cli {

struct ControlOptions {
    std::string socket;
    std::string event;  // of `trigger` and `explain`
    bool json = false;
};
int show_status(const ControlOptions& options, Console& console);
int show_metrics(const ControlOptions& options, Console& console);
// Why the event has no delay, or how it comes to those that it has.
int explain_event(const ControlOptions& options, Console& console);
int trigger_recording(const ControlOptions& options, Console& console);
int approve_recording(const ControlOptions& options, Console& console);
int decline_recording(const ControlOptions& options, Console& console);

struct DoctorOptions {
    std::string settings;
    std::string socket;
    bool server = false;  // whether the server is asked too
    bool json = false;
};
// What works on this machine, what lacks, and what works instead. exit_failed: something that is needed is missing.
int examine_machine(const DoctorOptions& options, Console& console);

struct CheckOptions {
    std::string file;
    bool json = false;
};
// The same output and exit codes as `lagtrapd --check-settings`: 0, or 3 for settings with errors.
int check_settings(const CheckOptions& options, Console& console);

struct MarkerOptions {
    std::string target;  // path of a program or library, or a process id; of tracepoints a pattern, perhaps empty
    bool functions = false;
    bool tracepoints = false;
    bool json = false;
};
int list_markers(const MarkerOptions& options, Console& console);

struct ReportOptions {
    std::string bundle;
    std::string spool;
    std::optional<std::size_t> delay;  // from 1
    bool json = false;
    bool all = false;  // leave nothing out
};
int show_report(const ReportOptions& options, Console& console);

enum class ExportFormat { Folded, Trace, System };

struct ExportOptions {
    std::string bundle;
    std::string spool;
    std::optional<std::size_t> delay;  // of Folded
    ExportFormat format = ExportFormat::Folded;
    bool off_cpu = false;
    std::string output;  // empty: standard output
};
int export_recording(const ExportOptions& options, Console& console);

struct SymbolizeOptions {
    std::string bundle;
    std::string spool;
    std::string output;                      // a file or a folder; empty: the current folder
    std::vector<std::string> debug_folders;  // searched before /usr/lib/debug
    bool debuginfod = false;                 // ask the servers of $DEBUGINFOD_URLS
    bool json = false;
};
// Writes a bundle with the names that this machine's files, the folders and the servers have for the recording.
int symbolize_bundle(const SymbolizeOptions& options, Console& console);

struct UploadOptions {
    std::vector<std::string> bundles;  // empty: all that wait in the spool
    std::string settings;
    std::string spool;     // empty: the settings' one
    std::string uploader;  // program; empty: beside this one, else found by PATH
};
// Runs lagtrap-uploader once and gives its exit code.
int upload_bundles(const UploadOptions& options, Console& console);

}  // namespace lagtrap::cli
