// The daemon as a whole: its parts, its signals, and who asks it.
#pragma once

#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/control/client_link.hpp"
#include "daemon/daemon_parts.hpp"
#include "daemon/daemon_requests.hpp"
#include "daemon/recording_surroundings.hpp"
#include "daemon/settings_applier.hpp"
#include "daemon/upkeep.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class Service : private ClientLink::Owner {
  public:
    // `settings` were read from the path in the options. Errors: BPF is refused, or spool or
    // control socket are unusable.
    [[nodiscard]] static Result<std::unique_ptr<Service>> create(const settings::Settings& settings,
                                                                 DaemonOptions options);
    ~Service() override;

    // Runs until SIGTERM or SIGINT. SIGHUP reloads the settings.
    void run();

  private:
    explicit Service(DaemonOptions options);
    void await_signal();
    void end();
    [[nodiscard]] ClientLink::Answer answer_client(const boost::json::object& request) override {
        return requests_.answer_client(request);
    }
    [[nodiscard]] std::uint64_t used_ppm() override { return parts_.used_ppm(); }
    void client_gone() override { end(); }

    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_;
    RecordingSurroundings surroundings_{parts_};  // outlives the parts
    DaemonParts parts_;
    SettingsApplier applier_{context_, parts_};
    DaemonRequests requests_{parts_, applier_};
    Upkeep upkeep_{context_, parts_, applier_};
    std::unique_ptr<ClientLink> client_;  // if this daemon watches a temporary event
};

}  // namespace lagtrap::daemon
