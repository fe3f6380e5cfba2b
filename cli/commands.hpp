// What each command of `lagtrap` does once its options are known. Each returns the program's exit code and says
// on `console.err` what failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/console/console.hpp"
#include "cli/objects/objects_options.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::cli {

struct ControlOptions {
    std::string socket;
    std::string event;   // of `trigger` and `explain`
    std::string output;  // of `metrics`: a file; empty: standard output
    bool json = false;
    bool wait = false;  // of `trigger`: until the bundle is there
};
int show_status(const ControlOptions& options, Console& console);
int show_metrics(const ControlOptions& options, Console& console);
// Why the event has no delay, or how it comes to those that it has.
int explain_event(const ControlOptions& options, Console& console);
int trigger_recording(const ControlOptions& options, Console& console);
int approve_recording(const ControlOptions& options, Console& console);
int decline_recording(const ControlOptions& options, Console& console);

struct LiveOptions {
    std::string socket;
    std::string spool;  // where bundles are looked up if the daemon names none
    std::chrono::seconds interval{1};
};
// The events on the whole screen until a key ends it.
int show_live(const LiveOptions& options, Console& console);

struct CallsOptions {
    std::string socket;
    std::string process;  // a number or a name
    std::string function;
    unsigned depth = 3;
    std::string match;
    std::vector<std::string> only;
    std::string least;         // a duration; empty: none
    std::uint64_t count = 10;  // 0: any number
    std::string length = "30s";
    double budget_percent = 10;  // of a CPU
    bool summary = false;
    bool all = false;
    bool json = false;
    std::string output;  // a file for the trees, which opens in Perfetto; empty: none
};
// Shows calls of a function of a running process with all that they call.
int trace_calls(const CallsOptions& options, Console& console);

struct FunctionsOptions {
    std::string socket;
    std::string process;  // a number or a name
    std::string include, exclude;
    std::string least = "20us";
    std::string length = "10s";
    std::string bytes_per_second = "200kB";
    double budget_percent = 10;  // of a CPU
    std::size_t top = 20;
    std::string output;  // a file for the calls, which opens in Perfetto; empty: none
    bool all = false;
    bool json = false;
};
// A light trace of all functions of a running process.
int trace_functions(const FunctionsOptions& options, Console& console);

// Follows objects of a running process: what creates, uses and releases them.
int trace_objects(const ObjectsOptions& options, Console& console);

struct WhyOptions {
    std::string target;  // of a process, its number or name
    std::string length = "5s";
    std::vector<std::string> command;  // to be run, in place of a process
    std::string limit = "60s";         // of its recording
    std::string socket;
    bool json = false;
    bool all = false;  // leave no thread out
};
// Records the machine for some seconds and says what each thread of a process did or waited for; or records it while a command
// runs, and says where that command's time went. The exit code is then the command's.
int say_why(const WhyOptions& options, Console& console);

struct WatchOptions {
    std::string function, usdt, syscall, preset;  // one of them
    std::string in;                               // a program, process or unit
    std::string over;                             // a duration
    std::uint64_t count = 1;                      // of delays to show
    bool full = false;                            // the whole report of each
    bool save = false;                            // print the event for the settings, too
};
// Watches for slow runs with a daemon of its own and explains each as it happens.
int watch_event(const WatchOptions& options, Console& console);

struct DoctorOptions {
    std::string settings;
    std::string socket;
    bool server = false;  // whether the server is asked too
    bool json = false;
};
// What works on this machine, what is missing, and what works instead. exit_failed: something that is needed is missing.
int examine_machine(const DoctorOptions& options, Console& console);

struct CheckOptions {
    std::string file;
    bool json = false;
    bool reference = false;  // print what settings may hold; no file is read
    bool schema = false;     // the same as an XML schema
};
// The same output and exit codes as `lagtrapd --check-settings`: 0, or 3 for settings with errors.
int check_settings(const CheckOptions& options, Console& console);

struct PresetOptions {
    std::string name;  // or a file, with a slash; empty: all are listed
    bool json = false;
};
// What presets there are, or one of them whole. Exit code 3: one has errors.
int show_presets(const PresetOptions& options, Console& console);

struct AddOptions {
    std::string target;  // a program, process or unit
    std::string length = "5s";
    std::size_t choose = 0;  // from 1; 0: asked for on a terminal, else the first
    std::string threshold;   // empty: proposed from what was measured
    std::string prefix;
    bool functions = false;  // look for functions though there is a preset
    bool write = false;
    std::string settings;
    std::string socket;
    bool json = false;
};
// Looks at a program for some seconds and proposes events for the settings; writes them where wanted.
int add_events(const AddOptions& options, Console& console);

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

struct ExportOptions {
    std::string bundle;
    std::string spool;
    std::string format = "folded";  // one of formats::formats()
    std::optional<std::size_t> delay;
    std::string thread;                       // an id or a name; empty: all
    std::optional<formats::TimeChoice> time;  // else the format's own
    bool list = false;                        // say what formats there are
    std::string output;                       // empty: standard output
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
