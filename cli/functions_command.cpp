#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "calls/function_stream.hpp"
#include "cli/calls/functions_text.hpp"
#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/process_trace.hpp"
#include "cli/programs/source_lookup.hpp"
#include "core/duration.hpp"
#include "trace/perfetto/calls_file.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t max_kept_calls = trace::call_slices_limit;

class FunctionsShow {
  public:
    FunctionsShow(const FunctionsOptions& options, Console& console)
        : options_(options),
          console_(console),
          look_{console.paint, console.columns, options.all} {}

    // Creates the output file, if calls go to one; fails if that is impossible.
    Status prepare() {
        if (options_.output.empty()) return success();
        TRY_ASSIGN(auto file, trace::CallsFile::create(options_.output, "functions"));
        file_.emplace(std::move(file));
        return success();
    }

    Status show(const std::string& line) {
        TRY_ASSIGN(calls::FunctionsMessage message, calls::parse_functions_message(line));
        TRY(check(message));
        if (message.started) begin(std::move(*message.started));
        if (message.more)
            functions_.insert(functions_.end(), message.more->begin(), message.more->end());
        if (message.ended) take_sources(*message.ended);
        if (options_.json) console_.out << line << "\n";
        if (message.calls && file_) keep(std::move(*message.calls));
        if (message.detached && !options_.json)
            console_.out << detached_text(*message.detached, functions_, look_);
        if (message.ended) {
            ended_ = true;
            TRY(write_output());
            if (!options_.json)
                console_.out << functions_ended_text(*message.ended, functions_, options_.top,
                                                     look_);
        }
        console_.out.flush();
        return success();
    }
    [[nodiscard]] bool ended() const { return ended_; }

  private:
    void begin(calls::FunctionsStarted started) {
        if (!options_.json) console_.out << functions_started_text(started, look_);
        pid_ = started.pid;
        process_ = started.process;
        functions_ = std::move(started.functions);
    }

    // Looks up only functions that were called, because a program may have thousands. Functions
    // reported by runtimes already have a place.
    void take_sources(const calls::FunctionsEnded& ended) {
        std::vector<std::uint32_t> numbers;
        std::vector<calls::Function> called;
        for (const calls::FunctionTotals& totals : ended.totals) {
            const calls::Function& function = functions_[totals.function];
            if (function.line != 0 || !function.module.starts_with('/')) continue;
            numbers.push_back(totals.function);
            called.push_back(function);
        }
        find_sources(called, pid_);
        json::array rows;
        for (std::size_t place = 0; place < called.size(); ++place) {
            if (called[place].line == 0) continue;
            rows.push_back(json::array{numbers[place], called[place].source, called[place].line});
            functions_[numbers[place]] = std::move(called[place]);
        }
        if (options_.json && !rows.empty())
            console_.out << json::serialize(json::object{{"sources", std::move(rows)}}) << "\n";
    }

    [[nodiscard]] Status check(const calls::FunctionsMessage& message) const {
        const std::size_t known =
            message.started ? message.started->functions.size() : functions_.size();
        bool good = true;
        if (message.calls)
            for (const calls::TracedCall& call : *message.calls)
                good = good && call.function < known;
        if (message.detached)
            for (const calls::DetachedFunction& one : *message.detached)
                good = good && one.function < known;
        if (message.ended)
            for (const calls::FunctionTotals& one : message.ended->totals)
                good = good && one.function < known && one.calls + one.unbegun != 0;
        return good ? success()
                    : Status(make_error(ErrorKind::Invalid,
                                        "lagtrapd sent an unknown function number"));
    }

    void keep(std::vector<calls::TracedCall> calls) {
        for (calls::TracedCall& call : calls)
            if (calls_.size() < max_kept_calls)
                calls_.push_back(std::move(call));
            else
                ++left_out_;
    }

    Status write_output() {
        if (!file_) return success();
        file_->add_functions(functions_);
        for (const calls::Tree& tree : calls::trees_of(std::exchange(calls_, {})))
            (void)file_->add(tree, calls::times_of(tree), pid_, process_);
        if (const Status written = file_->finish(); !written)
            return written.error().within(options_.output);
        if (options_.json) return success();
        console_.out << fmt::format("Calls written to {} ({}), a Perfetto trace.\n",
                                    options_.output, format_byte_size(file_->size_bytes()));
        if (left_out_ != 0)
            console_.out << fmt::format("{} did not fit: the limit is {}.\n",
                                        counted(left_out_, "call", "calls"),
                                        with_commas(max_kept_calls));
        return success();
    }

    const FunctionsOptions& options_;
    Console& console_;
    CallsLook look_;
    std::uint32_t pid_ = 0;
    std::string process_;
    std::vector<calls::Function> functions_;
    std::optional<trace::CallsFile> file_;
    std::vector<calls::TracedCall> calls_;
    std::uint64_t left_out_ = 0;
    bool ended_ = false;
};

Result<json::object> request_of(const FunctionsOptions& options) {
    TRY_ASSIGN(auto request, request_of_trace({"functions", options.process, options.least,
                                               options.length, options.budget_percent}));
    request["include"] = options.include;
    request["exclude"] = options.exclude;
    const auto rate = parse_byte_size(options.bytes_per_second);
    if (!rate) return rate.error().within("--rate");
    request["bytes_per_second"] = *rate;
    return request;
}

}  // namespace

int trace_functions(const FunctionsOptions& options, Console& console) {
    const auto request = request_of(options);
    if (!request) return console.fail(request.error().message);
    FunctionsShow show(options, console);
    if (const Status ready = show.prepare(); !ready) return console.fail(ready.error().message);
    return show_trace(options.socket, *request, show, console);
}

}  // namespace lagtrap::cli
