#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "analysis/recording.hpp"
#include "cli/add/add_offers.hpp"
#include "cli/add/add_text.hpp"
#include "cli/add/add_write.hpp"
#include "cli/add/offer_elements.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/bundles/confined_reading.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/daemons/daemon_program.hpp"
#include "cli/daemons/temporary_daemon.hpp"
#include "cli/runs/run_summary.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto max_look = std::chrono::minutes(10);
constexpr std::chrono::nanoseconds stage_trial_limit = 3s;
constexpr std::size_t stage_runs_kept = 1000;
constexpr auto last_batch_limit = 10s;
constexpr auto spool_pause = 100ms;

// An event that never occurs, because a recording needs an event.
std::string recording_event(std::chrono::nanoseconds time) {
    return fmt::format(
        "<event name=\"look\" threshold=\"1h\" trace-length=\"{}ms\"><scope pid=\"{}\"/>"
        "<begin tracepoint=\"syscalls:sys_enter_sync\"/><end "
        "tracepoint=\"syscalls:sys_exit_sync\"/></event>\n",
        std::max<std::int64_t>(100, time.count() / 1'000'000), ::getpid());
}

class Add {
  public:
    Add(const AddOptions& options, AddTarget target, std::chrono::nanoseconds time,
        Console& console)
        : options_(options), target_(std::move(target)), time_(time), console_(console) {}

    Status look() {
        offers_ = preset_offers(target_);
        const bool has_preset = !offers_.empty();
        if (!has_preset || options_.functions) append(probe_offers(target_));
        if (time_ > std::chrono::nanoseconds::zero() && !target_.processes.empty())
            return measure(!has_preset || options_.functions);
        return success();
    }

    int offer() {
        if (offers_.empty()) return console_.fail(nothing_found(target_, time_));
        std::size_t chosen = options_.choose;
        const bool asks =
            chosen == 0 && console_.terminal && ::isatty(STDIN_FILENO) == 1 && !options_.json;
        if (!options_.json)
            console_.out << offers_text(offers_, target_, time_, options_.target,
                                        {console_.paint, console_.columns});
        if (asks) {
            chosen = ask_which();
            if (chosen == 0) return exit_failed;
        }
        chosen = chosen == 0 ? 1 : chosen;
        if (chosen > offers_.size())
            return console_.fail(fmt::format("--choose {}: there are only {}", chosen,
                                             counted(offers_.size(), "proposal", "proposals")));
        const std::string xml = settings_elements(
            offers_[chosen - 1], {options_.threshold, options_.prefix, target_.unit});
        if (!options_.json)
            console_.out << "\n"
                         << console_.paint(Colour::Bold, "Add to the settings") << "\n"
                         << xml;
        bool writes = options_.write;
        if (!writes && asks) writes = ask_whether_to_write();
        std::string said;
        if (writes) {
            if (const auto written = write(xml, said); !written)
                return console_.fail(written.error().message);
        }
        if (options_.json) {
            console_.out << json::serialize(add_json(
                                offers_, target_,
                                {chosen, xml, options_.prefix, writes, options_.settings, said}))
                         << "\n";
        } else if (writes) {
            console_.out << "\n"
                         << wrap_words(fmt::format("Written to {}. {}", options_.settings, said),
                                       console_.columns, 0);
        } else {
            console_.out << "\n"
                         << wrap_words(fmt::format("--write puts it into {}.", options_.settings),
                                       console_.columns, 0);
        }
        return exit_done;
    }

  private:
    void append(std::vector<Offer> more) {
        offers_.insert(offers_.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
    }

    void tell(const std::string& text) {
        if (!options_.json) console_.err << wrap_words(text, console_.columns, 0) << std::flush;
    }

    Status measure(bool with_functions) {
        const std::string seconds = format_duration(time_);
        const std::string first =
            with_functions ? recording_event(time_) : trial_elements(offers_, target_);
        tell(fmt::format("Preparing to measure {} ...", target_.name));
        TRY_ASSIGN(const auto daemon, TemporaryDaemon::start(find_daemon(), first, interrupted));
        if (with_functions) {
            TRY(search_functions(*daemon));
            if (offers_.empty()) return success();
            tell(fmt::format("Preparing to measure {} ...",
                             counted(offers_.size(), "candidate", "candidates")));
            TRY(daemon->watch(trial_elements(offers_, target_)));
        }
        tell(fmt::format("Measuring for {} ...", seconds));
        TRY_ASSIGN(const auto status, daemon->status_after(time_));
        take_measured(offers_, status, time_);
        offers_ = ranked(std::move(offers_));
        if (with_functions) {
            if (const Status checked = check_stages_of_first(*daemon); !checked) {
                if (interrupted != 0) return checked;
                for (Offer& offer : offers_) offer.stages.clear();
                tell("No stages are proposed: " + checked.error().message);
            }
        }
        return success();
    }

    Status search_functions(TemporaryDaemon& daemon) {
        tell(fmt::format("Recording for {} ...", format_duration(time_)));
        append(loop_offers(target_, waiting_calls()));
        TRY_ASSIGN(const auto bundle, daemon.record("look"));
        tell("Searching the recording for functions ...");
        TRY_ASSIGN(const auto seen,
                   decode_confined(
                       bundle, [&](const std::filesystem::path& opened) -> Result<std::string> {
                           TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
                           TRY_ASSIGN(const auto profile,
                                      formats::profile_of_recording(recording, {}));
                           return lines_of(functions_seen(target_, profile));
                       }));
        append(function_offers(target_, seen_functions_of(seen)));
        return success();
    }

    // Watches the first functions with their stages, and keeps the stages that divide the runs.
    Status check_stages_of_first(TemporaryDaemon& daemon) {
        keep_stages_to_try(offers_);
        const std::string trial = stage_trial_elements(offers_, target_);
        if (trial.empty()) return success();
        const auto time = std::min(time_, stage_trial_limit);
        tell(fmt::format("Trying stages for {} ...", format_duration(time)));
        TRY(daemon.watch(trial));
        TRY_ASSIGN(const auto status, daemon.status_after(time));
        for (std::size_t i = 0; i < offers_.size(); ++i) {
            Offer& offer = offers_[i];
            if (offer.stages.empty()) continue;
            TRY_ASSIGN(const auto runs, recorded_runs(daemon, stage_trial_name(i), status));
            take_stages(offer, runs);
        }
        return success();
    }

    // Waits until the spool has as many runs of the event as `status` counts, except for lost ones.
    [[nodiscard]] static Result<std::vector<trace::RecordedRun>> recorded_runs(
        const TemporaryDaemon& daemon, const std::string& event, const json::object& status) {
        std::uint64_t expected = 0;
        for (const auto& counted : list(status, "events"))
            if (text(counted.as_object(), "name") == event)
                expected = number(counted.as_object(), "runs");
        RunWish wish;
        wish.event = event;
        wish.runs_kept = stage_runs_kept;
        const auto end = std::chrono::steady_clock::now() + last_batch_limit;
        for (;;) {
            TRY_ASSIGN(SpoolRuns found, read_runs(daemon.spool(), wish));
            RunSummary& summary = found.summary;
            if (summary.events[event] + summary.lost >= expected ||
                std::chrono::steady_clock::now() > end || interrupted != 0)
                return std::move(summary.runs);
            std::this_thread::sleep_for(spool_pause);
        }
    }

    // The calls in which its threads are found waiting within a second, or within the trial's
    // length if that is shorter.
    [[nodiscard]] WaitingCalls waiting_calls() const {
        const auto end =
            std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(time_, 1s);
        WaitingCalls seen;
        while (std::chrono::steady_clock::now() < end && interrupted == 0) {
            note_waiting_calls(target_, seen);
            std::this_thread::sleep_for(25ms);
        }
        return seen;
    }

    std::size_t ask_which() {
        std::string answer;
        console_.out << fmt::format("Which one? [1 to {}, Enter for 1, q for none] ",
                                    offers_.size())
                     << std::flush;
        if (!std::getline(std::cin, answer) || answer == "q") return 0;
        if (const auto number = chosen_number(answer, offers_.size())) return *number;
        console_.err << fmt::format("lagtrap: {} is not a choice; enter 1 to {}\n",
                                    printable(answer), offers_.size());
        return 0;
    }

    bool ask_whether_to_write() {
        std::string answer;
        console_.out << fmt::format("\nWrite it to {}? [y/N] ", options_.settings) << std::flush;
        return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
    }

    Status write(const std::string& xml, std::string& said) {
        TRY(add_to_settings(options_.settings, xml));
        TRY_ASSIGN(said, reload_daemon(options_.socket, options_.settings));
        return success();
    }

    const AddOptions& options_;
    const AddTarget target_;
    const std::chrono::nanoseconds time_;
    Console& console_;
    std::vector<Offer> offers_;
};

}  // namespace

int add_events(const AddOptions& options, Console& console) {
    const auto time = parse_duration(options.length);
    if (!time)
        return console.fail("--for " + printable(options.length) + ": " + time.error().message);
    if (*time > max_look) return console.fail("--for: expected 0s to 10min");
    if (!options.threshold.empty())
        if (const auto threshold = parse_duration(options.threshold); !threshold)
            return console.fail("--threshold " + printable(options.threshold) + ": " +
                                threshold.error().message);
    if (*time > std::chrono::nanoseconds::zero() && ::geteuid() != 0)
        return console.fail(
            "measuring a program needs root; --for 0s proposes presets and probes without "
            "measuring");
    const auto reading = ConfinedReading::start();
    if (!reading) return console.fail(reading.error().message);
    auto target = find_target(options.target);
    if (!target) return console.fail(target.error().message);
    if (target->outdated)
        return console.fail(
            target->name + ": the running file was removed or replaced since process " +
            std::to_string(target->processes.front().pid) + " started; restart it, then try again");
    note_interrupts_while_waiting();
    Add add(options, std::move(target).value(), *time, console);
    if (const auto looked = add.look(); !looked) return console.fail(looked.error().message);
    return add.offer();
}

}  // namespace lagtrap::cli
