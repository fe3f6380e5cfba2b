#include "uploader/service_signals.hpp"

#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <csignal>

namespace lagtrap::uploader {

Result<ServiceSignals> ServiceSignals::open() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return system_error("signalfd");
    return ServiceSignals(std::move(fd));
}

void ServiceSignals::take() {
    signalfd_siginfo signal{};
    while (::read(fd_.get(), &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP) {
            reload_requested_ = true;
        } else if (!stop_requested_at_) {
            stop_requested_at_ = std::chrono::steady_clock::now();
            ::sd_notify(0, "STOPPING=1");
        }
    }
}

bool ServiceSignals::keep_going() {
    take();
    const TimePoint now = std::chrono::steady_clock::now();
    if (now - last_watchdog_ >= watchdog_interval) {
        last_watchdog_ = now;
        ::sd_notify(0, "WATCHDOG=1");
    }
    return !stop_requested_at_ || now - *stop_requested_at_ < grace;
}

}  // namespace lagtrap::uploader
