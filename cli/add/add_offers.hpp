// What `lagtrap add` can offer for a program: presets, pairs of probes, functions that look like
// request handlers, and turns of event loops.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/add/add_stages.hpp"
#include "cli/add/add_target.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::cli {

// What a trial measured for an event.
struct Measured {
    bool armed = false;
    bool too_often = false;  // detached, because it exceeded the budget
    std::string problem;     // why it is not armed
    std::uint64_t runs = 0;
    std::uint64_t unended = 0;  // runs whose end was not seen
    std::uint64_t p50_ns = 0, p99_ns = 0, max_ns = 0;
    std::uint64_t sum_ns = 0, on_cpu_ns = 0;  // of the runs with counted time
};

struct OfferedEvent {
    std::string name;             // as in the settings
    std::string element;          // content of <event>; empty for a preset
    std::string usual_threshold;  // of a preset
    Measured measured;
    std::string threshold;  // proposed from the measurement; empty: use the usual one, or none
};

enum class OfferKind : std::uint8_t { Preset, Probes, Function, Loop };

struct Offer {
    OfferKind kind = OfferKind::Preset;
    std::string title;   // "preset nginx", "function serve_request"
    std::string about;   // one sentence
    std::string preset;  // preset name
    bool may_have_scope = true;
    std::string binary;
    std::vector<OfferedEvent> events;
    bool is_loop = false;           // a function that its threads never leave
    bool waits_for_events = false;  // a function that mostly waits
    // Path of the program whose processes are meant; empty if the markers determine it.
    std::string scope_program{};
    // Of a function: where its runs may divide. After the check on live runs, those that do.
    std::vector<OfferedStage> stages{};
    std::uint64_t stage_runs = 0;              // on which the check is based
    std::uint64_t before_stages_permille = 0;  // of their time
    [[nodiscard]] std::uint64_t runs() const;
};

// Presets for the program itself.
[[nodiscard]] std::vector<Offer> preset_offers(const AddTarget& target);
// Names of presets for libraries that the program's processes use.
[[nodiscard]] std::vector<std::string> library_presets(const AddTarget& target);
// Pairs of the program's probes that look like a begin and an end.
[[nodiscard]] std::vector<Offer> probe_offers(const AddTarget& target);
// A function of the program that was on its stacks while it worked, but not all the time.
struct SeenFunction {
    std::string name;                  // printable
    std::uint64_t share_permille = 0;  // of the program's CPU time
    bool waits_for_events = false;     // for most of its time
    std::vector<SeenCallee> callees{};
    bool operator==(const SeenFunction&) const = default;
};
// Those with most CPU time first, at most 4096.
[[nodiscard]] std::vector<SeenFunction> functions_seen(const AddTarget& target,
                                                       const formats::StackProfile& profile);
// Formats one line per function and per callee, and parses them; malformed lines are skipped.
[[nodiscard]] std::string lines_of(const std::vector<SeenFunction>& seen);
[[nodiscard]] std::vector<SeenFunction> seen_functions_of(std::string_view lines);
// Those of `seen` that can be watched; at most 24. Reads the program's file.
[[nodiscard]] std::vector<Offer> function_offers(const AddTarget& target,
                                                 const std::vector<SeenFunction>& seen);

// How often threads were found in each system call that event loops and servers wait in, by call
// name.
using WaitingCalls = std::map<std::string, std::size_t>;
// Takes one look and adds it to `seen`. Skips what it cannot read.
void note_waiting_calls(const AddTarget& target, WaitingCalls& seen,
                        const std::filesystem::path& proc_root = "/proc");
// Turns of the loops around these calls.
[[nodiscard]] std::vector<Offer> loop_offers(const AddTarget& target, const WaitingCalls& seen);

// Drops the stages of functions that are called too often, and all but those of the first three
// offers.
void keep_stages_to_try(std::vector<Offer>& offers);
// Keeps the stages that divide the trial's runs, with what the runs say of them.
void take_stages(Offer& offer, const std::vector<trace::RecordedRun>& runs);
// Adds the trial's results over `time` to the offers, with proposed thresholds; marks functions
// that are loops.
void take_measured(std::vector<Offer>& offers, const boost::json::object& status,
                   std::chrono::nanoseconds time);
// Sorts offers: presets first; then functions that ran, by the CPU time they cover; then turns of
// event loops, which precede functions that cover little of it; then what waits for events. Drops
// functions and turns that did not run, could not be watched or are loops.
[[nodiscard]] std::vector<Offer> ranked(std::vector<Offer> offers);

// Smallest of 1, 2, 5, 10, 20, ... ms that is at least twice the longest run and four times the
// 99th percentile, so that no run seen so far would have been a delay.
[[nodiscard]] std::string threshold_for(const Measured& measured);

}  // namespace lagtrap::cli
