// The arguments of a route, and the adapter that passes a handler only those it names.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "server/accounts/audit.hpp"
#include "server/accounts/principal.hpp"
#include "server/api/bundle_routes.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/api/rule_routes.hpp"
#include "server/api/team_routes.hpp"
#include "server/api/watch_summaries.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

class Application;

// All members outlive the call, but not a reply that is still being read (BodySource).
struct RouteCall {
    Application& application;
    Store& store;
    Evidence evidence;  // limited to what the principal may see
    Blobs& blobs;
    Audit& audit;
    WatchSummaries& watch_summaries;
    AlertSender& alert_sender;
    const Route& route;
    const Principal& principal;
    const Request& request;
    const std::string& sender;      // network of the client
    const std::string& limited_as;  // the client's key in rate limits
    PlacesOfSenders& download_places;
};

// The argument for a parameter of this type. Stores of evidence show only what the principal may
// see.
template <typename Parameter>
decltype(auto) part_of(const RouteCall& call) {
    using Part = std::remove_cvref_t<Parameter>;
    if constexpr (std::is_same_v<Part, Route>)
        return (call.route);
    else if constexpr (std::is_same_v<Part, Principal>)
        return (call.principal);
    else if constexpr (std::is_same_v<Part, Request>)
        return (call.request);
    else if constexpr (std::is_same_v<Part, Audit>)
        return (call.audit);
    else if constexpr (std::is_same_v<Part, WatchSummaries>)
        return (call.watch_summaries);
    else if constexpr (std::is_same_v<Part, Blobs>)
        return (call.blobs);
    else if constexpr (std::is_same_v<Part, DownloadParts>)
        return DownloadParts{call.download_places, call.limited_as, call.audit, call.principal,
                             call.request};
    else if constexpr (std::is_same_v<Part, TeamParts>)
        return TeamParts{call.store.teams(), call.audit, call.principal};
    else if constexpr (std::is_same_v<Part, RuleParts>)
        return RuleParts{call.store.rules(), call.store.messages(), call.audit, call.alert_sender,
                         call.principal};
    else if constexpr (std::is_same_v<Part, Evidence>)
        return (call.evidence);
    else if constexpr (std::is_same_v<Part, BatchStore>)
        return call.store.batches();
    else if constexpr (requires { call.evidence.template get<Part>(); })
        return call.evidence.template get<Part>();
    else
        return call.store.template get<Part>();
}

template <typename... Parameters>
Reply answer_by(Reply (*function)(Parameters...), const RouteCall& call) {
    return function(part_of<Parameters>(call)...);
}

template <auto function>
Reply answer(const RouteCall& call) {
    return answer_by(function, call);
}

}  // namespace lagtrap::server
