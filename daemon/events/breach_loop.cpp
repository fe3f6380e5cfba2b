#include "daemon/events/breach_loop.hpp"

#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/post.hpp>

#include "daemon/events/look_times.hpp"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_sweep_after = 1s;

}  // namespace

BreachLoop::BreachLoop(Work& work)
    : work_(work), look_timer_(context_), sweep_timer_(context_), notices_descriptor_(context_) {}

BreachLoop::~BreachLoop() {
    stop();
    if (notices_) ring_buffer__free(notices_);
    (void)notices_descriptor_.release();  // the ring closes it
}

Status BreachLoop::map_notices(int ring_fd) {
    const auto callback = [](void* self, void* data, std::size_t bytes) {
        static_cast<BreachLoop*>(self)->work_.take_notice(static_cast<const lagtrap_record*>(data),
                                                          bytes);
        return 0;
    };
    notices_ = ring_buffer__new(ring_fd, callback, this, nullptr);
    if (!notices_) return libbpf_error("map the ring of notices", -errno);
    notices_descriptor_.assign(ring_buffer__epoll_fd(notices_));
    return success();
}

void BreachLoop::start() {
    thread_ = std::thread([this] {
        // Highest priority, to notice deadlines in time even on a busy machine. Without
        // CAP_SYS_NICE they may be noticed late.
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), -20);
        const auto work = boost::asio::make_work_guard(context_);
        await_notices();
        await_sweep(first_sweep_after);
        work_.look();
        context_.run();
    });
}

void BreachLoop::stop() {
    if (!thread_.joinable()) return;
    context_.stop();
    thread_.join();
}

void BreachLoop::look_soon() {
    boost::asio::post(context_, [this] { work_.look(); });
}

void BreachLoop::look_at(std::uint64_t at_ns) {
    look_timer_.cancel();
    if (at_ns == LAGTRAP_NEVER_NS) return;
    // steady_clock is CLOCK_MONOTONIC, the clock of the BPF programs.
    look_timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns)));
    look_timer_.async_wait([this](const auto& failure) {
        if (!failure) work_.look();
    });
}

void BreachLoop::await_notices() {
    notices_descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                   [this](const auto& failure) {
                                       if (failure) return;
                                       ring_buffer__consume(notices_);
                                       await_notices();
                                   });
}

void BreachLoop::await_sweep(std::chrono::nanoseconds after) {
    sweep_timer_.expires_after(after);
    sweep_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        const auto began = std::chrono::steady_clock::now();
        const bool done = work_.sweep_part();
        await_sweep(pause_after_sweep(std::chrono::steady_clock::now() - began, done));
    });
}

}  // namespace lagtrap::daemon
