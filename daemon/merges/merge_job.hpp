// Runs lagtrap-merge on a finished capture. It is a separate process because it reads untrusted
// files and needs much memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/result.hpp"
#include "daemon/merges/merge_answer.hpp"
#include "daemon/merges/merge_process.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread.
class MergeJob : public std::enable_shared_from_this<MergeJob> {
  public:
    using OnDone = std::function<void(Result<MergedBundle>)>;

    // Starts `program [--without-names] CAPTURE OUTPUT`. `on_done` is called once, on the
    // io_context, when it has ended. If it was killed because of its limit, the error is
    // ErrorKind::Timeout, even if it hangs in the kernel and cannot end. Errors: nothing was
    // started.
    [[nodiscard]] static Status start(boost::asio::io_context& context, const std::string& program,
                                      const MergeTask& task, OnDone on_done);

  private:
    MergeJob(boost::asio::io_context& context, MergeTask task, MergeProcess process,
             OnDone on_done);
    void watch();
    void read_more();
    void raise_priority();
    void kill_for_limit();
    void note_end();
    void conclude();
    [[nodiscard]] Error over_limit(const std::string& more) const;
    void tell(Result<MergedBundle> outcome);

    boost::asio::posix::stream_descriptor output_;
    boost::asio::posix::stream_descriptor end_;  // of the process
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer priority_timer_;
    MergeTask task_;
    MergeProcess process_;
    bool killed_ = false;             // because of its limit
    bool drained_ = false;            // text_ has its whole output
    std::optional<int> wait_status_;  // set once it has ended
    std::string text_;
    std::string chunk_;
    OnDone on_done_;  // empty once called
};

}  // namespace lagtrap::daemon
