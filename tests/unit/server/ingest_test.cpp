#include "server/ingest/ingest.hpp"

#include <fcntl.h>

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "server/ingest/describe.hpp"
#include "server/store/sqlite_store.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t day_ns = 86'400ULL * 1'000'000'000ULL;

class IngestTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-ingest-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        open({});
    }
    void TearDown() override {
        ingest_.reset();
        store_.reset();
        fs::remove_all(directory_);
    }
    void open(IngestLimits limits) {
        ingest_.reset();
        store_.reset();
        auto store = open_sqlite_store(directory_ / "lagtrap.sqlite");
        ASSERT_TRUE(store.ok()) << store.error().message;
        store_ = std::move(store).value();
        auto blobs = BlobStore::open(directory_);
        ASSERT_TRUE(blobs.ok()) << blobs.error().message;
        leftovers_ = blobs->leftovers_removed();
        ingest_ = std::make_unique<Ingest>(std::move(blobs).value(), *store_, limits,
                                           [this](const fs::path& path) { return describe(path); });
    }
    // Any text is a bundle, but for "torn".
    Result<BundleFacts> describe(const fs::path& path) {
        const auto content = read_file(path, 1000);
        if (!content) return content.error();
        if (*content == "torn") return make_error(ErrorKind::Invalid, "torn \x1b[1m");
        BundleFacts facts;
        facts.session_id = "session of " + *content;
        facts.delays = 2;
        return facts;
    }
    std::variant<Stored, Refusal> put(const std::string& content, const std::string& digest, std::uint64_t now_ns = 1) {
        auto blob = ingest_->begin();
        EXPECT_TRUE(blob.ok());
        EXPECT_TRUE(blob->write(content.data(), content.size()).ok());
        return ingest_->finish(std::move(blob).value(), digest, "tester", now_ns);
    }
    Stored put_good(const std::string& content, std::uint64_t now_ns = 1) {
        const auto outcome = put(content, sha256_of(content), now_ns);
        EXPECT_TRUE(std::holds_alternative<Stored>(outcome)) << content;
        return std::holds_alternative<Stored>(outcome) ? std::get<Stored>(outcome) : Stored{};
    }
    std::size_t incoming() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_ / "incoming"), {}));
    }

    fs::path directory_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Ingest> ingest_;
    std::uint32_t leftovers_ = 0;
};

TEST_F(IngestTest, KeepsABundleOnce) {
    const Stored first = put_good("one");
    EXPECT_EQ(first.outcome, AddOutcome::New);
    EXPECT_EQ(first.bytes, 3U);
    EXPECT_EQ(put_good("one").outcome, AddOutcome::Already);
    const auto rows = store_->list(10, {});
    ASSERT_TRUE(rows.ok());
    ASSERT_THAT(*rows, SizeIs(1));
    EXPECT_EQ(rows->front().facts.session_id, "session of one");
    EXPECT_EQ(rows->front().sender, "tester");
    EXPECT_EQ(read_file(ingest_->blobs().path_of(sha256_of("one")), 10).value(), "one");
    EXPECT_EQ(incoming(), 0U);
}

TEST_F(IngestTest, RefusesAnotherDigestAndKeepsNothing) {
    const auto outcome = put("changed on the way", sha256_of("as sent"));
    ASSERT_TRUE(std::holds_alternative<Refusal>(outcome));
    EXPECT_EQ(std::get<Refusal>(outcome).status, 422U);
    EXPECT_THAT(store_->list(10, {}).value(), IsEmpty());
    EXPECT_THAT(ingest_->blobs().digests().value(), IsEmpty());
    EXPECT_EQ(incoming(), 0U);
}

TEST_F(IngestTest, KeepsAndMarksWhatCanNotBeRead) {
    EXPECT_EQ(put_good("torn").bad_reason, "torn \\x1b[1m");
    EXPECT_EQ(put_good("torn").bad_reason, "torn \\x1b[1m");
    EXPECT_EQ(store_->totals()->bad, 1U);
}

TEST_F(IngestTest, ChecksSizeBeforeTheBody) {
    open({.bundle_bytes = 1000});
    EXPECT_FALSE(ingest_->check(1000).has_value());
    EXPECT_EQ(ingest_->check(1001)->status, 413U);
    EXPECT_EQ(ingest_->check(0)->status, 400U);
    open({.disk_reserve_bytes = UINT64_MAX / 2});
    EXPECT_EQ(ingest_->check(1)->status, 507U);
}

TEST_F(IngestTest, AFullDiskIsSaidAsSuch) {
    // Every write to it fails with ENOSPC.
    auto full = open_file("/dev/full", O_WRONLY);
    ASSERT_TRUE(full.ok());
    IncomingBlob blob(std::move(full).value(), {});
    const Status written = blob.write("x", 1);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(Ingest::refusal_of(written.error()).status, 507U);
}

TEST_F(IngestTest, APartialFileOfAnEarlierRunGoes) {
    std::ofstream(directory_ / "incoming" / "left") << "half";
    open({});
    EXPECT_EQ(leftovers_, 1U);
    EXPECT_EQ(incoming(), 0U);
}

TEST_F(IngestTest, ReconcileListsStoredBlobsAndDropsEmptyRows) {
    put_good("one");
    put_good("two");
    ASSERT_TRUE(store_->remove(sha256_of("one")).ok());
    ASSERT_TRUE(ingest_->blobs().remove(sha256_of("two")).ok());
    const auto mended = ingest_->reconcile(5);
    ASSERT_TRUE(mended.ok()) << mended.error().message;
    EXPECT_EQ(mended->rows_added, 1U);
    EXPECT_EQ(mended->rows_removed, 1U);
    EXPECT_THAT(store_->digests().value(), ElementsAre(sha256_of("one")));
}

TEST_F(IngestTest, RetentionBySizeTakesTheOldest) {
    open({.keep_bytes = 6});
    put_good("one", 1);
    put_good("two", 2);
    put_good("six", 3);
    const auto removed = ingest_->apply_retention(4);
    ASSERT_TRUE(removed.ok());
    EXPECT_EQ(removed->bundles, 1U);
    EXPECT_EQ(removed->bytes, 3U);
    EXPECT_FALSE(store_->find(sha256_of("one"))->has_value());
    EXPECT_FALSE(fs::exists(ingest_->blobs().path_of(sha256_of("one"))));
    EXPECT_TRUE(fs::exists(ingest_->blobs().path_of(sha256_of("two"))));
}

TEST_F(IngestTest, RetentionByAgeAndNoneByDefault) {
    put_good("one", day_ns);
    put_good("two", 3 * day_ns);
    EXPECT_EQ(ingest_->apply_retention(100 * day_ns)->bundles, 0U);
    open({.keep_for = std::chrono::hours(24)});
    EXPECT_EQ(ingest_->apply_retention(4 * day_ns)->bundles, 1U);
    EXPECT_EQ(ingest_->apply_retention(0)->bundles, 0U);  // a clock that jumped back
    EXPECT_THAT(store_->digests().value(), ElementsAre(sha256_of("two")));
}

TEST_F(IngestTest, ListsPageByPage) {
    for (const char* content : {"a", "b", "c"}) put_good(content);
    const auto first = store_->list(2, {});
    ASSERT_THAT(*first, SizeIs(2));
    EXPECT_EQ(first->front().digest, sha256_of("c"));
    const auto second = store_->list(2, first->back().number);
    ASSERT_THAT(*second, SizeIs(1));
    EXPECT_EQ(second->front().digest, sha256_of("a"));
}

TEST_F(IngestTest, ANewerDatabaseIsNotTouched) {
    store_.reset();
    ingest_.reset();
    // Byte 60 of the header is user_version, big-endian (SQLite file format, 1.3).
    {
        std::fstream file(directory_ / "lagtrap.sqlite", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(63);
        file.put(99);
    }
    const auto opened = open_sqlite_store(directory_ / "lagtrap.sqlite");
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message, HasSubstr("version 99"));
}

TEST_F(IngestTest, WhatIsNoBundleIsDescribedAsSuch) {
    std::ofstream(directory_ / "x") << "not a bundle";
    const auto facts = describe_bundle(directory_ / "x");
    ASSERT_FALSE(facts.ok());
    EXPECT_FALSE(facts.error().message.empty());
}

}  // namespace
}  // namespace lagtrap::server
