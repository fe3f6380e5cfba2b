// Uploads as the application receives them: replies, counters, quota and retention.
#include "server/api/upload.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "server/accounts/token_file.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server::upload_test {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// The SHA-256 of "hello", also as base64.
const std::string hello_digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const std::string hello_base64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";

std::string address_of(const std::string& kind, const std::string& content) {
    return "/api/v1/" + kind + "/" + sha256_of(content);
}

class UploadTest : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        open({});
    }
    void TearDown() override {
        application_.reset();
        StoreFixture::TearDown();
    }
    void open(const IngestLimits& limits, std::optional<TokenTable> tokens = std::nullopt) {
        application_.reset();
        ingest_ = std::make_unique<Ingest>(*blobs_, *store_, limits, [] {});
        jobs_ = std::make_unique<JobRunner>(*store_, *blobs_, [](const std::string&) {});
        alerts_ = std::make_unique<AlertSender>(*store_, AlertOptions{}, [](const std::string&) {});
        SenderLimits of_sender;
        of_sender.daily_upload_bytes = 1 << 20;
        application_ = std::make_unique<Application>(
            Parts{*store_, *ingest_, *jobs_, *alerts_,
                  [this](const std::string& line) { log_.push_back(line); }, nullptr, ""},
            of_sender, BasePath(), std::move(tokens));
    }
    Reply send(const std::string& target, const std::string& content) {
        Request request;
        request.method = Method::Put;
        request.target = target;
        request.host = "localhost";
        request.sender = "127.0.0.1";
        request.from_loopback = true;
        request.authorization = authorization_;
        request.content_length = content.size();
        auto plan = application_->admit(request);
        if (const auto* refusal = std::get_if<Refusal>(&plan)) return reply_of(*refusal);
        Upload& upload = *std::get<Plan>(plan).upload;
        const std::size_t half = content.size() / 2;
        for (const std::string& piece : {content.substr(0, half), content.substr(half)})
            if (const Status written = upload.write(piece.data(), piece.size()); !written)
                return reply_of(upload.refusal_of(written.error()));
        return upload.finish();
    }
    Reply send_bundle(const std::string& content) {
        return send(address_of("bundles", content), content);
    }
    // New, already there, refused.
    [[nodiscard]] std::vector<std::uint64_t> counted() const {
        const Counters& counters = application_->counters();
        return {counters.uploads_new, counters.uploads_already, counters.uploads_refused};
    }
    [[nodiscard]] std::uint64_t charged_bytes() const {
        const std::uint64_t day = ClockSnapshot::take().realtime_ns / 86'400'000'000'000ULL;
        std::uint64_t bytes = 0;
        for (const std::uint64_t one : {day - 1, day})
            bytes += store_->quotas().quota_use(one)->max_bytes;
        return bytes;
    }

    std::string authorization_;
    std::vector<std::string> log_;
    std::unique_ptr<Ingest> ingest_;
    std::unique_ptr<JobRunner> jobs_;
    std::unique_ptr<AlertSender> alerts_;
    std::unique_ptr<Application> application_;
};

std::string batch_bytes() {
    trace::RunBatch batch;
    batch.batch_id = random_uuid();
    batch.host = "db1";
    batch.version = "1";
    batch.made_realtime_ns = ClockSnapshot::take().realtime_ns;
    trace::RecordedRun run;
    run.event = "query";
    run.begin_realtime_ns = batch.made_realtime_ns;
    run.duration_ns = 1000;
    batch.runs = {run};
    auto bytes = trace::write_run_batch(batch);
    EXPECT_TRUE(bytes.ok());
    return bytes ? std::move(bytes).value() : std::string();
}

TEST_F(UploadTest, ABundleIsNewOnceAndChargedOnce) {
    const Reply first = send_bundle("hello");
    EXPECT_EQ(first.status, 201U);
    EXPECT_EQ(
        json::parse(first.body),
        (json::value{
            {"digest", hello_digest}, {"bytes", 5}, {"stored", "new"}, {"bad_reason", nullptr}}));
    EXPECT_THAT(first.headers, Contains(Pair("X-Lagtrap-Digest", hello_digest)));
    EXPECT_THAT(counted(), ElementsAre(1, 0, 0));
    EXPECT_EQ(charged_bytes(), 5U);
    const Reply again = send_bundle("hello");
    EXPECT_EQ(again.status, 200U);
    EXPECT_EQ(json::parse(again.body).at("stored"), "already");
    EXPECT_THAT(counted(), ElementsAre(1, 1, 0));
    EXPECT_EQ(charged_bytes(), 5U);
    EXPECT_THAT(log_, ElementsAre("stored bundle 2cf24dba5fb0a30e (5 B)",
                                  "had already bundle 2cf24dba5fb0a30e (5 B)"));
}

TEST_F(UploadTest, TheLogNamesTheToken) {
    const FreshToken token = make_token("rack", Right::Upload).value();
    open({}, TokenTable::parse(token.line).value());
    authorization_ = "Bearer " + token.token;
    EXPECT_EQ(send_bundle("hello").status, 201U);
    EXPECT_THAT(log_, ElementsAre("stored bundle 2cf24dba5fb0a30e (5 B) from rack"));
}

TEST_F(UploadTest, AnUnreadableBundleIsKnownAsSuch) {
    send_bundle("hello");
    ASSERT_TRUE(store_->inventory().set_contents(hello_digest, {}, "no manifest", {}).value());
    EXPECT_EQ(json::parse(send_bundle("hello").body).at("bad_reason"), "no manifest");
}

TEST_F(UploadTest, ARefusedUploadIsCountedAndNotCharged) {
    const Reply reply = send("/api/v1/bundles/" + hello_digest, "other");
    EXPECT_EQ(reply.status, 422U);
    EXPECT_THAT(counted(), ElementsAre(0, 0, 1));
    EXPECT_EQ(charged_bytes(), 0U);
    EXPECT_THAT(log_, ElementsAre(HasSubstr("refused bundle 2cf24dba5fb0a30e: ")));
}

TEST_F(UploadTest, ABatchIsNewOnce) {
    const std::string bytes = batch_bytes();
    EXPECT_EQ(send(address_of("batches", bytes), bytes).status, 201U);
    EXPECT_EQ(send(address_of("batches", bytes), bytes).status, 200U);
    EXPECT_THAT(counted(), ElementsAre(1, 1, 0));
    EXPECT_EQ(charged_bytes(), bytes.size());
    EXPECT_EQ(send(address_of("batches", "junk"), "junk").status, 422U);
    EXPECT_THAT(counted(), ElementsAre(1, 1, 1));
}

TEST_F(UploadTest, ANewBundleMakesRoomByRetention) {
    open({.keep_bytes = 5});
    send_bundle("first");
    send_bundle("hello");
    EXPECT_THAT(store_->inventory().digests().value(), ElementsAre(hello_digest));
    EXPECT_EQ(application_->counters().bundles_expired, 1U);
}

TEST_F(UploadTest, ABatchIsLookedUpByItsDigest) {
    const std::string bytes = batch_bytes();
    Route route;
    route.arguments = {sha256_of(bytes)};
    EXPECT_EQ(has_batch(store_->batches(), route).status, 404U);
    send(address_of("batches", bytes), bytes);
    const Reply found = has_batch(store_->batches(), route);
    EXPECT_EQ(found.status, 200U);
    EXPECT_EQ(found.content_type, "application/zstd");
    EXPECT_THAT(found.headers, ElementsAre(Pair("X-Lagtrap-Digest", sha256_of(bytes))));
    EXPECT_THAT(found.body, IsEmpty());
}

TEST(ContentDigest, IsComparedIfItIsASha256) {
    const auto status_of = [](const std::string& header) {
        const auto refusal = check_content_digest(header, hello_digest);
        return refusal ? refusal->status : 0;
    };
    const std::string good = "sha-256=:" + hello_base64 + ":";
    for (const std::string& header : {std::string(), good, "sha-512=:AAAA:, " + good,
                                      good + ", sha-512=:AAAA:", std::string("sha-512=:AAAA:")})
        EXPECT_EQ(status_of(header), 0U) << header;
    for (const std::string header :
         {"sha-256=:AAAA:", "sha-256=::", "sha-256=:", "sha-512=:AAAA:, sha-256=:AAAA:"})
        EXPECT_EQ(status_of(header), 400U) << header;
}

}  // namespace
}  // namespace lagtrap::server::upload_test
