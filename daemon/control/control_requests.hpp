// Answers the requests that come through the control socket. Whoever is behind it implements this.
#pragma once

#include <memory>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/control/answer_stream.hpp"
#include "daemon/control/control_access.hpp"

namespace lagtrap::daemon {

// Called on the io_context's thread. The caller has the right to make the request.
class ControlRequests {
  public:
    ControlRequests() = default;
    ControlRequests(const ControlRequests&) = delete;
    ControlRequests& operator=(const ControlRequests&) = delete;
    virtual ~ControlRequests() = default;

    [[nodiscard]] virtual boost::json::object answer(const boost::json::object& request) = 0;
    // Takes a request that has a streamed answer. False if this is not one. `only_of` is the caller
    // if it may trace only its own processes, else null. The stream may be written from any thread.
    // Errors: the request is refused.
    [[nodiscard]] virtual Result<bool> stream(const boost::json::object& request,
                                              const Caller* only_of,
                                              std::shared_ptr<AnswerStream> answer) = 0;
    // Takes a request whose caller's connection another process serves from now on, through a copy
    // of `socket`. False if this is not one. Errors: the request is refused.
    [[nodiscard]] virtual Result<bool> hand_over(const boost::json::object& request,
                                                 const Caller& caller, int socket) = 0;
};

}  // namespace lagtrap::daemon
