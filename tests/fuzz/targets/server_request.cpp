// Questions and marks as the routes answer them, over a real store. The first byte is the method, then the target up to
// the end of its line, then the body.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/digest.hpp"
#include "server/api/account_routes.hpp"
#include "server/api/bundle_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/report_routes.hpp"
#include "server/api/run_routes.hpp"
#include "server/api/upload.hpp"
#include "server/store/store.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap;
using namespace lagtrap::server;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

constexpr std::uint64_t monday_ns = 20'003ULL * 86'400ULL * 1'000'000'000ULL;

trace::RunBatch batch_of_two() {
    trace::RunBatch batch;
    batch.host = "alpha";
    batch.stacks = {{{"libdemo.so", "ab12", 0x40, "load_data", "load.c", 7}}};
    for (const std::uint64_t duration_ns : {10'000'000ULL, 100'000'000ULL}) {
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "open";
        run.begin_realtime_ns = monday_ns + duration_ns;
        run.duration_ns = duration_ns;
        run.threshold_ns = 50'000'000;
        run.delay = duration_ns > run.threshold_ns;
        run.process = "demo";
        run.user = "ann";
        run.weight = 1;
        run.begin_stack = 1;
        run.stages = {{"loaded", duration_ns / 2, 101, 1}};
    }
    return batch;
}

// A store with two runs and a bundle, in a folder that goes with it.
class FilledStore {
  public:
    FilledStore() {
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-fuzz-XXXXXX";
        check(::mkdtemp(pattern.data()) != nullptr);
        folder_ = pattern;
        auto opened = open_store(folder_ / "lagtrap.sqlite");
        check(opened.ok());
        store_ = std::move(opened).value();
        check(store_->add_batch({sha256_of("batch"), 1000, monday_ns, "token"}, batch_of_two()).ok());
        BundleRow row;
        row.digest = sha256_of("x");
        row.bytes = 1000;
        row.received_realtime_ns = monday_ns;
        check(store_->add(row, {"parse", row.digest, monday_ns}).ok());
        BundleDelay delay;
        delay.number = 1;
        delay.event = "open";
        delay.begin_realtime_ns = monday_ns;
        delay.duration_ns = 100'000'000;
        check(
            store_
                ->set_contents(row.digest, {"session", "alpha", "open", "demo", monday_ns, 100'000'000, 1}, "", {delay})
                .ok());
    }
    FilledStore(const FilledStore&) = delete;
    FilledStore& operator=(const FilledStore&) = delete;
    ~FilledStore() {
        store_.reset();
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] Store& store() { return *store_; }

  private:
    std::filesystem::path folder_;
    std::unique_ptr<Store> store_;
};

// Nothing where the route needs more than a store, or takes as long as a password shall.
std::optional<Reply> answer(Store& store, const Route& route, const Request& request) {
    Principal principal;
    principal.name = "admin";
    principal.may_administer = true;
    switch (route.kind) {
        case RouteKind::ListEvents: return list_events(store, route);
        case RouteKind::GetChoices: return get_choices(store, route);
        case RouteKind::GetSummary: return get_summary(store, route);
        case RouteKind::ListRuns: return list_runs(store, route);
        case RouteKind::GetStageStacks: return get_stage_stacks(store, route);
        case RouteKind::GetCauses: return get_causes(store, route);
        case RouteKind::GetRun: return get_run(store, route);
        case RouteKind::SetDirty: return set_dirty(store, route, principal, request);
        case RouteKind::CompareRuns: return compare_runs(store, request);
        case RouteKind::ListBundles: return list_bundles(store, route);
        case RouteKind::HasBundle: return has_bundle(store, route);
        case RouteKind::GetProfile: return get_profile(store, route);
        case RouteKind::HasBatch: return has_batch(store, route);
        case RouteKind::ListAccounts: return list_accounts(store);
        case RouteKind::DeleteAccount: return delete_account(store, principal, route.arguments[0]);
        case RouteKind::ListTokens: return list_tokens(store);
        case RouteKind::DeleteToken: return delete_token(store, principal, route.arguments[0]);
        default: return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static FilledStore filled;
    if (size == 0) return 0;
    const std::string_view text = fuzz::text_of(data + 1, size - 1);
    const std::size_t line = std::min(text.find('\n'), text.size());
    Request request;
    request.method = static_cast<Method>(data[0] % 6);
    request.target = text.substr(0, line);
    request.body = text.substr(std::min(line + 1, text.size()));
    const auto route = find_route(request.method, request.target);
    if (!std::holds_alternative<Route>(route)) return 0;
    const auto reply = answer(filled.store(), std::get<Route>(route), request);
    if (!reply) return 0;
    // Whatever is asked, it is not the store that fails at it.
    check(reply->status < 500);
    json::error_code error;
    if (reply->content_type == "application/json" && !reply->body.empty()) {
        (void)json::parse(reply->body, error);
        check(!error);
    }
    return 0;
}
