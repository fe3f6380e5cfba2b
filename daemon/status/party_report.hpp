// How an answer names who was held to a share.
#pragma once

#include <boost/json/object.hpp>

#include "core/party.hpp"

namespace lagtrap::daemon {

// Adds `uid` of a user, or `namespace` of a container, which then has no `uid`; for unknown users `uid` is null.
void add_party(boost::json::object& entry, Party party);

}  // namespace lagtrap::daemon
