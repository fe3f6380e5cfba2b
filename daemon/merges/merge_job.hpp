// Runs lagtrap-merge on a finished capture: a process of its own, so that what reads other people's files and
// needs memory is not the daemon.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/result.hpp"
#include "daemon/merges/merge_answer.hpp"

namespace lagtrap::daemon {

struct MergeTask {
    std::filesystem::path capture;
    std::filesystem::path output;
    // Functions get names, for which the files of watched programs are opened.
    bool with_names = true;
    // By the wall clock: a merge that waits for a file system that does not answer uses no CPU time.
    std::chrono::nanoseconds limit = std::chrono::minutes(10);
};

// Used on one thread, the io_context's.
class MergeJob : public std::enable_shared_from_this<MergeJob> {
  public:
    using OnDone = std::function<void(Result<MergedBundle>)>;

    // Starts `program [--without-names] CAPTURE OUTPUT`; `on_done` is called once, on the io_context, when it has ended, or
    // with ErrorKind::Timeout when it has been killed for its limit, whether the kernel could end it or it hangs in a call
    // that nothing interrupts. Errors: nothing was started.
    [[nodiscard]] static Status start(boost::asio::io_context& context, const std::string& program,
                                      const MergeTask& task, OnDone on_done);

  private:
    MergeJob(boost::asio::io_context& context, MergeTask task, OnDone on_done);
    void watch();
    void read_more();
    void set_nice(int nice);
    void raise_priority();
    void kill_for_limit();
    void note_end();
    void conclude();
    [[nodiscard]] Error over_limit(const std::string& more) const;
    void tell(Result<MergedBundle> outcome);

    boost::asio::posix::stream_descriptor output_;
    boost::asio::posix::stream_descriptor process_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer priority_timer_;
    MergeTask task_;
    int pid_ = -1;
    int nice_ = 0;
    bool killed_ = false;             // for its limit
    bool drained_ = false;            // all it wrote is in text_
    std::optional<int> wait_status_;  // once it has ended
    std::string text_;
    std::string chunk_;
    OnDone on_done_;  // empty: told
};

}  // namespace lagtrap::daemon
