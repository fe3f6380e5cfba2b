#include "daemon/status/party_report.hpp"

namespace lagtrap::daemon {

void add_party(boost::json::object& entry, Party party) {
    if (is_container(party))
        entry["namespace"] = party;
    else
        entry["uid"] = party == unknown_party ? boost::json::value() : boost::json::value(party);
}

}  // namespace lagtrap::daemon
