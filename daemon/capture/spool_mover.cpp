#include "daemon/capture/spool_mover.hpp"

#include <utility>

#include <boost/asio/post.hpp>

#include "daemon/capture/capture_move.hpp"

namespace lagtrap::daemon {

SpoolMover::SpoolMover(boost::asio::io_context& context, std::filesystem::path captures)
    : context_(context), captures_(std::move(captures)) {}

void SpoolMover::move(MergeQueue::Work work, Done done) {
    const std::filesystem::path target = captures_ / work.session;
    moving_.insert(target);
    boost::asio::post(
        thread_, [this, work = std::move(work), target, done = std::move(done)]() mutable {
            const Status moved = move_capture(std::exchange(work.capture, target), target);
            boost::asio::post(
                context_, [this, moved, work = std::move(work), done = std::move(done)]() mutable {
                    moving_.erase(work.capture);
                    done(moved, std::move(work));
                });
        });
}

}  // namespace lagtrap::daemon
