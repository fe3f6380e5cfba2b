#include <algorithm>
#include <fstream>
#include <iostream>
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
#include "cli/objects_text.hpp"
#include "cli/process_name.hpp"
#include "cli/text_layout.hpp"
#include "core/duration.hpp"

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

  private:
    const ObjectsOptions& options_;
    Console& console_;
    ObjectsLook look_;
    std::ofstream record_;
    calls::ObjectsSummary summary_;
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

}  // namespace

int trace_objects(const ObjectsOptions& options, Console& console) {
    if (options.list_presets) return list_presets(console);
    const auto marked = parse_duration(options.mark);
    if (!marked) return console.fail(marked.error().within("--mark").message);
    ObjectsShow show(options, console, static_cast<std::uint64_t>(std::max<std::int64_t>(marked->count(), 0)));
    if (!options.read.empty()) return read_lines(options, show, console);
    if (options.process.empty()) return console.fail("whose objects? --process NAME, or --read FILE");
    const auto request = request_of(options);
    if (!request) return console.fail(request.error().message);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    auto lines = DaemonLines::ask(options.socket, *request);
    if (!lines) return console.fail(lines.error().message);
    note_interrupts();
    bool asked_to_end = false;
    const volatile std::sig_atomic_t never = 0;
    for (;;) {
        const auto line = lines->next(calls::line_limit_bytes, asked_to_end ? never : interrupted);
        if (!line) return console.fail(line.error().message);
        if (*line) {
            if (const Status shown = show.show(**line); !shown) return console.fail(shown.error().message);
            continue;
        }
        // What was seen so far is told at the end, so that is waited for.
        if (interrupted == 0 || asked_to_end) break;
        asked_to_end = true;
        if (const Status said = lines->say_enough(); !said) return console.fail(said.error().message);
    }
    return show.ended() ? exit_done : console.fail("lagtrapd has gone; its probes went with it");
}

}  // namespace lagtrap::cli
