#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "calls/call_stream.hpp"
#include "calls/call_summary.hpp"
#include "cli/calls/calls_json.hpp"
#include "cli/calls/calls_text.hpp"
#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/process_trace.hpp"
#include "cli/programs/source_lookup.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "trace/perfetto/calls_file.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

json::object tree_json(const calls::Tree& tree, const std::vector<calls::Function>& functions) {
    json::object shown{
        {"tid", tree.tid},
        {"thread", tree.thread},
        {"began", format_utc(tree.began_realtime_ns)},
        {"calls", tree_calls_json(tree, calls::net_times(tree, functions), functions)}};
    if (tree.goroutine != 0) shown["goroutine"] = tree.goroutine;
    return {{"tree", std::move(shown)}};
}

json::object detached_json(const std::vector<calls::DetachedFunction>& detached,
                           const std::vector<calls::Function>& functions) {
    json::array rows;
    for (const calls::DetachedFunction& one : detached)
        rows.push_back(json::object{{"function", functions[one.function].name},
                                    {"calls_per_second", one.calls_per_second}});
    return {{"detached", std::move(rows)}};
}

class CallsShow {
  public:
    CallsShow(const CallsOptions& options, Console& console)
        : options_(options),
          console_(console),
          look_{console.paint, console.columns, options.all} {}

    // Creates the output file, if trees go to one; fails if that is impossible.
    Status prepare() {
        if (options_.output.empty()) return success();
        TRY_ASSIGN(auto file,
                   trace::CallsFile::create(options_.output, "calls of " + options_.function));
        file_.emplace(std::move(file));
        return success();
    }

    Status show(const std::string& line) {
        TRY_ASSIGN(calls::Message message, calls::parse_message(line));
        if (message.started) begin(std::move(*message.started), line);
        if (message.more) add_functions(*message.more, line);
        if (message.tree) TRY(show_tree(*message.tree));
        if (message.detached) TRY(show_detached(*message.detached));
        if (message.ended) {
            ended_ = true;
            if (options_.summary) show_summary();
            TRY(write_output());
            console_.out << (options_.json
                                 ? line + "\n"
                                 : ended_text(*message.ended, options_.function, reported_));
        }
        console_.out.flush();
        return success();
    }
    // The answer is complete or was interrupted.
    int finish() {
        if (ended_) return exit_done;
        if (interrupted == 0) return console_.fail(daemon_has_gone);
        if (options_.summary) show_summary();
        if (const Status written = write_output(); !written)
            return console_.fail(written.error().message);
        if (!options_.json) console_.out << "Interrupted; lagtrapd removes the probes.\n";
        return exit_done;
    }

  private:
    void begin(calls::Started started, const std::string& line) {
        pid_ = started.pid;
        process_ = started.process;
        console_.out << (options_.json ? line + "\n"
                                       : started_text(started, options_.function, look_));
        console_.out.flush();
        take_functions(std::move(started.functions));
    }

    void take_functions(std::vector<calls::Function> functions) {
        find_sources(functions, pid_);
        if (file_) file_->add_functions(functions);
        functions_.insert(functions_.end(), std::make_move_iterator(functions.begin()),
                          std::make_move_iterator(functions.end()));
    }

    void add_functions(const std::vector<calls::Function>& more, const std::string& line) {
        take_functions(more);
        console_.out << (options_.json ? line + "\n" : more_text(more, look_));
    }

    Status show_tree(const calls::Tree& tree) {
        TRY(calls::check(tree, functions_.size()));
        ++reported_;
        goroutines_ = goroutines_ || tree.goroutine != 0;
        if (file_) (void)file_->add(tree, calls::net_times(tree, functions_), pid_, process_);
        if (options_.summary) {
            summary_.add(tree, calls::net_times(tree, functions_));
        } else if (file_) {
            return success();
        } else if (options_.json) {
            console_.out << json::serialize(tree_json(tree, functions_)) << "\n";
        } else {
            console_.out << tree_text(tree, functions_, look_);
        }
        return success();
    }

    Status show_detached(const std::vector<calls::DetachedFunction>& detached) {
        for (const calls::DetachedFunction& one : detached)
            if (one.function >= functions_.size())
                return make_error(ErrorKind::Invalid, "lagtrapd sent an unknown function number");
        console_.out << (options_.json ? json::serialize(detached_json(detached, functions_)) + "\n"
                                       : detached_text(detached, functions_, look_));
        return success();
    }

    Status write_output() {
        if (!file_) return success();
        if (const Status written = file_->finish(); !written)
            return written.error().within(options_.output);
        if (options_.json) return success();
        console_.out << fmt::format("{} written to {} ({}), a Perfetto trace.\n",
                                    counted(file_->trees(), "call", "calls"), options_.output,
                                    format_byte_size(file_->size_bytes()));
        if (file_->left_out() != 0)
            console_.out << fmt::format("{} did not fit: the limit is {} calls in total.\n",
                                        counted(file_->left_out(), "call", "calls"),
                                        with_commas(trace::call_slices_limit));
        return success();
    }

    void show_summary() {
        if (!options_.json) {
            console_.out << summary_text(summary_, functions_, look_);
            return;
        }
        json::array rows;
        for (const calls::SummedCall& call : summary_.calls()) {
            json::object row{{"function", functions_[call.function].name},
                             {"parent", nullptr},
                             {"calls", call.count},
                             {"min_ns", call.min_ns},
                             {"mean_ns", call.sum.wall_ns / call.count},
                             {"max_ns", call.max_ns},
                             {"wall_ns", call.sum.wall_ns},
                             {"own_ns", call.sum.own_ns},
                             {"on_cpu_ns", call.sum.on_cpu_ns},
                             {"runnable_ns", call.sum.runnable_ns},
                             {"blocked_ns", call.sum.blocked_ns}};
            if (goroutines_)
                for (const char* unknown : {"on_cpu_ns", "runnable_ns", "blocked_ns"})
                    row[unknown] = nullptr;
            if (call.parent != calls::no_parent) row["parent"] = call.parent;
            rows.push_back(std::move(row));
        }
        console_.out << json::serialize(json::object{{"summary", std::move(rows)}}) << "\n";
    }

    const CallsOptions& options_;
    Console& console_;
    CallsLook look_;
    std::vector<calls::Function> functions_;
    calls::Summary summary_;
    std::optional<trace::CallsFile> file_;
    std::uint32_t pid_ = 0;
    std::string process_;
    std::uint64_t reported_ = 0;
    bool goroutines_ = false;
    bool ended_ = false;
};

Result<json::object> request_of(const CallsOptions& options) {
    TRY_ASSIGN(auto request, request_of_trace({"calls", options.process, options.least,
                                               options.length, options.budget_percent}));
    request["function"] = options.function;
    request["depth"] = options.depth;
    request["count"] = options.count;
    request["match"] = options.match;
    request["only"] = json::value_from(options.only);
    return request;
}

}  // namespace

int trace_calls(const CallsOptions& options, Console& console) {
    const auto request = request_of(options);
    if (!request) return console.fail(request.error().message);
    CallsShow show(options, console);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    auto lines = DaemonLines::ask(options.socket, *request);
    if (!lines) return console.fail(lines.error().message);
    note_interrupts();
    for (;;) {
        const auto line = lines->next(calls::line_limit_bytes, interrupted);
        if (!line) return console.fail(line.error().message);
        if (!*line) return show.finish();
        if (const Status shown = show.show(**line); !shown)
            return console.fail(shown.error().message);
    }
}

}  // namespace lagtrap::cli
