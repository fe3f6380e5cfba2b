#include "server/api/sign_ins.hpp"

#include "server/accounts/sender_network.hpp"
#include "server/api/application.hpp"
#include "server/api/sender_limits.hpp"

namespace lagtrap::server {
namespace {

// How many sign-ins of one sender may wait for the hashing threads.
constexpr std::uint32_t sign_ins_of_sender = 4;

}  // namespace

SignIns::SignIns(const Parts& parts, const BasePath& base, Audit& audit)
    : parts_(parts),
      base_(base),
      audit_(audit),
      cookie_(base),
      pending_cookie_(base, "-oidc"),
      authenticator_(parts.store),
      places_(sign_ins_of_sender) {}

std::variant<std::shared_ptr<void>, Refusal> SignIns::take_place(const std::string& address) {
    const std::string sender = network_of_sender(address);
    if (auto place = places_.take(sender)) return place;
    audit_.note_unknown(sender, "refuse sign-in", "too many attempts at once, from " + address);
    return too_many("too many attempts to sign in at once", std::chrono::seconds(2));
}

SignInParts SignIns::parts() {
    return {authenticator_, parts_.store.accounts(), audit_, limits_, cookie_};
}

OidcParts SignIns::oidc_parts() {
    return {parts(),
            parts_.provider,
            pending_cookie_,
            base_,
            parts_.alert_sender.options().public_url + "/api/v1/oidc/callback",
            parts_.log};
}

}  // namespace lagtrap::server
