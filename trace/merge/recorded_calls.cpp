#include "trace/merge/recorded_calls.hpp"

#include <utility>

#include "trace/logs/lines_file.hpp"

namespace lagtrap::trace {
namespace {

class CallsReader {
  public:
    explicit CallsReader(std::size_t calls_limit) : calls_limit_(calls_limit) {}

    // Returns false if the line is malformed; then ignore the rest.
    bool take(const std::string& line) {
        auto message = calls::parse_message(line);
        if (!message) {
            calls_.problem = message.error().message;
            return false;
        }
        if (message->started) take_started(std::move(*message->started));
        if (message->more)
            calls_.functions.insert(calls_.functions.end(), message->more->begin(),
                                    message->more->end());
        if (message->tree) take_tree(std::move(*message->tree));
        if (message->detached)
            for (const calls::DetachedFunction& one : *message->detached)
                if (one.function < calls_.functions.size()) calls_.detached.push_back(one);
        if (message->ended) calls_.left_out += message->ended->not_sent + message->ended->not_kept;
        return true;
    }
    [[nodiscard]] RecordedCalls finish() { return std::move(calls_); }

  private:
    void take_started(calls::Started started) {
        calls_.pid = started.pid;
        calls_.process = std::move(started.process);
        calls_.functions = std::move(started.functions);
    }

    void take_tree(calls::Tree tree) {
        if (!calls::check(tree, calls_.functions.size()) ||
            kept_ + tree.calls.size() > calls_limit_) {
            ++calls_.left_out;
            return;
        }
        kept_ += tree.calls.size();
        calls_.trees.push_back(std::move(tree));
    }

    std::size_t calls_limit_, kept_ = 0;
    RecordedCalls calls_;
};

}  // namespace

RecordedCalls read_recorded_calls(const std::filesystem::path& capture, std::size_t calls_limit) {
    CallsReader reader(calls_limit);
    const Status read = read_lines(capture, calls_lines,
                                   [&](const std::string& line) { return reader.take(line); });
    if (!read && read.error().kind != ErrorKind::NotFound) {
        RecordedCalls none;
        none.problem = read.error().message;
        return none;
    }
    return reader.finish();
}

}  // namespace lagtrap::trace
