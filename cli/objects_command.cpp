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
#include "cli/console/text_layout.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/process_trace.hpp"
#include "cli/objects/objects_connect.hpp"
#include "cli/objects/objects_sender.hpp"
#include "cli/objects/objects_show.hpp"
#include "cli/objects/objects_text.hpp"
#include "core/duration.hpp"
#include "settings/parser.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

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
        return make_error(ErrorKind::Invalid,
                          "no objects selected; use --class NAME for C++, --preset NAME, or "
                          "--create FUNCTION:PLACE with --use and --release (`lagtrap objects "
                          "--list-presets` lists presets)");
    json::array all;
    for (const calls::ObjectRule& rule : rules) all.push_back(calls::to_json(rule));
    return all;
}

Result<json::object> request_of(const ObjectsOptions& options) {
    TRY_ASSIGN(json::array rules, rules_of(options));
    TRY_ASSIGN(auto request, request_of_trace({"objects", options.process, options.least,
                                               options.length, options.budget_percent}));
    request["rules"] = std::move(rules);
    request["include"] = options.include;
    request["exclude"] = options.exclude;
    request["memory"] = options.no_memory ? 0 : 1;
    request["calls_per_second"] = options.calls_per_second;
    TRY(put_duration(request, "timeout_ns", options.timeout, "--timeout"));
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
        const Status shown =
            line.size() > calls::line_limit_bytes
                ? Status(make_error(ErrorKind::TooLarge, "the line is longer than 8 MiB"))
                : show.show(line);
        if (!shown)
            return console.fail(
                fmt::format("{}:{}: {}", options.read, number, shown.error().message));
    }
    return show.ended() ? exit_done
                        : console.fail(options.read + ": incomplete: the last line is missing");
}

Result<std::string> spool_of(const ObjectsOptions& options) {
    if (!options.spool.empty()) return options.spool;
    const auto outcome = settings::load_settings(options.settings, settings::BinaryCheck::Skip);
    if (!outcome.ok())
        return make_error(ErrorKind::Invalid,
                          options.settings + ": invalid settings; see `lagtrap check`");
    if (!outcome.settings.upload)
        return make_error(
            ErrorKind::Invalid,
            options.settings +
                " has no <upload>, so the trace could not be sent; add one, or use --record");
    return outcome.settings.spool.path;
}

// Parses only the first line: on the watched machine, this only writes records.
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
            if (!reply.started)
                return make_error(ErrorKind::Invalid, "unexpected first answer of lagtrapd");
            TRY_ASSIGN(auto opened,
                       ObjectsSender::open(*spool, reply.started->pid, reply.started->process));
            sender.emplace(std::move(opened));
            console.out << fmt::format("Sending objects of {} ({}) as watch {}\n",
                                       reply.started->process, reply.started->pid,
                                       sender->watch_id());
            console.out.flush();
        }
        ended = ended || line.starts_with("{\"ended_objects\"");
        return sender->add(line, ObjectsSender::Clock::now());
    };
    const Status reported = each_line(*lines, take);
    const Status last = sender ? sender->end() : success();
    if (!reported) return console.fail(reported.error().message);
    if (!last) return console.fail(last.error().message);
    if (!sender) return console.fail(daemon_has_gone);
    console.out << fmt::format(
        "{} in {}{}\n", counted(sender->parts(), "part", "parts"), *spool,
        sender->lost_lines() == 0
            ? std::string()
            : fmt::format("; {} lost because the spool is full: is lagtrap-uploader running?",
                          counted(sender->lost_lines(), "line", "lines")));
    return ended ? exit_done : console.fail(daemon_has_gone);
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
            "no process selected; use --process NAME, --read FILE, or --connect URL");
    const auto request = request_of(options);
    if (!request) return console.fail(request.error().message);
    if (options.send) return send_objects(options, *request, console);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    return show_trace(options.socket, *request, show, console);
}

}  // namespace lagtrap::cli
