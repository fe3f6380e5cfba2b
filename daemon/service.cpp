#include "daemon/service.hpp"

#include <systemd/sd-daemon.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "binaries/reader/file_reader.hpp"
#include "daemon/kernel/process_priority.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::daemon {

Service::Service(DaemonOptions options)
    : signals_(context_, SIGTERM, SIGINT, SIGHUP), parts_(std::move(options)) {}

Service::~Service() {
    if (auto* const reader = binaries::file_reader()) reader->stop();
}

Result<std::unique_ptr<Service>> Service::create(const settings::Settings& settings,
                                                 DaemonOptions options) {
    raise_priority();
    std::unique_ptr<Service> self(new Service(std::move(options)));
    DaemonParts& parts = self->parts_;
    if (!sees_all_processes())
        parts.options.log.warn(
            "this container cannot see host processes, so their code has no names and no stacks; "
            "start it in the host's PID namespace (--pid=host, or hostPID: true)");
    TRY(parts.create(self->context_, settings, self->surroundings_));
    TRY(self->applier_.arm(settings));
    TRY_ASSIGN(parts.control,
               ControlServer::listen(self->context_, settings.control, self->requests_));
    if (parts.options.for_client) {
        ClientLink::Owner& owner = *self;
        self->client_ = std::make_unique<ClientLink>(self->context_, owner);
    } else {
        parts.temporary = std::make_unique<TemporaryEvents>(
            self->context_,
            TemporaryEvents::Options{std::filesystem::path(settings.spool.path) / "clients",
                                     {"--merge-program", parts.options.merge_program,
                                      "--reader-program", parts.options.reader_program},
                                     parts.options.log});
    }
    return self;
}

void Service::await_signal() {
    signals_.async_wait([this](const auto& failure, int number) {
        if (failure) return;
        if (number != SIGHUP) return end();
        applier_.reload();
        await_signal();
    });
}

void Service::end() {
    parts_.options.log.inform("stopping");
    ::sd_notify(0, "STOPPING=1");
    parts_.controller->shut_down();
    context_.stop();
}

void Service::run() {
    await_signal();
    parts_.controller->recover();
    upkeep_.begin();
    context_.run();
    if (parts_.temporary) parts_.temporary->stop();
    parts_.functions->stop();
    parts_.call_traces.reset();
    parts_.budgets->stop();
    parts_.thresholds->finish();
    // Report runs that have ended by now.
    parts_.controller->detach();
    parts_.reporter->stop();
}

}  // namespace lagtrap::daemon
