// What the server answers, apart from how HTTP carries it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/api/counters.hpp"
#include "server/api/routes.hpp"
#include "server/api/tokens.hpp"
#include "server/ingest/ingest.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct Reply {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    std::filesystem::path file;  // instead of a body, if set
    // The length to announce in an answer to HEAD that has neither.
    std::optional<std::uint64_t> announced_bytes;
};

[[nodiscard]] Reply reply_of(const Refusal& refusal);

// Any thread.
class Application {
  public:
    using Log = std::function<void(const std::string&)>;

    // Without tokens everybody may do everything: for servers that listen on loopback alone. `log` is told of
    // uploads and of what retention removes; it may be called from any thread.
    Application(Ingest& ingest, Store& store, std::optional<TokenTable> tokens, Log log);

    // Takes the place of the tokens in force; they can be exchanged, not introduced or dropped.
    void replace_tokens(TokenTable tokens);
    [[nodiscard]] bool needs_tokens() const { return needs_tokens_; }

    // The name of the token (empty without tokens), or why the request is refused. Where there are no tokens,
    // `host` must name this machine: otherwise a page from elsewhere could reach us by a name it
    // controls ("DNS rebinding").
    [[nodiscard]] std::variant<std::string, Refusal> authorise(const Route& route, std::string_view authorization,
                                                               std::string_view host) const;
    // Every route but UploadBundle. May block on disk.
    [[nodiscard]] Reply answer(const Route& route);
    // The end of an upload; blocks on disk.
    [[nodiscard]] Reply finish_upload(IncomingBlob blob, const std::string& digest, const std::string& sender);
    void apply_retention();

    [[nodiscard]] const Ingest& ingest() const { return ingest_; }
    [[nodiscard]] Counters& counters() { return counters_; }

  private:
    [[nodiscard]] Reply answer_list(const Route& route, bool as_page);
    [[nodiscard]] Reply answer_bundle(const Route& route);
    [[nodiscard]] Reply answer_system_file(const Route& route);

    Ingest& ingest_;
    Store& store_;
    const bool needs_tokens_;
    mutable std::mutex tokens_mutex_;
    std::shared_ptr<const TokenTable> tokens_;
    Log log_;
    Counters counters_;
};

}  // namespace lagtrap::server
