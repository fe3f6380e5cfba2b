// Names a party in an answer.
#pragma once

#include <boost/json/object.hpp>

#include "core/party.hpp"

namespace lagtrap::daemon {

// Adds `uid` for a user, or `namespace` for a container, which then has no `uid`. For unknown
// users, `uid` is null.
void add_party(boost::json::object& entry, Party party);

}  // namespace lagtrap::daemon
