// The commands of `lagtrap`, after their options are parsed. Each returns the program's exit code
// and reports failures on `console.err`.
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
    std::string event;   // for `trigger` and `explain`
    std::string output;  // for `metrics`: a file; empty for standard output
    bool json = false;
    bool wait = false;  // for `trigger`: wait for the bundle
};
int show_status(const ControlOptions& options, Console& console);
int show_metrics(const ControlOptions& options, Console& console);
// Explains why the event has no delay, or how its delays come about.
int explain_event(const ControlOptions& options, Console& console);
int trigger_recording(const ControlOptions& options, Console& console);
int approve_recording(const ControlOptions& options, Console& console);
int decline_recording(const ControlOptions& options, Console& console);

struct AskOptions {
    std::string socket;
    std::vector<std::string> command;  // gets a sentence as one more argument; not empty
    bool tell = false;                 // its exit code is no answer
};
// Runs the command for each question of <confirm>, until interrupted. Its exit code 0 keeps the
// recording and 1 discards it.
int ask_person(const AskOptions& options, Console& console);

struct LiveOptions {
    std::string socket;
    std::string spool;  // used to find bundles if the daemon names no spool
    std::chrono::seconds interval{1};
};
// Shows the events on the whole screen until a key ends it.
int show_live(const LiveOptions& options, Console& console);

struct CallsOptions {
    std::string socket;
    std::string process;  // id or name
    std::string function;
    unsigned depth = 3;
    std::string match;
    std::vector<std::string> only;
    std::string least;         // duration; empty for none
    std::uint64_t count = 10;  // 0 for any number
    std::string length = "30s";
    double budget_percent = 10;  // of one CPU
    bool summary = false;
    bool all = false;
    bool json = false;
    std::string output;  // file for the trees, which opens in Perfetto; empty for none
};
// Shows calls of a function of a running process, with everything they call.
int trace_calls(const CallsOptions& options, Console& console);

struct FunctionsOptions {
    std::string socket;
    std::string process;  // id or name
    std::string include, exclude;
    std::string least = "20us";
    std::string length = "10s";
    std::string bytes_per_second = "200kB";
    double budget_percent = 10;  // of one CPU
    std::size_t top = 20;
    std::string output;  // file for the calls, which opens in Perfetto; empty for none
    bool all = false;
    bool json = false;
};
// Traces all functions of a running process at low overhead.
int trace_functions(const FunctionsOptions& options, Console& console);

// Follows objects of a running process: what creates, uses and releases them.
int trace_objects(const ObjectsOptions& options, Console& console);

struct WhyOptions {
    std::string target;  // of a process, its number or name; or a unit
    std::string length = "5s";
    std::vector<std::string> command;  // runs this command instead of examining a process
    std::string limit = "60s";         // maximum length of the command's recording
    std::string socket;
    // file for the report; empty: standard output, or standard error with a command
    std::string output;
    bool json = false;
    bool all = false;    // show every thread in full
    bool watch = false;  // repeat until interrupted
};
// Records the machine for some seconds and shows what each thread of a process or unit did or
// waited for.
// With a command, records while it runs, shows where its time went, and returns its exit code.
int say_why(const WhyOptions& options, Console& console);

struct WatchOptions {
    std::string function, usdt, syscall, preset, tracepoint;  // exactly one is set
    std::string until, key;                                   // with `tracepoint`
    std::vector<std::string> stages;                          // functions, probes or tracepoints
    std::string in;                                           // a program, process or unit
    std::vector<std::string> command;  // runs this command, and watches only it
    std::string over;                  // a duration; empty: chosen from the runs of ten seconds
    std::uint64_t count = 1;           // number of delays to show
    bool full = false;                 // show whole reports
    std::string keep;                  // folder for the recordings; empty: they are not kept
    bool save = false;                 // also print the event for the settings
    bool write = false;                // print it, and write it into these settings
    std::string settings;
    std::string socket;  // of the running daemon
};
// Watches for slow runs, by the running daemon or a temporary one, and explains each as it happens.
// With a command, returns its exit code.
int watch_event(const WatchOptions& options, Console& console);

struct DoctorOptions {
    std::string settings;
    std::string socket;
    bool server = false;  // ask the server too
    bool json = false;
};
// Shows what works on this machine, what is missing, and what works instead. Returns exit_failed if
// something necessary is missing.
int examine_machine(const DoctorOptions& options, Console& console);

struct CheckOptions {
    std::string file;
    bool json = false;
    bool reference = false;  // print what settings may contain; reads no file
    bool schema = false;     // as `reference`, but as an XML schema
};
// Same output and exit codes as `lagtrapd --check`: 0, or 3 for settings with errors.
int check_settings(const CheckOptions& options, Console& console);

struct RehearseOptions {
    std::string file;
    std::string settings;  // those in use
    bool json = false;
};
// Becomes `lagtrapd --rehearse`; returns only if that fails.
int rehearse_settings(const RehearseOptions& options, Console& console);

struct PresetOptions {
    std::string name;  // or a file, with a slash; empty to list all
    bool json = false;
};
// Lists the presets, or shows one completely. Exit code 3 if one has errors.
int show_presets(const PresetOptions& options, Console& console);

struct AddOptions {
    std::string target;  // program, process or unit
    std::string length = "5s";
    std::size_t choose = 0;  // from 1; 0: ask on a terminal, otherwise take the first
    std::string threshold;   // empty: proposed from the measurement
    std::string prefix;
    bool functions = false;  // look for functions even if there is a preset
    bool write = false;
    std::string settings;
    std::string socket;
    bool json = false;
};
// Observes a program for some seconds and proposes events for the settings; writes them if
// requested.
int add_events(const AddOptions& options, Console& console);

struct MarkerOptions {
    // path of a program or library, or a process id; for tracepoints a pattern, possibly empty
    std::string target;
    bool functions = false;
    bool tracepoints = false;
    bool json = false;
};
int list_markers(const MarkerOptions& options, Console& console);

struct ReportOptions {
    std::vector<std::string> bundles;  // or folders of bundles; empty: the newest in the spool
    std::string spool;
    std::optional<std::size_t> delay;  // from 1; of several recordings, as they are listed
    // of several recordings, show the longest delay, not the newest
    bool slowest = false;
    std::string html;  // file for the report as a page; empty for none
    bool json = false;
    bool all = false;  // show everything
};
// Explains the delays of a recording. Lists those of several, and shows one in full.
int show_report(const ReportOptions& options, Console& console);

struct FetchOptions {
    std::string server;  // its address
    std::string token_file, ca_file;
    std::string event, host, cause;  // empty for all
    std::string since;               // a duration; empty for any time
    std::size_t limit = 20;
    std::string folder = ".";
    bool json = false;
};
// Downloads bundles from a server into a folder, which `report` reads.
int fetch_bundles(const FetchOptions& options, Console& console);

struct RunsOptions {
    std::string event;
    std::string since = "1h";
    std::string stage;  // only this one
    // only the time between these points; empty: the begin and the end of the run
    std::string from, to;
    bool slowest = false;  // list the longest runs, not the newest
    std::string spool;
    std::string socket;
    bool json = false;
};
// Shows how long the runs of an event and their stages took: from the spool's batches or, without
// them, from the daemon's histogram.
int show_runs(const RunsOptions& options, Console& console);

struct ExportOptions {
    std::string bundle;
    std::string spool;
    std::string format = "folded";  // one of formats::formats()
    std::optional<std::size_t> delay;
    std::string thread;                       // id or name; empty for all
    std::optional<formats::TimeChoice> time;  // nullopt: the format's default
    bool list = false;                        // list the formats
    std::string output;                       // empty for standard output
};
int export_recording(const ExportOptions& options, Console& console);

struct SymbolizeOptions {
    std::string bundle;
    std::string spool;
    std::string output;                      // file or folder; empty for the current folder
    std::vector<std::string> debug_folders;  // searched before /usr/lib/debug
    bool debuginfod = false;                 // ask the servers in $DEBUGINFOD_URLS
    bool json = false;
};
// Writes a bundle with the names that this machine's files, the folders and the servers have for
// the recording.
int symbolize_bundle(const SymbolizeOptions& options, Console& console);

struct UploadOptions {
    std::vector<std::string> bundles;  // empty: all that wait in the spool
    std::string settings;
    std::string spool;     // empty: the one in the settings
    std::string uploader;  // program; empty: next to this one, otherwise from PATH
};
// Runs lagtrap-uploader once and returns its exit code.
int upload_bundles(const UploadOptions& options, Console& console);

}  // namespace lagtrap::cli
