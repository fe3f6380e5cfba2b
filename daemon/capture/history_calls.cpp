#include "daemon/capture/history_calls.hpp"

#include <fcntl.h>

namespace lagtrap::daemon {

Status HistoryCalls::follow(Recorder& recorder) {
    close();
    const int calls_fd = recorder.history_calls_fd();
    if (calls_fd < 0) return success();
    boost::system::error_code failed;
    calls_.assign(::fcntl(calls_fd, F_DUPFD_CLOEXEC, 0), failed);
    if (failed) return make_error(ErrorKind::System, failed.message());
    await(recorder);
    return success();
}

void HistoryCalls::await(Recorder& recorder) {
    calls_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, &recorder](const auto& failure) {
                          if (failure) return;
                          recorder.turn_history();
                          await(recorder);
                      });
}

}  // namespace lagtrap::daemon
