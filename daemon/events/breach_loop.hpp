// The breach watch's thread. It waits for notices of the programs, for the time of the next check,
// and for the next part of the sweep.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "bpf/event_monitor.h"
#include "core/result.hpp"

struct ring_buffer;

namespace lagtrap::daemon {

class BreachLoop {
  public:
    // What is done on the thread. It must not block.
    class Work {
      public:
        virtual ~Work() = default;
        // Checks the open runs: at the start, and whenever somebody asks for it.
        virtual void look() = 0;
        // Sweeps some of the open runs. True if these were the last.
        virtual bool sweep_part() = 0;
        // A record from the ring of notices.
        virtual void take_notice(const lagtrap_record* record, std::size_t bytes) = 0;
    };

    // `work` must outlive stop().
    explicit BreachLoop(Work& work);
    // Calls stop().
    ~BreachLoop();
    BreachLoop(const BreachLoop&) = delete;
    BreachLoop& operator=(const BreachLoop&) = delete;

    // Maps the ring of notices. Call it before start().
    [[nodiscard]] Status map_notices(int ring_fd);
    void start();
    // Waits for work that is being done.
    void stop();
    // Asks for a check now. Thread-safe.
    void look_soon();
    // Asks for a check at this time (CLOCK_MONOTONIC) instead of the one asked for before;
    // LAGTRAP_NEVER_NS: none. For this thread only.
    void look_at(std::uint64_t at_ns);

  private:
    void await_notices();
    void await_sweep(std::chrono::nanoseconds after);

    Work& work_;
    boost::asio::io_context context_{1};
    boost::asio::steady_timer look_timer_;
    boost::asio::steady_timer sweep_timer_;
    boost::asio::posix::stream_descriptor notices_descriptor_;
    ring_buffer* notices_ = nullptr;
    std::thread thread_;
};

}  // namespace lagtrap::daemon
