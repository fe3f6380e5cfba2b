// Lets the recorder switch the buffers of the time before a breach when they are full.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "core/result.hpp"
#include "daemon/capture/recorder.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread.
class HistoryCalls {
  public:
    explicit HistoryCalls(boost::asio::io_context& context) : calls_(context) {}

    // Follows the recorder's calls from now on, if it keeps a history. It must outlive this, or
    // until close().
    [[nodiscard]] Status follow(Recorder& recorder);
    void close() { calls_.close(); }

  private:
    void await(Recorder& recorder);

    boost::asio::posix::stream_descriptor calls_;
};

}  // namespace lagtrap::daemon
