#include "core/party.hpp"

namespace lagtrap {

std::string party_text(Party party) {
    if (party == unknown_party) return "unknown users";
    return (is_container(party) ? "container " : "user ") + std::to_string(party);
}

}  // namespace lagtrap
