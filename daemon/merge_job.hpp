// Runs lagtrap-merge on a finished capture: a process of its own, so that what reads other people's files and
// needs memory is not the daemon.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct MergedBundle {
    std::string path;
    std::string digest;
};

// Used on one thread, the io_context's.
class MergeJob : public std::enable_shared_from_this<MergeJob> {
  public:
    using OnDone = std::function<void(Result<MergedBundle>)>;

    // Starts `program CAPTURE OUTPUT`; `on_done` is called once, on the io_context, when it has ended.
    [[nodiscard]] static Status start(boost::asio::io_context& context, const std::string& program,
                                      const std::filesystem::path& capture, const std::filesystem::path& output,
                                      OnDone on_done);

  private:
    MergeJob(boost::asio::io_context& context, OnDone on_done);
    void read_more();
    void finish();

    boost::asio::posix::stream_descriptor output_;
    boost::asio::posix::stream_descriptor process_;
    int pid_ = -1;
    std::string text_;
    std::string chunk_;
    OnDone on_done_;
};

}  // namespace lagtrap::daemon
