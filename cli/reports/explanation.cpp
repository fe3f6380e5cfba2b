#include "cli/reports/explanation.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <boost/json.hpp>

#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/histogram.hpp"
#include "cli/status/limited_party.hpp"
#include "cli/status/threshold_text.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

using boost::json::object;
using Finding = Explanation::Finding;

constexpr std::size_t processes_shown = 3;
// With fewer runs, the 99th percentile is a single run.
constexpr std::uint64_t few_runs = 100;

const object& marker_of(const object& event, std::string_view role) {
    static const object none;
    for (const auto& value : list(event, "markers"))
        if (value.is_object() && text(value.as_object(), "role") == role) return value.as_object();
    return none;
}

std::string name_of(const ProgramProcess& process) {
    std::string name = process.path + " (process " + std::to_string(process.pid);
    if (process.elsewhere) {
        name += ", in a container or another mount namespace";
        if (!process.control_group.empty()) name += ": " + process.control_group;
    }
    return name + ")";
}

std::string names_of(const std::vector<const ProgramProcess*>& processes) {
    std::string names;
    for (std::size_t i = 0; i < processes.size() && i < processes_shown; ++i)
        names += (i == 0 ? "" : ", ") + name_of(*processes[i]);
    if (processes.size() > processes_shown)
        names += " and " + std::to_string(processes.size() - processes_shown) + " more";
    return names;
}

class Explainer {
  public:
    Explainer(const object& answer, const object& event,
              const std::map<std::string, ProgramProcesses>& processes)
        : answer_(answer), event_(event), processes_(processes) {}

    Explanation run() {
        describe();
        if (!truth(event_, "armed")) {
            look_at_problem();
        } else {
            if (number(event_, "hits") == 0) look_at_processes();
            look_at_copies();
            look_at_markers();
            look_at_pairing();
            look_at_room();
        }
        if (std::string sentence = threshold_sentence(event_); !sentence.empty())
            add("threshold", std::move(sentence));
        look_at_runs();
        look_at_limits();
        look_at_recordings();
        if (result_.findings.empty()) add("waiting", "It is armed and works normally.");
        return std::move(result_);
    }

  private:
    void add(std::string kind, std::string sentence, std::string next = {}) {
        result_.findings.push_back({std::move(kind), std::move(sentence), std::move(next)});
    }

    void describe() {
        const auto what = [](const object& marker) {
            const std::string binary = text(marker, "binary");
            return text(marker, "marker") + (binary.empty() ? "" : " in " + binary);
        };
        const object& begin = marker_of(event_, "begin");
        const object& end = marker_of(event_, "end");
        result_.event =
            text(event_, "name") + ": from " + what(begin) + " to " +
            (text(begin, "binary") == text(end, "binary") ? text(end, "marker") : what(end)) +
            ", paired by " + (text(event_, "key") == "argument" ? "key" : text(event_, "key")) +
            ", nesting \"" + text(event_, "nesting") + "\"; " +
            (learns_threshold(event_)
                 ? "its threshold is not known yet"
                 : "runs longer than " + duration(number(event_, "threshold_ns")));
    }

    void look_at_problem() {
        if (truth(event_, "disabled") && is_watched_in_part(event_))
            return add("watched-in-part", "It is " + text(event_, "problem") + ".",
                       "Only runs in the watched part of the time are timed. To time all of them, "
                       "choose markers that are hit less often, or raise <budget share>.");
        if (truth(event_, "disabled"))
            return add("disabled",
                       "It exceeded the budget and is " + text(event_, "problem") + ". Retry in " +
                           seconds_text(event_, "again_in_seconds") + ".",
                       "Choose markers that are hit less often, or raise <budget share>.");
        add("not-armed", "It is not armed: " + text(event_, "problem") + ".",
            "Fix the settings (\"lagtrap check\" shows where, \"lagtrap list-markers\" lists what "
            "can be watched) and reload.");
    }

    void look_at_processes() {
        const std::string binary = text(marker_of(event_, "begin"), "binary");
        if (binary.empty())
            return add("not-reached",
                       "It is armed, but the kernel has not hit any of its markers since.",
                       "Check that this machine uses what the tracepoints belong to.");
        if (const std::uint64_t processes = number(event_, "processes"); processes > 0)
            return report_not_reached(processes, binary, std::to_string(number(event_, "pid")));
        const auto known = processes_.find(binary);
        if (known == processes_.end()) return;
        std::vector<const ProgramProcess*> same, others;
        for (const ProgramProcess& process : known->second.found)
            (process.same_file ? same : others).push_back(&process);
        if (!same.empty())
            return report_not_reached(same.size(), binary, std::to_string(same.front()->pid));
        const auto was_there = [&](const ProgramProcess* process) {
            return process->deleted && !process->elsewhere && process->path == binary;
        };
        std::stable_partition(others.begin(), others.end(), was_there);
        if (!others.empty()) return report_other_files(binary, others);
        std::string sentence = "It is armed, but no process uses " + binary + " now.";
        if (known->second.hidden > 0)
            sentence += " " + counted(known->second.hidden, "process", "processes") +
                        " could not be inspected" + (::geteuid() == 0 ? "." : ": try as root.");
        add("no-process", sentence, "Start the program; it is watched from its first call on.");
    }

    // `pid` is one of the processes.
    void report_not_reached(std::uint64_t processes, const std::string& binary,
                            const std::string& pid) {
        add("not-reached",
            "It is armed, and " + counted(processes, "process uses", "processes use") + " " +
                binary + " (" + pid + (processes > 1 ? ", ..." : "") + ")" +
                ", but none has hit a marker since it was armed.",
            "Make the program do what you want to watch. If it does so already, it may take a "
            "different code path, or the function may be inlined; \"lagtrap list-markers " +
                pid + "\" lists what can be watched.");
    }

    // A marker's path also matches files of that name in containers, but not other paths.
    void report_other_files(const std::string& binary,
                            const std::vector<const ProgramProcess*>& others) {
        const ProgramProcess& first = *others.front();
        if (first.deleted && !first.elsewhere)
            return add(
                "other-file",
                "It is armed in " + binary +
                    ", but the running processes use the previous file: " + names_of(others) + ".",
                "Restart the program.");
        add("other-file",
            "It is armed in " + binary +
                ", but a different file of that name runs: " + names_of(others) + ".",
            "To watch every file of that name, use binary=\"*" + binary.substr(binary.rfind('/')) +
                "\".");
    }

    void look_at_copies() {
        for (const auto& entry : list(event_, "copies")) {
            if (!entry.is_object()) continue;
            const std::string problem = text(entry.as_object(), "problem");
            if (problem.empty()) continue;
            const std::string where = text(entry.as_object(), "where");
            add("copy-not-watched", text(entry.as_object(), "path") +
                                        (where.empty() ? "" : " of " + where) + ", which process " +
                                        std::to_string(number(entry.as_object(), "pid")) +
                                        " uses, is not watched: " + problem + ".");
        }
    }

    void look_at_markers() {
        const object& begin = marker_of(event_, "begin");
        const object& end = marker_of(event_, "end");
        const std::uint64_t begins = number(begin, "hits"), ends = number(end, "hits");
        if (begins == ends && begins == 0) return;
        const auto last = [](const object& marker) {
            const std::uint64_t at_ns = number(marker, "last_realtime_ns");
            return at_ns == 0 ? std::string() : ", the last at " + format_utc(at_ns);
        };
        add("hits", counted(begins, "begin", "begins") + last(begin) + "; " +
                        counted(ends, "end", "ends") + last(end) + ".");
        for (const auto& value : list(event_, "markers")) {
            if (!value.is_object() || text(value.as_object(), "role") != "stage") continue;
            if (number(value.as_object(), "hits") > 0 || number(event_, "runs") < few_runs)
                continue;
            add("stage-not-reached", "Its stage " + text(value.as_object(), "stage") +
                                         " was never hit (" + text(value.as_object(), "marker") +
                                         ").");
        }
    }

    static std::string remedy_of(const std::string& kind) {
        if (kind == "no-end")
            return "Choose another end: the program does not reach this one. A function that never "
                   "returns has no end.";
        if (kind == "no-begin") return "Choose another begin: the program does not reach this one.";
        if (kind == "out-of-scope") return "Widen or remove <scope>.";
        if (kind == "begins-unended")
            return "Look for code paths without an end (errors, early returns) and for begins that "
                   "are hit twice. If several operations run on a thread at once, pair them by a "
                   "key.";
        if (kind == "ends-unbegun")
            return "Look for code paths that hit the end twice, or without a begin. If a different "
                   "thread ends the operation, pair them by a key.";
        if (kind == "crowded")
            return "Find out why its runs do not end: the end marker or the key may be wrong.";
        if (kind == "semaphore-unseen")
            return "Link it with -Wl,-z,separate-loadable-segments, or watch functions. Processes "
                   "that ran when the event was armed are watched until they exit.";
        return {};
    }

    void look_at_pairing() {
        for (const auto& value : list(event_, "pairing")) {
            if (!value.is_object()) continue;
            std::string sentence = text(value.as_object(), "sentence");
            if (sentence.empty()) continue;
            if (sentence[0] >= 'a' && sentence[0] <= 'z')
                sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
            const std::string kind = text(value.as_object(), "kind");
            add(kind, sentence + ".", remedy_of(kind));
        }
    }

    void look_at_room() {
        const std::uint64_t lost = number(event_, "lost");
        if (lost == 0) return;
        for (const Finding& finding : result_.findings)
            if (finding.kind == "crowded") return;
        std::string crowding, commands;
        for (const auto& value : list(answer_, "events"))
            for (const auto& found :
                 value.is_object() ? list(value.as_object(), "pairing") : boost::json::array())
                if (found.is_object() && text(found.as_object(), "kind") == "crowded") {
                    const std::string name = text(value.as_object(), "name");
                    commands +=
                        (crowding.empty() ? "See " : ", ") + ("\"lagtrap explain " + name) + "\"";
                    crowding += (crowding.empty() ? "" : ", ") + name;
                }
        add("lost",
            counted(lost, "run was", "runs were") + " lost: too many were open at once" +
                (crowding.empty() ? "." : ", most of them by " + crowding + "."),
            crowding.empty() ? "Choose an operation that fewer threads do at once."
                             : commands + ".");
    }

    void look_at_runs() {
        const std::uint64_t runs = number(event_, "runs"), delays = number(event_, "delays");
        const std::string threshold = duration(number(event_, "threshold_ns"));
        if (const std::uint64_t overdue = number(event_, "open_overdue"); overdue > 0)
            add("open", counted(overdue, "run is", "runs are") +
                            " open beyond the threshold; the oldest began " +
                            duration(number(event_, "oldest_open_ns")) +
                            " ago. Runs are counted when they end.");
        else if (const std::uint64_t open = number(event_, "open"); open > 0 && runs == 0)
            add("open", counted(open, "run is", "runs are") + " open; none has ended.");
        if (runs == 0) return;
        if (delays > 0)
            return add("delays", with_commas(delays) + " of " + counted(runs, "run", "runs") +
                                     " took longer than " + threshold + "; the longest took " +
                                     duration(number(event_, "max_ns")) + ".");
        const auto histogram = histogram_of(event_);
        const bool has_threshold = !learns_threshold(event_);
        std::string sentence = runs == 1 ? "Its only run" : "All " + with_commas(runs) + " runs";
        sentence += has_threshold ? std::string(runs == 1 ? " was" : " were") +
                                        " below the threshold of " + threshold
                                  : std::string(runs == 1 ? " has" : " have") + " ended";
        sentence += ": ";
        if (runs >= few_runs) {
            const std::uint64_t max_ns =
                std::min(percentile_ns(histogram, 0.99), number(event_, "max_ns"));
            sentence += "99 % took at most " + duration(max_ns) + ", ";
        }
        sentence += "the longest " + duration(number(event_, "max_ns")) + ".";
        if (!has_threshold) return add("runs", sentence);
        add("fast", sentence,
            runs < few_runs
                ? "These are few; collect more runs before you choose a threshold."
                : "No run is slow by this threshold. A threshold below " +
                      duration(number(event_, "max_ns")) + " would have caught the longest.");
    }

    void look_at_limits() {
        for (const auto& entry : list(event_, "limits"))
            if (entry.is_object())
                add("limited",
                    "It is not watched for " + party_text(entry.as_object()) + ": " +
                        text(entry.as_object(), "reason") + ". Other users are; retry in " +
                        seconds_text(entry.as_object(), "again_in_seconds") + ".",
                    "To watch only some users, set <scope user>. To watch all of them, raise "
                    "<budget share>.");
    }

    void look_at_recordings() {
        const std::string state = text(answer_, "state");
        if (const std::uint64_t recordings = number(event_, "recordings"); recordings > 0)
            add("recordings",
                counted(recordings, "recording was", "recordings were") + " made for it.",
                "\"lagtrap report\" shows the newest.");
        const object& without = part(event_, "without_recordings");
        const std::string reason = text(without, "reason");
        const std::string left =
            "None of its delays starts a recording for the next " +
            (without.empty() ? std::string() : seconds_text(without, "seconds_left"));
        if (reason == "hourly-limit")
            add(reason, left + ": the hourly limit is reached.",
                "Raise <recording captures-per-hour>, or the threshold of the event that uses them "
                "up.");
        if (reason == "event-share")
            add(reason,
                left + ": it used its share of captures-per-hour; the others are for other events.",
                "Raise <recording captures-per-hour>, or its threshold.");
        if (reason == "daily-limit")
            add(reason, left + ": it used its recordings of the day.",
                "Raise <auto-threshold captures-per-day>.");
        if (reason == "questions")
            add(reason,
                "None of its delays starts a recording: too many recordings wait for an answer.",
                "\"lagtrap approve\" or \"lagtrap decline\".");
        if (reason == "cool-down")
            add(reason, left + ": a recording has just ended (<recording cool-down>).");
        for (const auto& entry : list(part(answer_, "captures"), "users_without"))
            if (entry.is_object())
                add("user-share",
                    "Delays of " + limited_party(entry.as_object()) +
                        " start no recording for the next " +
                        seconds_text(entry.as_object(), "seconds_left") +
                        ": they reached half of captures-per-hour.",
                    "Delays of other users do. Raise <recording captures-per-hour>, or the "
                    "threshold of the event.");
        if (state == "confirming" &&
            text(part(answer_, "pending"), "event") == text(event_, "name"))
            add("asked", "A breach waits for an answer.",
                "\"lagtrap approve\" or \"lagtrap decline\".");
    }

    const object& answer_;
    const object& event_;
    const std::map<std::string, ProgramProcesses>& processes_;
    Explanation result_;
};

}  // namespace

std::vector<std::string> binaries_of(const object& event) {
    std::vector<std::string> binaries;
    for (const auto& value : list(event, "markers")) {
        if (!value.is_object()) continue;
        const std::string binary = text(value.as_object(), "binary");
        if (!binary.empty() &&
            std::find(binaries.begin(), binaries.end(), binary) == binaries.end())
            binaries.push_back(binary);
    }
    return binaries;
}

Explanation explain(const object& answer, const object& event,
                    const std::map<std::string, ProgramProcesses>& processes) {
    return Explainer(answer, event, processes).run();
}

}  // namespace lagtrap::cli
