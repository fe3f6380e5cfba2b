// What the daemon answers on its control socket, and to the client of a temporary event.
#pragma once

#include <memory>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/control/client_link.hpp"
#include "daemon/control/control_requests.hpp"
#include "daemon/daemon_parts.hpp"
#include "daemon/settings_applier.hpp"

namespace lagtrap::daemon {

class DaemonRequests : public ControlRequests {
  public:
    // The references must outlive it.
    DaemonRequests(DaemonParts& parts, const SettingsApplier& applier)
        : parts_(parts), applier_(applier) {}

    [[nodiscard]] boost::json::object answer(const boost::json::object& request) override;
    [[nodiscard]] Result<bool> stream(const boost::json::object& request, const Caller* only_of,
                                      std::shared_ptr<AnswerStream> answer) override;
    [[nodiscard]] Result<bool> hand_over(const boost::json::object& request, const Caller& caller,
                                         int socket) override;
    [[nodiscard]] ClientLink::Answer answer_client(const boost::json::object& request);

  private:
    [[nodiscard]] boost::json::object status() const;
    [[nodiscard]] boost::json::object trigger(const boost::json::object& request);
    // Of the session that the request names.
    [[nodiscard]] boost::json::object change_recording(
        const boost::json::object& request,
        Status (CaptureController::*change)(const std::string&));

    DaemonParts& parts_;
    const SettingsApplier& applier_;
};

}  // namespace lagtrap::daemon
