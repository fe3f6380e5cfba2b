// The HTTP application: authentication, rights, rate limits, routing and counters.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "server/accounts/audit.hpp"
#include "server/accounts/places_of_senders.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/accounts/token_file.hpp"
#include "server/alerts/alert_sender.hpp"
#include "server/api/base_path.hpp"
#include "server/api/counters.hpp"
#include "server/api/health_check.hpp"
#include "server/api/identification.hpp"
#include "server/api/page_files.hpp"
#include "server/api/routes.hpp"
#include "server/api/sender_limits.hpp"
#include "server/api/service.hpp"
#include "server/api/sign_ins.hpp"
#include "server/api/upload_limits.hpp"
#include "server/api/watch_summaries.hpp"
#include "server/ingest/ingest.hpp"
#include "server/ingest/job_runner.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// Dependencies of the routes. They must outlive the application.
struct Parts {
    Store& store;
    Ingest& ingest;
    JobRunner& jobs;
    AlertSender& alert_sender;
    std::function<void(const std::string&)> log;  // any thread
    OidcProvider* provider = nullptr;             // for single sign-on; null if there is none
    // address of the Perfetto UI that pages open; empty: none
    std::string trace_viewer;
};

// Authenticates each request, applies limits and dispatches it to its route. Any thread.
class Application final : public Service {
  public:
    // `tokens` is the table of the token file, if there is one.
    Application(const Parts& parts, const SenderLimits& limits, BasePath base,
                std::optional<TokenTable> tokens);

    [[nodiscard]] std::variant<Plan, Refusal> admit(const Request& request) override;
    [[nodiscard]] Work admission_work(const Request& request) const override;
    [[nodiscard]] Counters& counters() override { return counters_; }

    // Replaces the tokens of the token file.
    void replace_tokens(TokenTable tokens) { identification_.replace_tokens(std::move(tokens)); }
    // Whether everybody on this machine may do everything, because there are neither tokens nor
    // accounts.
    [[nodiscard]] Result<bool> is_open() { return identification_.is_open(); }
    // Applies retention; may take long.
    void remove_old_bundles();
    void remove_old_runs();

    // Dependencies of the routes besides the stores.
    [[nodiscard]] const Parts& parts() const { return parts_; }
    [[nodiscard]] const PageFiles& pages() const { return pages_; }
    [[nodiscard]] SignIns& sign_ins() { return sign_ins_; }
    [[nodiscard]] Reply add_first_or_further_account(const Principal& principal,
                                                     const Request& request);
    [[nodiscard]] Reply health();
    // Limited to what `sight` shows; nullptr: everything.
    [[nodiscard]] Reply metrics(const Evidence& evidence, const Sight* sight);

  private:
    [[nodiscard]] std::optional<Refusal> check_rights(const Route& route,
                                                      const Principal& principal) const;
    [[nodiscard]] std::optional<Refusal> check_origin(const Request& request,
                                                      const Principal& principal) const;
    [[nodiscard]] std::variant<Plan, Refusal> plan_upload(const Request& request,
                                                          const Route& route,
                                                          const Principal& principal,
                                                          std::uint64_t now_ns);
    [[nodiscard]] std::variant<Plan, Refusal> plan_with_place(const Request& request, Route route,
                                                              Principal principal);
    [[nodiscard]] Plan plan_answer(Route route, Principal principal);
    [[nodiscard]] Reply answer(const Route& route, const Principal& principal,
                               const Request& request);

    Parts parts_;
    Counters counters_;
    const BasePath base_;
    const PageFiles pages_;
    Audit audit_;
    WatchSummaries watch_summaries_;
    SignIns sign_ins_;
    Identification identification_;
    RateLimit requests_;
    UploadLimits uploads_;
    PlacesOfSenders download_places_;
    HealthCheck health_;  // last, because its thread uses the others
};

}  // namespace lagtrap::server
