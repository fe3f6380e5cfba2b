#include "tests/fuzz/filled_server.hpp"

#include <unistd.h>

#include <cstdlib>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/secrets.hpp"

namespace lagtrap::fuzz {
namespace {

using namespace lagtrap::server;

constexpr std::uint64_t monday_ns = 20'003ULL * 86'400ULL * 1'000'000'000ULL;
// to be revoked
constexpr const char* spare_token = "ltu_0123456789ef_DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD";
constexpr std::uint64_t year_ns = 365ULL * 86'400ULL * 1'000'000'000ULL;

void check(bool holds) {
    if (!holds) std::abort();
}

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

Token token_of(const char* text, const char* name, std::uint32_t scopes) {
    const auto parsed = MachineToken::parse(text);
    check(parsed.has_value());
    Token token;
    token.id = parsed->id;
    token.secret_sha256 = sha256_of(parsed->secret);
    token.name = name;
    token.scopes = scopes;
    token.created_realtime_ns = monday_ns;
    return token;
}

const std::string& password_hash() {
    static const std::string hash = hash_password("correct horse battery").value();
    return hash;
}

}  // namespace

FilledServer::FilledServer(Accounts accounts) : accounts_(accounts) {
    // in memory, because stores wait for their disk
    std::string pattern = "/dev/shm/lagtrap-fuzz-XXXXXX";
    check(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    auto store = open_store(folder_ / "lagtrap.sqlite");
    check(store.ok());
    store_ = std::move(store).value();
    auto blobs = open_blobs(folder_, folder_);
    check(blobs.ok());
    blobs_ = std::move(blobs).value();
    add_runs();
    add_bundles();
    if (accounts == Accounts::Some) add_accounts();
    const auto log = [](const std::string&) {};
    jobs_ = std::make_unique<JobRunner>(*store_, *blobs_, log);
    IngestLimits limits;
    limits.disk_reserve_bytes = 0;
    ingest_ = std::make_unique<Ingest>(*blobs_, *store_, limits, [] {});
    SenderLimits sender_limits;
    sender_limits.requests = {};
    alert_sender_ = std::make_unique<AlertSender>(*store_, AlertOptions{}, log);
    application_ = std::make_unique<Application>(
        Parts{*store_, *ingest_, *jobs_, *alert_sender_, log, nullptr, {}}, sender_limits,
        BasePath(), std::nullopt);
}

FilledServer::~FilledServer() {
    application_.reset();
    alert_sender_.reset();
    ingest_.reset();
    jobs_.reset();
    blobs_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
}

void FilledServer::add_runs() {
    check(store_->batches()
              .add_batch({sha256_of("batch"), 1000, monday_ns, "token"}, batch_of_two())
              .ok());
}

void FilledServer::add_bundles() {
    BundleRow row;
    row.digest = sha256_of("x");
    row.bytes = 1000;
    row.received_realtime_ns = monday_ns;
    check(store_->inventory().add(row, {"parse", row.digest, monday_ns}).ok());
    BundleDelay delay;
    delay.number = 1;
    delay.event = "open";
    delay.begin_realtime_ns = monday_ns;
    delay.duration_ns = 100'000'000;
    const BundleFacts facts{"session", "alpha", "open", "demo", monday_ns, 100'000'000, 1};
    check(store_->inventory().set_contents(row.digest, facts, "", {delay}).ok());
    auto blob = blobs_->begin();
    check(blob.ok() && blob->write("y", 1).ok() && blob->seal().ok() &&
          blobs_->keep(*blob, sha256_of("y")).ok());
    row.digest = sha256_of("y");
    row.bytes = 1;
    check(store_->inventory().add(row, {"parse", row.digest, monday_ns}).ok());
}

void FilledServer::add_accounts() {
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    check(
        store_->accounts().add_account({"ann", Role::Reader, password_hash(), now_ns, false}).ok());
    check(
        store_->accounts().add_account({"bob", Role::Admin, password_hash(), now_ns, false}).ok());
    check(store_->accounts()
              .add_session(
                  {sha256_of(session_secret), "ann", now_ns, now_ns, now_ns + year_ns, "10.0.0.1"})
              .ok());
    check(store_->tokens().add_token(token_of(admin_token, "ruler", ScopeAdmin)).ok());
    check(store_->tokens().add_token(token_of(upload_token, "sender", ScopeUpload)).ok());
    check(store_->tokens().add_token(token_of(spare_token, "spare", ScopeRead)).ok());
}

}  // namespace lagtrap::fuzz
