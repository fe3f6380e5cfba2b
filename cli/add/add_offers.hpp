// What `lagtrap add` can offer for a program: presets, pairs of probes, functions that look like requests, and turns of event
// loops.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/add/add_target.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::cli {

// What a trial saw of an event.
struct Measured {
    bool armed = false;
    bool too_often = false;  // taken out, since it cost more than the budget
    std::string problem;     // why it is not armed
    std::uint64_t runs = 0;
    std::uint64_t unended = 0;  // runs whose end was not seen
    std::uint64_t p50_ns = 0, p99_ns = 0, max_ns = 0;
    std::uint64_t sum_ns = 0, on_cpu_ns = 0;  // of the runs whose time was counted
};

struct OfferedEvent {
    std::string name;             // as the settings would have it
    std::string element;          // what stands in <event>; of a preset empty
    std::string usual_threshold;  // of a preset
    Measured measured;
    std::string threshold;  // proposed from what was measured; empty: the usual one, or none
};

enum class OfferKind : std::uint8_t { Preset, Probes, Function, Loop };

struct Offer {
    OfferKind kind = OfferKind::Preset;
    std::string title;   // "preset nginx", "function serve_request"
    std::string about;   // a sentence
    std::string preset;  // its name
    bool may_have_scope = true;
    std::string binary;
    std::vector<OfferedEvent> events;
    bool is_loop = false;           // a function that its threads never leave
    bool waits_for_events = false;  // a function: most of its time
    std::string scope_program{};    // path of the program whose processes are meant; empty: the markers say it
    [[nodiscard]] std::uint64_t runs() const;
};

// Presets for the program itself.
[[nodiscard]] std::vector<Offer> preset_offers(const AddTarget& target);
// Names of presets for libraries that the program's processes use.
[[nodiscard]] std::vector<std::string> library_presets(const AddTarget& target);
// Probes of the program that look like begin and end of something.
[[nodiscard]] std::vector<Offer> probe_offers(const AddTarget& target);
// A function of the program that was on its stacks while it worked, and not all the time.
struct SeenFunction {
    std::string name;                  // printable
    std::uint64_t share_permille = 0;  // of the program's time on a CPU
    bool waits_for_events = false;     // most of its time
    bool operator==(const SeenFunction&) const = default;
};
// Those with the most time on a CPU first, at most 4096.
[[nodiscard]] std::vector<SeenFunction> functions_seen(const AddTarget& target, const formats::StackProfile& profile);
// A line for each, and back; lines that are none are left out.
[[nodiscard]] std::string lines_of(const std::vector<SeenFunction>& seen);
[[nodiscard]] std::vector<SeenFunction> seen_functions_of(std::string_view lines);
// Of these, those that can be watched; at most 24. Reads the program's file.
[[nodiscard]] std::vector<Offer> function_offers(const AddTarget& target, const std::vector<SeenFunction>& seen);

// How often threads were found waiting in each system call that event loops and servers wait in, by the call's name.
using WaitingCalls = std::map<std::string, std::size_t>;
// Looks once, and adds to `seen`. What cannot be read is left out.
void note_waiting_calls(const AddTarget& target, WaitingCalls& seen, const std::filesystem::path& proc_root = "/proc");
// Turns of the loops around these calls.
[[nodiscard]] std::vector<Offer> loop_offers(const AddTarget& target, const WaitingCalls& seen);

// Elements of the settings of a trial that measures them all. Its recordings are none: the thresholds are an hour.
[[nodiscard]] std::string trial_elements(const std::vector<Offer>& offers, const AddTarget& target);
// Puts what the trial saw in `time` into the offers, and thresholds from it; functions that are loops are marked.
void take_measured(std::vector<Offer>& offers, const boost::json::object& status, std::chrono::nanoseconds time);
// Presets first, then what ran by the time on a CPU that it covers, then turns of event loops, which come before functions if
// these cover little of them, then what waits for events. Functions and turns that did not run, could not be watched or are loops
// are left out.
[[nodiscard]] std::vector<Offer> ranked(std::vector<Offer> offers);

// The smallest of 1, 2, 5, 10, 20, ... ms that is twice the longest run and four times the 99th percentile: no run of those
// that were seen would have been a delay.
[[nodiscard]] std::string threshold_for(const Measured& measured);

// "shop::(anonymous namespace)::buy" of "shop::(anonymous namespace)::buy(int)".
[[nodiscard]] std::string without_parameters(const std::string& function);
// A name for the settings' event from a program and anything it is about: "shop-buy" of /usr/bin/shop and "app::Shop::buy(int)".
[[nodiscard]] std::string event_name(const std::string& program, std::string function);

struct OfferChoice {
    std::string threshold;  // instead of the proposed one; of a preset for all its events
    std::string prefix;     // before the names of the events
    std::string unit;       // whose runs count; empty: everybody's
};
// The elements for the settings, indented by two.
[[nodiscard]] std::string settings_elements(const Offer& offer, const OfferChoice& choice);

}  // namespace lagtrap::cli
