#include <poll.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "calls/object_rule.hpp"
#include "calls/object_summary.hpp"
#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/interrupt.hpp"
#include "cli/objects_follower.hpp"
#include "cli/objects_sender.hpp"
#include "cli/objects_text.hpp"
#include "cli/process_name.hpp"
#include "cli/text_layout.hpp"
#include "core/duration.hpp"
#include "settings/parser.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

class ObjectsShow {
  public:
    ObjectsShow(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns)
        : options_(options), console_(console), look_{{console.paint, console.columns, options.all}, marked_ns} {}

    // Where lines go to a file. Errors: it cannot be made.
    Status prepare() {
        if (options_.record.empty()) return success();
        record_.open(options_.record, std::ios::trunc);
        return record_ ? success() : Status(system_error(options_.record));
    }

    Status show(const std::string& line) {
        TRY_ASSIGN(calls::ObjectsReply reply, calls::parse_objects_reply(line));
        const bool begins = reply.started.has_value(), ends = reply.ended.has_value();
        const auto taken_out = reply.taken_out;
        if (reply.counts) counts_ = reply.counts;
        if (reply.calls) count(*reply.calls);
        std::vector<calls::ObjectNode> trees;
        TRY(summary_.add(std::move(reply), &trees));
        if (record_.is_open() && !(record_ << line << '\n')) return system_error(options_.record);
        if (options_.json) {
            console_.out << line << "\n";
        } else {
            if (begins) console_.out << objects_started_text(summary_.started(), look_.look);
            if (options_.tree)
                for (const calls::ObjectNode& one : trees)
                    console_.out << object_tree_text(one, summary_.started(), look_);
            if (taken_out) console_.out << objects_taken_out_text(*taken_out, summary_.started(), look_.look);
            if (ends) console_.out << objects_ended_text(summary_, options_.top, look_);
        }
        console_.out.flush();
        return success();
    }
    [[nodiscard]] bool ended() const { return summary_.ended().has_value(); }
    // Of one that goes on elsewhere: by what was told of it until now.
    void show_so_far() {
        if (options_.json || !summary_.has_begun()) return;
        calls::ObjectsReply end;
        end.ended.emplace();
        if (counts_) {
            end.ended->classes = counts_->classes;
            end.ended->length_ns = counts_->at_ns - std::min(counts_->at_ns, summary_.started().began_monotonic_ns);
        }
        end.ended->classes.resize(summary_.started().classes.size());
        for (const auto& [function, totals] : told_) end.ended->totals.push_back(totals);
        const std::uint64_t length_ns = end.ended->length_ns;
        if (summary_.add(std::move(end)))
            console_.out << objects_summary_text(summary_, options_.top, look_)
                         << fmt::format("\nInterrupted here after {} of it; it goes on there.\n",
                                        format_duration_ns(length_ns));
        console_.out.flush();
    }

  private:
    void count(const std::vector<calls::ObjectCall>& calls) {
        for (const calls::ObjectCall& call : calls) {
            calls::ObjectFunctionTotals& totals = told_[call.function];
            totals.function = call.function;
            ++totals.calls;
            totals.failures += call.failed ? 1 : 0;
            const std::uint64_t whole_ns = call.end_ns - std::min(call.begin_ns, call.end_ns);
            totals.elapsed_ns += whole_ns - std::min(whole_ns, call.probes_ns);
        }
    }

    const ObjectsOptions& options_;
    Console& console_;
    ObjectsLook look_;
    std::ofstream record_;
    calls::ObjectsSummary summary_;
    std::optional<calls::ObjectCounts> counts_;                  // the last ones
    std::map<std::uint32_t, calls::ObjectFunctionTotals> told_;  // of calls that were told
};

Result<json::array> rules_of(const ObjectsOptions& options) {
    std::vector<calls::ObjectRule> rules;
    for (const std::string& name : options.classes) {
        calls::ObjectRule& rule = rules.emplace_back();
        rule.name = rule.class_pattern = name;
        rule.library = options.library;
    }
    for (const std::string& name : options.presets) {
        TRY_ASSIGN(auto preset, calls::object_preset(name));
        std::move(preset.begin(), preset.end(), std::back_inserter(rules));
    }
    json::object own{{"name", options.name}};
    const auto put = [&](const char* attribute, const std::string& text) {
        if (!text.empty()) own[attribute] = text;
    };
    put("create", options.create);
    put("use", options.use);
    put("release", options.release);
    put("message", options.message);
    put("title", options.title);
    if (own.size() > 1) {
        put("library", options.library);
        put("error", options.error);
        put("success", options.success);
        put("except", options.except);
        TRY_ASSIGN(auto rule, calls::parse_object_rule(own));
        rules.push_back(std::move(rule));
    }
    if (rules.empty())
        return make_error(
            ErrorKind::Invalid,
            "which objects? --class NAME for those of C++, --preset NAME, or --create FUNCTION:PLACE with --use "
            "and --release; `lagtrap objects --list-presets` shows presets");
    json::array all;
    for (const calls::ObjectRule& rule : rules) all.push_back(calls::to_json(rule));
    return all;
}

Result<json::object> request_of(const ObjectsOptions& options) {
    TRY_ASSIGN(json::array rules, rules_of(options));
    TRY_ASSIGN(const std::uint32_t pid, find_process(options.process));
    json::object request{{"command", "objects"},
                         {"pid", pid},
                         {"rules", std::move(rules)},
                         {"include", options.include},
                         {"exclude", options.exclude},
                         {"memory", options.no_memory ? 0 : 1},
                         {"calls_per_second", options.calls_per_second},
                         {"budget_permille", static_cast<std::int64_t>(options.budget_percent * 10)}};
    const auto least = parse_duration(options.least);
    if (!least) return least.error().within("--min");
    request["least_ns"] = least->count();
    const auto length = parse_duration(options.length);
    if (!length) return length.error().within("--for");
    request["length_ns"] = length->count();
    const auto patience = parse_duration(options.patience);
    if (!patience) return patience.error().within("--patience");
    request["patience_ns"] = patience->count();
    return request;
}

int list_presets(Console& console) {
    for (const calls::ObjectPreset& preset : calls::object_presets())
        console.out << fmt::format("{}{}\n", pad_right(preset.name, 12), preset.what);
    return exit_done;
}

int read_lines(const ObjectsOptions& options, ObjectsShow& show, Console& console) {
    std::ifstream file;
    if (options.read != "-") {
        file.open(options.read);
        if (!file) return console.fail(system_error(options.read).message);
    }
    std::istream& lines = options.read == "-" ? std::cin : file;
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        const Status shown = line.size() > calls::line_limit_bytes
                                 ? Status(make_error(ErrorKind::TooLarge, "the line is longer than 8 MiB"))
                                 : show.show(line);
        if (!shown) return console.fail(fmt::format("{}:{}: {}", options.read, number, shown.error().message));
    }
    return show.ended() ? exit_done : console.fail(options.read + ": it was cut short: its last line is missing");
}

// Feeds every line of the daemon's answer to `take`, until it ends; the first interrupt asks the daemon to end it.
Status each_line(DaemonLines& lines, const std::function<Status(const std::string&)>& take) {
    note_interrupts();
    bool asked_to_end = false;
    const volatile std::sig_atomic_t never = 0;
    for (;;) {
        TRY_ASSIGN(const auto line, lines.next(calls::line_limit_bytes, asked_to_end ? never : interrupted));
        if (line) {
            TRY(take(*line));
            continue;
        }
        // What was seen so far is told at the end, so that is waited for.
        if (interrupted == 0 || asked_to_end) return success();
        asked_to_end = true;
        TRY(lines.say_enough());
    }
}

Result<std::string> spool_of(const ObjectsOptions& options) {
    if (!options.spool.empty()) return options.spool;
    const auto outcome = settings::load_settings(options.settings, settings::BinaryCheck::Skip);
    if (!outcome.ok())
        return make_error(ErrorKind::Invalid, options.settings + ": cannot be used; `lagtrap check` says why");
    if (!outcome.settings.upload)
        return make_error(
            ErrorKind::Invalid,
            options.settings + " has no <upload>: nobody would send what is seen; add one, or use --record");
    return outcome.settings.spool.path;
}

// Parses nothing but the first line: the machine of the process does no more than to write records.
int send_objects(const ObjectsOptions& options, const json::object& request, Console& console) {
    const auto spool = spool_of(options);
    if (!spool) return console.fail(spool.error().message);
    auto lines = DaemonLines::ask(options.socket, request);
    if (!lines) return console.fail(lines.error().message);
    std::optional<ObjectsSender> sender;
    bool ended = false;
    const auto take = [&](const std::string& line) -> Status {
        if (!sender) {
            TRY_ASSIGN(const calls::ObjectsReply reply, calls::parse_objects_reply(line));
            if (!reply.started) return make_error(ErrorKind::Invalid, "lagtrapd does not begin as expected");
            TRY_ASSIGN(auto opened, ObjectsSender::open(*spool, reply.started->pid, reply.started->process));
            sender.emplace(std::move(opened));
            console.out << fmt::format("Sending objects of {} ({}) as watch {}\n", reply.started->process,
                                       reply.started->pid, sender->watch_id());
            console.out.flush();
        }
        ended = ended || line.starts_with("{\"ended_objects\"");
        return sender->add(line, ObjectsSender::Clock::now());
    };
    const Status told = each_line(*lines, take);
    const Status last = sender ? sender->end() : success();
    if (!told) return console.fail(told.error().message);
    if (!last) return console.fail(last.error().message);
    if (!sender) return console.fail("lagtrapd has gone; its probes went with it");
    console.out << fmt::format("{} in {}{}\n", counted(sender->parts(), "part", "parts"), *spool,
                               sender->lost_lines() == 0
                                   ? std::string()
                                   : fmt::format("; {} lost for want of room there: does the uploader run?",
                                                 counted(sender->lost_lines(), "line", "lines")));
    return ended ? exit_done : console.fail("lagtrapd has gone; its probes went with it");
}

class Following {
  public:
    Following(const ObjectsOptions& options, ObjectsShow& show, Console& console)
        : options_(options), show_(show), console_(console) {}

    int run() {
        auto follower = ObjectsFollower::find(
            {options_.connect, options_.token_file, options_.ca_file, options_.watch, options_.host, options_.process});
        if (!follower) return console_.fail(follower.error().message);
        const WatchOnServer& watch = follower->watch();
        console_.err << fmt::format("following {} ({}) on {}, watch {}\n", watch.process, watch.pid, watch.host,
                                    watch.id);
        note_interrupts();
        while (interrupted == 0 && !over_) {
            auto parts = follower->next(ObjectsFollower::Clock::now(), interrupted);
            if (!parts && interrupted != 0) break;
            if (!parts && parts.error().kind != ErrorKind::Busy) return console_.fail(parts.error().message);
            note(parts ? std::string() : parts.error().message, parts && !parts->empty());
            if (parts)
                for (FollowedPart& part : *parts)
                    if (const Status shown = take(std::move(part)); !shown) return console_.fail(shown.error().message);
            if (!over_ && (!parts || parts->empty())) (void)::poll(nullptr, 0, pause_ms);
        }
        tell_losses();
        if (show_.ended()) return exit_done;
        if (over_) return console_.fail("it was cut short: its last line is missing");
        show_.show_so_far();
        return exit_done;
    }

  private:
    static constexpr int pause_ms = 1'000;
    static constexpr std::chrono::seconds silence{30};

    Status take(FollowedPart part) {
        lost_lines_ += part.lost_lines;
        lost_parts_ += part.lost_parts;
        over_ = part.last;
        for (const std::string& line : part.lines) TRY(show_.show(line));
        return success();
    }

    // Once for each trouble, and once when nothing has come for long.
    void note(const std::string& trouble, bool something) {
        const auto now = ObjectsFollower::Clock::now();
        if (something) since_ = now;
        const std::string said = !trouble.empty() ? trouble
                                 : now - since_ > silence
                                     ? "nothing new for 30 s: does lagtrap-uploader run on that machine?"
                                     : std::string();
        if (said != said_ && !said.empty()) console_.err << "lagtrap: " << said << "\n";
        said_ = said;
    }

    void tell_losses() {
        if (lost_lines_ != 0)
            console_.err << fmt::format("{} could not be sent for want of room in the spool\n",
                                        counted(lost_lines_, "line", "lines"));
        if (lost_parts_ != 0)
            console_.err << fmt::format("{} did not come, or the server had no room for them any more\n",
                                        counted(lost_parts_, "part", "parts"));
    }

    const ObjectsOptions& options_;
    ObjectsShow& show_;
    Console& console_;
    bool over_ = false;
    std::uint64_t lost_lines_ = 0, lost_parts_ = 0;
    std::string said_;
    ObjectsFollower::Clock::time_point since_ = ObjectsFollower::Clock::now();
};

int follow_objects(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns) {
    ObjectsOptions live = options;
    live.tree = !options.json;
    ObjectsShow show(live, console, marked_ns);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    return Following(live, show, console).run();
}

}  // namespace

int trace_objects(const ObjectsOptions& options, Console& console) {
    if (options.list_presets) return list_presets(console);
    const auto marked = parse_duration(options.mark);
    if (!marked) return console.fail(marked.error().within("--mark").message);
    const auto marked_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(marked->count(), 0));
    if (!options.connect.empty()) return follow_objects(options, console, marked_ns);
    ObjectsShow show(options, console, marked_ns);
    if (!options.read.empty()) return read_lines(options, show, console);
    if (options.process.empty())
        return console.fail(
            "whose objects? --process NAME, --read FILE, or --connect URL for those of another machine");
    const auto request = request_of(options);
    if (!request) return console.fail(request.error().message);
    if (options.send) return send_objects(options, *request, console);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    auto lines = DaemonLines::ask(options.socket, *request);
    if (!lines) return console.fail(lines.error().message);
    const Status told = each_line(*lines, [&](const std::string& line) { return show.show(line); });
    if (!told) return console.fail(told.error().message);
    return show.ended() ? exit_done : console.fail("lagtrapd has gone; its probes went with it");
}

}  // namespace lagtrap::cli
