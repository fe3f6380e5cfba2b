// Finds out who sends a request: by token, by session, or as anybody on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "server/accounts/audit.hpp"
#include "server/accounts/authenticator.hpp"
#include "server/accounts/principal.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/accounts/token_file.hpp"
#include "server/api/exchange.hpp"
#include "server/api/session_cookie.hpp"

namespace lagtrap::server {

// Any thread; blocks on the store. References must outlive it.
class Identification {
  public:
    // `tokens` is the table of the token file, if there is one. `single_sign_on`: people sign in at
    // a provider, so the server is never open.
    Identification(Authenticator& authenticator, Audit& audit, const SessionCookie& cookie,
                   bool single_sign_on, std::optional<TokenTable> tokens);

    // A request without credentials comes from Anybody, or, if the server is open, from Local.
    // `now_ns` is the wall clock. Unknown tokens are audited and limited per sender.
    [[nodiscard]] std::variant<Principal, Refusal> identify(const Request& request,
                                                            std::uint64_t now_ns);

    // Replaces the tokens of the token file.
    void replace_tokens(TokenTable tokens);
    // Whether everybody on this machine may do everything, because there are neither tokens nor
    // accounts. Asks the store at most once a second.
    [[nodiscard]] Result<bool> is_open();
    // Makes is_open() ask the store next time, because an account was added.
    void ask_again();

  private:
    [[nodiscard]] std::variant<Principal, Refusal> identify_token(const Request& request,
                                                                  std::uint64_t now_ns);

    Authenticator& authenticator_;
    Audit& audit_;
    const SessionCookie& cookie_;
    const bool single_sign_on_;
    RateLimit failed_tokens_;
    std::mutex open_mutex_;  // guards open_asked_ns_ and open_
    std::uint64_t open_asked_ns_ = 0;
    bool open_ = false;
    std::mutex tokens_mutex_;  // guards tokens_
    std::shared_ptr<const TokenTable> tokens_;
};

}  // namespace lagtrap::server
