#include "server/api/application.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "server/accounts/oidc_provider.hpp"
#include "server/accounts/token_file.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::application_test {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::string message_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
}

std::string hint_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("hint"));
}

Request request_for(Method method, const std::string& target) {
    Request request;
    request.method = method;
    request.target = target;
    request.host = "localhost:8480";
    request.sender = "127.0.0.1";
    request.from_loopback = true;
    return request;
}

Request asking(const std::string& target) { return request_for(Method::Get, target); }

Request uploading(std::uint64_t bytes) {
    Request request = request_for(Method::Put, "/api/v1/bundles/" + std::string(64, 'a'));
    request.content_length = bytes;
    return request;
}

class ApplicationTest : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        open();
    }
    void TearDown() override {
        application_.reset();
        StoreFixture::TearDown();
    }
    void open(std::optional<TokenTable> tokens = std::nullopt, const SenderLimits& limits = {},
              const std::string& base = "") {
        application_.reset();
        ingest_ = std::make_unique<Ingest>(*blobs_, *store_, ingest_limits_, [] {});
        jobs_ = std::make_unique<JobRunner>(*store_, *blobs_, [](const std::string&) {});
        alerts_ = std::make_unique<AlertSender>(*store_, AlertOptions{}, [](const std::string&) {});
        application_ = std::make_unique<Application>(
            Parts{*store_, *ingest_, *jobs_, *alerts_,
                  [this](const std::string& line) { log_.push_back(line); }, provider_.get(), ""},
            limits, base.empty() ? BasePath() : BasePath::parse(base).value(), std::move(tokens));
    }
    // Makes a token and opens a server that knows only it.
    std::string open_with_token(Right right, const SenderLimits& limits = {}) {
        const auto made = make_token("rack", right);
        EXPECT_TRUE(made.ok());
        open(TokenTable::parse(made->line).value(), limits);
        return "Bearer " + made->token;
    }
    // Makes an account with a session, and returns its cookie.
    std::string cookie_of(const std::string& name, Role role) {
        EXPECT_EQ(store_->accounts().add_account({name, role, "x", 5, false}).value(),
                  AddOutcome::New);
        const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
        const std::string secret = "secret of " + name;
        Session session;
        session.token_sha256 = sha256_of(secret);
        session.account = name;
        session.created_realtime_ns = session.used_realtime_ns = now_ns;
        session.expires_realtime_ns = now_ns + 3600ULL * 1'000'000'000;
        EXPECT_TRUE(store_->accounts().add_session(session).ok());
        return std::string(SessionCookie(BasePath()).name(false)) + "=" + secret;
    }
    // The answer, or the refusal as the HTTP server sends it.
    Reply reply_to(const Request& request) {
        auto plan = application_->admit(request);
        if (const auto* refusal = std::get_if<Refusal>(&plan)) return reply_of(*refusal);
        if (std::get<Plan>(plan).answer) return std::get<Plan>(plan).answer(request);
        Reply begun;
        begun.status = 201;
        return begun;
    }

    // "who|action|object|detail".
    std::string newest_note(AuditPart part = AuditPart::All) {
        const auto entries = store_->audit().list(1, {}, part).value();
        if (entries.empty()) return "";
        const AuditEntry& entry = entries.front();
        return entry.who + "|" + entry.action + "|" + entry.object + "|" + entry.detail;
    }

    IngestLimits ingest_limits_;
    std::vector<std::string> log_;
    std::unique_ptr<Ingest> ingest_;
    std::unique_ptr<JobRunner> jobs_;
    std::unique_ptr<AlertSender> alerts_;
    std::unique_ptr<OidcProvider> provider_;
    std::unique_ptr<Application> application_;
};

TEST_F(ApplicationTest, WithoutAccountsOnlyThisMachineIsAnswered) {
    for (const char* host :
         {"localhost", "localhost:8480", "127.0.0.1", "127.9.8.7:80", "[::1]", "[::1]:8480"}) {
        Request request = asking("/api/v1/events");
        request.host = host;
        EXPECT_EQ(reply_to(request).status, 200U) << host;
    }
    for (const char* host : {"", "lagtrap.example", "localhost.example", "127.example", "[::1]x",
                             "[::2]", "128.0.0.1"}) {
        Request request = asking("/api/v1/events");
        request.host = host;
        const Reply refused = reply_to(request);
        EXPECT_EQ(refused.status, 421U) << host;
        EXPECT_EQ(message_of(refused),
                  "this server has no accounts and tokens and answers to localhost alone");
        EXPECT_THAT(hint_of(refused), HasSubstr("user add NAME"));
    }
    Request remote = asking("/api/v1/events");
    remote.from_loopback = false;
    EXPECT_EQ(reply_to(remote).status, 421U);
    Request forwarded = asking("/api/v1/events");
    forwarded.forwarded = true;
    EXPECT_EQ(message_of(reply_to(forwarded)),
              "this server has no accounts and tokens and answers to no proxy");
    // It may do everything.
    EXPECT_EQ(reply_to(asking("/api/v1/accounts")).status, 200U);
}

TEST_F(ApplicationTest, TheFirstAccountClosesItAtOnce) {
    EXPECT_TRUE(application_->is_open().value());
    Request request = request_for(Method::Post, "/api/v1/accounts");
    request.content_type = "application/json";
    request.body = R"({"account":"ann","role":"admin","password":"correct horse battery"})";
    const Reply added = reply_to(request);
    ASSERT_EQ(added.status, 201U) << added.body;
    EXPECT_FALSE(application_->is_open().value());
    const Reply refused = reply_to(asking("/api/v1/events"));
    EXPECT_EQ(refused.status, 401U);
    EXPECT_EQ(message_of(refused), "a token or a session is needed");
    EXPECT_EQ(hint_of(refused), "sign in, or send \"Authorization: Bearer TOKEN\"");
}

// Who signs in at a provider needs no account here first.
TEST_F(ApplicationTest, SingleSignOnClosesItWithoutAnyAccount) {
    OidcSettings settings;
    settings.title = "Login";
    provider_ = std::make_unique<OidcProvider>(settings);
    open();
    const Reply refused = reply_to(asking("/api/v1/events"));
    EXPECT_EQ(refused.status, 401U);
    EXPECT_EQ(message_of(refused), "a token or a session is needed");
    const Reply ways = reply_to(asking("/api/v1/session/ways"));
    EXPECT_EQ(ways.status, 200U);
    EXPECT_THAT(ways.body, HasSubstr("Login"));
    provider_.reset();
    open();
    EXPECT_EQ(reply_to(asking("/api/v1/events")).status, 200U);
}

TEST_F(ApplicationTest, TokensMayDoWhatTheirScopeSays) {
    struct Case {
        Right right;
        unsigned read, upload, administer;
    };
    for (const Case& one : {Case{Right::Read, 200, 403, 403}, Case{Right::Upload, 403, 201, 403},
                            Case{Right::Administer, 200, 201, 200}}) {
        const std::string authorization = open_with_token(one.right);
        Request read = asking("/api/v1/events"), upload = uploading(5),
                administer = asking("/api/v1/accounts");
        read.authorization = upload.authorization = administer.authorization = authorization;
        EXPECT_EQ(reply_to(read).status, one.read) << right_name(one.right);
        EXPECT_EQ(reply_to(upload).status, one.upload) << right_name(one.right);
        EXPECT_EQ(reply_to(administer).status, one.administer) << right_name(one.right);
    }
    Request upload = uploading(5);
    upload.authorization = open_with_token(Right::Read);
    EXPECT_EQ(message_of(reply_to(upload)), "the token may not do this; it needs scope upload");
    EXPECT_EQ(application_->counters().uploads_refused, 0U) << "it is no upload yet";
    // Whether an upload is there may be asked with either.
    Request there = request_for(Method::Head, "/api/v1/bundles/" + std::string(64, 'a'));
    there.authorization = upload.authorization;
    EXPECT_EQ(reply_to(there).status, 404U);
}

TEST_F(ApplicationTest, OnlyWhoIsSignedInHasAPassword) {
    Request change = request_for(Method::Put, "/api/v1/session/password");
    change.authorization = open_with_token(Right::Administer);
    change.content_type = "application/json";
    change.body = R"({"old_password": "a", "new_password": "b"})";
    const Reply refused = reply_to(change);
    EXPECT_EQ(refused.status, 403U);
    EXPECT_EQ(message_of(refused), "only who is signed in has a password to change");
    EXPECT_EQ(hint_of(refused), "sign in first");
}

TEST_F(ApplicationTest, UnknownTokensAreRefusedAndSlowedDown) {
    open_with_token(Right::Read);
    Request request = asking("/api/v1/events");
    request.authorization = "Bearer lt_read_unknown";
    request.sender = "10.1.2.3";
    // The page itself can be loaded in order to sign in.
    Request page = request;
    page.target = "/api/v1/session/ways";
    EXPECT_EQ(reply_to(page).status, 200U);
    for (int i = 0; i < 58; ++i) static_cast<void>(reply_to(page));
    Reply refused = reply_to(request);
    EXPECT_EQ(refused.status, 401U);
    EXPECT_EQ(message_of(refused), "the token is unknown or has expired");
    refused = reply_to(request);
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(message_of(refused), "too many requests with unknown tokens");
    EXPECT_THAT(refused.headers, Contains(Pair("Retry-After", "1")));
    request.sender = "10.7.7.7";
    request.authorization = "Bearer";
    EXPECT_EQ(message_of(reply_to(request)), "a token is needed");
    const auto entries = store_->audit().list(100, {}, AuditPart::Refusals).value();
    ASSERT_FALSE(entries.empty());
    EXPECT_EQ(entries.back().action, "refuse token");
    EXPECT_EQ(entries.back().detail, "unknown or expired, from 10.1.2.3");
}

TEST_F(ApplicationTest, TheTokenFileIsReplaced) {
    const std::string old_token = open_with_token(Right::Read);
    const auto made = make_token("fresh", Right::Read);
    application_->replace_tokens(TokenTable::parse(made->line).value());
    Request request = asking("/api/v1/events");
    request.authorization = "Bearer " + made->token;
    EXPECT_EQ(reply_to(request).status, 200U);
    request.authorization = old_token;
    EXPECT_EQ(reply_to(request).status, 401U);
}

TEST_F(ApplicationTest, AccountsMayDoWhatTheirRoleSays) {
    const std::string reader = cookie_of("ann", Role::Reader);
    const std::string admin = cookie_of("boss", Role::Admin);
    Request request = asking("/api/v1/accounts");
    request.cookie = reader;
    EXPECT_EQ(message_of(reply_to(request)), "the account may not do this; it needs role admin");
    request.cookie = admin;
    EXPECT_EQ(reply_to(request).status, 200U);
    Request labelling = request_for(Method::Put, "/api/v1/builds/ab12");
    labelling.cookie = reader;
    labelling.fetch_site = "same-origin";
    EXPECT_EQ(message_of(reply_to(labelling)),
              "the account may not do this; it needs role uploader");
    request.cookie = reader + "x";
    EXPECT_EQ(reply_to(request).status, 401U);
}

TEST_F(ApplicationTest, ChangesComeFromTheServersOwnPages) {
    const std::string cookie = cookie_of("boss", Role::Admin);
    Request request = request_for(Method::Delete, "/api/v1/accounts/none");
    request.cookie = cookie;
    const Reply refused = reply_to(request);
    EXPECT_EQ(refused.status, 403U);
    EXPECT_EQ(message_of(refused), "the request does not come from this server's own pages");
    EXPECT_EQ(hint_of(refused), "programs use a token, not the cookie of a session");
    request.fetch_site = "cross-site";
    EXPECT_EQ(reply_to(request).status, 403U);
    request.fetch_site = "same-origin";
    EXPECT_NE(reply_to(request).status, 403U);
    Request reading = asking("/api/v1/accounts");
    reading.cookie = cookie;
    reading.fetch_site = "cross-site";
    EXPECT_EQ(reply_to(reading).status, 200U);
}

TEST_F(ApplicationTest, TeamsDoNotSeeWholeMachines) {
    const std::string cookie = cookie_of("ann", Role::Reader);
    Team team;
    team.name = "shop";
    team.events = {"checkout"};
    ASSERT_TRUE(store_->teams().set_team(team).ok());
    ASSERT_TRUE(store_->teams().join_team("shop", "ann").value());
    Request request = asking("/api/v1/objects");
    request.cookie = cookie;
    const Reply refused = reply_to(request);
    EXPECT_EQ(refused.status, 403U);
    EXPECT_EQ(message_of(refused),
              "this holds more than the events of your teams, and those are what you see");
    EXPECT_EQ(hint_of(refused),
              "the page of a delay shows and exports what belongs to it, objects too; for the rest "
              "ask an administrator");
    request.target = "/api/v1/events";
    EXPECT_EQ(reply_to(request).status, 200U);
}

TEST_F(ApplicationTest, RequestsBeyondTheRateAreRefused) {
    SenderLimits limits;
    limits.requests = {0.001, 2};
    open(std::nullopt, limits);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(reply_to(asking("/api/v1/events")).status, 200U);
    const Reply refused = reply_to(asking("/api/v1/events"));
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(message_of(refused), "too many requests");
    EXPECT_EQ(hint_of(refused), "try again later");
    Request other = asking("/api/v1/events");
    other.sender = "127.77.0.1";
    EXPECT_EQ(reply_to(other).status, 200U);
    // Health checks are not limited.
    for (int i = 0; i < 5; ++i) {
        const Reply health = reply_to(asking("/healthz"));
        EXPECT_EQ(health.status, 200U);
        EXPECT_EQ(health.body, "ok\n");
        EXPECT_EQ(health.content_type, "text/plain");
    }
}

TEST_F(ApplicationTest, AddressesBeginWithTheBasePath) {
    open(std::nullopt, {}, "/lag");
    EXPECT_EQ(reply_to(asking("/lag/api/v1/events")).status, 200U);
    const Reply moved = reply_to(asking("/lag"));
    EXPECT_EQ(moved.status, 308U);
    EXPECT_THAT(moved.headers, Contains(Pair("Location", "/lag/")));
    const Reply missing = reply_to(asking("/api/v1/events"));
    EXPECT_EQ(missing.status, 404U);
    EXPECT_EQ(message_of(missing), "no such address");
    EXPECT_EQ(hint_of(missing), "the addresses of this server begin with /lag/");
    EXPECT_EQ(application_->admission_work(asking("/lag/healthz")), Work::Health);
    EXPECT_EQ(application_->admission_work(asking("/healthz")), Work::Health);
    EXPECT_EQ(application_->admission_work(asking("/lag/api/v1/events")), Work::Light);
}

TEST_F(ApplicationTest, BodiesAreJson) {
    Request request = request_for(Method::Post, "/api/v1/rules");
    request.body = "{}";
    request.content_type = "text/plain";
    EXPECT_EQ(message_of(reply_to(request)),
              "the body must be JSON (Content-Type: application/json)");
    request.content_type = "application/json; charset=utf-8";
    EXPECT_THAT(message_of(reply_to(request)), Not(HasSubstr("the body must be JSON")));
}

TEST_F(ApplicationTest, PlansHaveTheWorkAndBodyOfTheirRoute) {
    Request request = request_for(Method::Post, "/api/v1/compare");
    request.content_type = "application/json";
    auto plan = application_->admit(request);
    ASSERT_TRUE(std::holds_alternative<Plan>(plan));
    EXPECT_EQ(std::get<Plan>(plan).work, Work::Heavy);
    EXPECT_EQ(std::get<Plan>(plan).body_limit_bytes, 128U * 1024);
}

TEST_F(ApplicationTest, LargeAnswersAreCompressedIfTheClientTakesIt) {
    Request request = asking("/api/v1/openapi.yaml");
    EXPECT_THAT(reply_to(request).headers, Not(Contains(Pair("Content-Encoding", "gzip"))));
    request.accept_encoding = "gzip";
    EXPECT_THAT(reply_to(request).headers, Contains(Pair("Content-Encoding", "gzip")));
}

TEST_F(ApplicationTest, UploadsAreCheckedByTheirHeaders) {
    const auto refused = [&](const Request& request) {
        const Reply reply = reply_to(request);
        return std::to_string(reply.status) + " " + (reply.status < 300 ? "" : message_of(reply));
    };
    Request request = uploading(5);
    request.chunked = true;
    EXPECT_EQ(refused(request), "411 an upload needs a Content-Length, and is not chunked");
    request = uploading(5);
    request.content_length.reset();
    EXPECT_EQ(refused(request), "411 an upload needs a Content-Length, and is not chunked");
    request = uploading(5);
    request.content_type = "text/html";
    EXPECT_EQ(refused(request), "415 an upload has the type application/zstd");
    request.content_type = "application/zstd";
    EXPECT_EQ(refused(request), "201 ");
    request.content_type = "application/octet-stream";
    EXPECT_EQ(refused(request), "201 ");
    request.content_encoding = "gzip";
    EXPECT_EQ(refused(request), "415 an upload has no Content-Encoding");
    request = uploading(5ULL << 40);
    EXPECT_EQ(refused(request).substr(0, 4), "413 ");
    request = uploading(5);
    request.content_digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    EXPECT_EQ(refused(request), "400 Content-Digest is not the digest in the address");
    EXPECT_EQ(application_->counters().uploads_refused, 6U);
}

TEST_F(ApplicationTest, UploadsHaveLimitsOfTheirOwn) {
    SenderLimits limits;
    limits.uploads_at_once = 1;
    limits.upload_bytes = {1, 1000};
    limits.daily_upload_bytes = 2000;
    open(std::nullopt, limits);
    const Reply too_large = reply_to(uploading(2001));
    EXPECT_EQ(too_large.status, 413U);
    EXPECT_THAT(message_of(too_large), HasSubstr("a sender may bring"));
    EXPECT_THAT(message_of(too_large), HasSubstr("a day (--daily-quota)"));
    // That one took all of its bytes.
    EXPECT_EQ(message_of(reply_to(uploading(5))), "too many bytes in a short time");
    limits.upload_bytes = {0, 0};
    open(std::nullopt, limits);
    {
        auto first = application_->admit(uploading(1500));
        ASSERT_TRUE(std::holds_alternative<Plan>(first));
        const Reply second = reply_to(uploading(5));
        EXPECT_EQ(message_of(second), "too many uploads at once");
        EXPECT_THAT(second.headers, Contains(Pair("Retry-After", "5")));
    }
    // The bytes of an upload that was given up are given back.
    EXPECT_TRUE(std::holds_alternative<Plan>(application_->admit(uploading(2000))));
    limits.uploads_at_once = 9;
    open(std::nullopt, limits);
    auto first = application_->admit(uploading(1500));
    ASSERT_TRUE(std::holds_alternative<Plan>(first));
    const Reply over = reply_to(uploading(600));
    EXPECT_EQ(over.status, 429U);
    EXPECT_THAT(message_of(over), HasSubstr("the quota of this sender for today is used up ("));
    EXPECT_THAT(hint_of(over), HasSubstr("it opens again at 00:00 UTC, in "));
    EXPECT_EQ(application_->counters().uploads_over_quota, 1U);
    EXPECT_EQ(application_->counters().uploads_refused, 1U);
}

TEST_F(ApplicationTest, ChangesOfAnOpenServerComeFromItsOwnPagesOrFromPrograms) {
    Request request = request_for(Method::Delete, "/api/v1/accounts/none");
    EXPECT_EQ(reply_to(request).status, 404U) << "a program sends no origin";
    request.origin = "http://evil.example";
    EXPECT_EQ(reply_to(request).status, 403U);
    request.authorization = open_with_token(Right::Administer);
    EXPECT_EQ(reply_to(request).status, 404U) << "no page knows the token";
}

TEST_F(ApplicationTest, AMissingRightIsNamedByTheRoleOrScopeThatHasIt) {
    Request labelling = request_for(Method::Put, "/api/v1/builds/ab12");
    Request reading = asking("/api/v1/events"), administering = asking("/api/v1/teams");
    const std::string uploader = open_with_token(Right::Upload);
    reading.authorization = administering.authorization = uploader;
    EXPECT_EQ(message_of(reply_to(reading)), "the token may not do this; it needs scope read");
    EXPECT_EQ(message_of(reply_to(administering)),
              "the token may not do this; it needs scope admin");
    Request who = asking("/api/v1/session");
    who.authorization = uploader;
    EXPECT_EQ(reply_to(who).status, 200U) << "either right will do";
}

TEST_F(ApplicationTest, AQuotaThatIsUsedUpIsNotedAndOpensAtMidnight) {
    SenderLimits limits;
    limits.daily_upload_bytes = 2000;
    const std::string authorization = open_with_token(Right::Upload, limits);
    Request request = uploading(1500);
    request.authorization = authorization;
    const auto first = application_->admit(request);
    ASSERT_TRUE(std::holds_alternative<Plan>(first));
    const Reply over = reply_to(request);
    EXPECT_EQ(message_of(over),
              "the quota of this sender for today is used up (1.95 KiB, --daily-quota)");
    EXPECT_THAT(hint_of(over),
                testing::MatchesRegex("it opens again at 00:00 UTC, in [0-9]+ h [0-9]+ min"));
    EXPECT_EQ(newest_note(), "token rack|refuse upload||its quota of today is used up");
    request.content_length = 3000;
    EXPECT_EQ(message_of(reply_to(request)),
              "the upload has 2.93 KiB; a sender may bring 1.95 KiB a day (--daily-quota)");
    EXPECT_EQ(application_->counters().uploads_over_quota, 1U);
}

TEST_F(ApplicationTest, AnUploadNeedsTheBytesItAnnounces) {
    EXPECT_EQ(message_of(reply_to(uploading(0))), "the bundle is empty");
    Request batch = uploading(0);
    batch.target = "/api/v1/batches/" + std::string(64, 'a');
    EXPECT_EQ(message_of(reply_to(batch)), "the batch is empty");
    batch.content_length = 1ULL << 40;
    EXPECT_THAT(message_of(reply_to(batch)), HasSubstr("the batch has 1"));
}

TEST_F(ApplicationTest, FourSignInsOfASenderWait) {
    Request request = request_for(Method::Post, "/api/v1/session");
    request.content_type = "application/json";
    request.sender = "10.1.2.3";
    cookie_of("ann", Role::Admin);
    open();
    std::vector<std::variant<Plan, Refusal>> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(application_->admit(request));
        ASSERT_TRUE(std::holds_alternative<Plan>(waiting.back()));
        EXPECT_EQ(std::get<Plan>(waiting.back()).work, Work::SignIn);
    }
    const Reply refused = reply_to(request);
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(message_of(refused), "too many attempts to sign in at once");
    EXPECT_THAT(refused.headers, Contains(Pair("Retry-After", "2")));
    EXPECT_EQ(newest_note(AuditPart::Refusals),
              "|refuse sign-in||too many attempts at once, from 10.1.2.3");
    Request other = request;
    other.sender = "10.1.2.4";
    EXPECT_TRUE(std::holds_alternative<Plan>(application_->admit(other)));
    waiting.pop_back();
    EXPECT_TRUE(std::holds_alternative<Plan>(application_->admit(request))) << "one is done";
}

TEST_F(ApplicationTest, BundlesThatAreTooOldGoAndThisIsNoted) {
    for (const char digit : {'a', 'b', 'c'}) {
        BundleRow row;
        row.digest = std::string(64, digit);
        row.bytes = 700;
        row.received_realtime_ns =
            digit == 'c' ? ClockSnapshot::take().realtime_ns : std::uint64_t{1};
        ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 1}).ok());
    }
    application_->remove_old_bundles();
    EXPECT_EQ(application_->counters().bundles_expired, 0U);
    EXPECT_EQ(newest_note(), "") << "nothing is too old by default";
    ingest_limits_.keep_for = std::chrono::hours(24);
    open();
    application_->remove_old_bundles();
    application_->remove_old_bundles();
    EXPECT_EQ(application_->counters().bundles_expired, 2U);
    EXPECT_EQ(application_->counters().runs_expired, 0U);
    EXPECT_EQ(newest_note(), "retention|remove bundles|2|1.37 KiB");
    EXPECT_EQ(store_->audit().list(10, {}, AuditPart::All)->size(), 1U);
    EXPECT_EQ(store_->inventory().digests()->size(), 1U);
}

TEST_F(ApplicationTest, RunsThatAreTooOldGoAndThisIsNoted) {
    constexpr std::uint64_t day_ns = 86'400ULL * 1'000'000'000;
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    trace::RunBatch batch;
    batch.host = "web-1";
    for (const std::uint64_t days : {90, 80, 0}) {
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "search";
        run.begin_realtime_ns = now_ns - days * day_ns;
        run.duration_ns = 5;
    }
    ASSERT_TRUE(store_->batches().add_batch({std::string(64, 'a'), 1, now_ns, ""}, batch).ok());
    application_->remove_old_runs();
    EXPECT_EQ(newest_note(), "");
    ingest_limits_.keep_runs_for = std::chrono::hours(24 * 30);
    open();
    application_->remove_old_runs();
    application_->remove_old_runs();
    EXPECT_EQ(application_->counters().runs_expired, 2U);
    EXPECT_EQ(application_->counters().bundles_expired, 0U);
    EXPECT_EQ(newest_note(), "retention|remove runs|2|");
    EXPECT_EQ(store_->audit().list(10, {}, AuditPart::All)->size(), 1U);
    EXPECT_EQ(store_->upkeep().size()->runs, 1U);
}

TEST_F(ApplicationTest, MetricsHaveAllParts) {
    application_->counters().uploads_new = 7;
    const Reply reply = reply_to(asking("/metrics"));
    EXPECT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.content_type, "text/plain; version=0.0.4");
    for (const char* line :
         {"\nlagtrap_server_uploads_new_total 7\n", "\nlagtrap_server_quota_bytes 0\n",
          "\nlagtrap_server_messages_waiting 0\n", "\n# TYPE lagtrap_event_causes gauge\n",
          "\n# TYPE lagtrap_event_delays_total counter\n"})
        EXPECT_THAT(reply.body, HasSubstr(line));
}

}  // namespace
}  // namespace lagtrap::server::application_test
