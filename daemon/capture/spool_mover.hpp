// Moves recordings that were made in memory into the spool, on a thread of its own because the disk
// may be busy.
#pragma once

#include <filesystem>
#include <functional>
#include <set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "core/result.hpp"
#include "daemon/merges/merge_queue.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread.
class SpoolMover {
  public:
    using Done = std::function<void(const Status& moved, MergeQueue::Work work)>;

    // `captures`: the folder of the spool. Moves in progress end before the destructor does, but
    // `done` is not called any more once the io_context has stopped.
    SpoolMover(boost::asio::io_context& context, std::filesystem::path captures);

    // Calls `done` later, on the io_context's thread. If that fails, nothing is left in the spool.
    void move(MergeQueue::Work work, Done done);
    // True if the capture is being written.
    [[nodiscard]] bool is_moving(const std::filesystem::path& capture) const {
        return moving_.contains(capture);
    }

  private:
    boost::asio::io_context& context_;
    std::filesystem::path captures_;
    std::set<std::filesystem::path> moving_;
    boost::asio::thread_pool thread_{1};
};

}  // namespace lagtrap::daemon
