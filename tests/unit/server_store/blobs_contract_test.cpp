#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "core/digest.hpp"
#include "tests/unit/server_store/blobs_backend.hpp"

namespace lagtrap::server::blobs_contract_test {
namespace {

using testing::SizeIs;

std::string some_bytes(unsigned seed, std::size_t size) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

class BlobsContract : public testing::Test {
  protected:
    void SetUp() override {
        backend_ = make_blobs_backend();
        ASSERT_NE(backend_, nullptr);
        blobs_ = must(backend_->open());
        ASSERT_NE(blobs_, nullptr);
    }
    template <typename T>
    static T must(Result<T> result) {
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
        return result.ok() ? std::move(result).value() : T{};
    }
    std::string put(const std::string& bytes) {
        auto incoming = blobs_->begin();
        EXPECT_TRUE(incoming.ok());
        EXPECT_TRUE(incoming->write(bytes.data(), bytes.size() / 2).ok());
        EXPECT_TRUE(
            incoming->write(bytes.data() + bytes.size() / 2, bytes.size() - bytes.size() / 2).ok());
        const std::string digest = must(incoming->seal());
        const auto kept = blobs_->keep(*incoming, digest);
        EXPECT_TRUE(kept.ok()) << (kept.ok() ? "" : kept.error().message);
        return digest;
    }
    std::set<std::string> all() {
        std::set<std::string> found;
        EXPECT_TRUE(blobs_
                        ->each([&](const std::string& digest) {
                            found.insert(digest);
                            return true;
                        })
                        .ok());
        return found;
    }
    std::string read_all(const std::string& digest, std::size_t step) {
        const auto reader = must(blobs_->open(digest));
        if (reader == nullptr) return "unreadable";
        std::string bytes(reader->size_bytes(), '\0');
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            const std::size_t wanted = std::min(step, bytes.size() - at);
            EXPECT_EQ(must(reader->read(at, bytes.data() + at, wanted)), wanted);
        }
        char past = 0;
        EXPECT_EQ(must(reader->read(bytes.size(), &past, 1)), 0U);
        return bytes;
    }

    std::unique_ptr<BlobsBackend> backend_;
    std::unique_ptr<Blobs> blobs_;
};

TEST_F(BlobsContract, ABlobComesBackAsItWas) {
    const std::string bytes = some_bytes(1, 9'000'001);
    const std::string digest = put(bytes);
    EXPECT_EQ(digest, sha256_of(bytes));
    EXPECT_EQ(backend_->incoming(), 0U);
    EXPECT_EQ(must(blobs_->size_bytes(digest)), bytes.size());
    EXPECT_TRUE(read_all(digest, 1'000'000) == bytes);
    EXPECT_TRUE(read_all(digest, 9'000'001) == bytes);
    std::filesystem::path path;
    {
        const auto local = blobs_->local(digest);
        ASSERT_TRUE(local.ok()) << local.error().message;
        path = local->path();
        std::ifstream file(path, std::ios::binary);
        EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == bytes);
    }
    // A fetched copy is removed with its object; a folder's own file stays.
    EXPECT_EQ(std::filesystem::exists(path), !blobs_->shared());
    EXPECT_EQ(must(blobs_->size_bytes(digest)), bytes.size());
}

TEST_F(BlobsContract, TheSameBlobTwiceIsOne) {
    const std::string digest = put("the same");
    EXPECT_EQ(put("the same"), digest);
    EXPECT_THAT(all(), SizeIs(1));
    EXPECT_EQ(read_all(digest, 3), "the same");
    EXPECT_EQ(backend_->incoming(), 0U);
}

TEST_F(BlobsContract, AnEmptyBlobIsABlob) { EXPECT_EQ(read_all(put(""), 1), ""); }

TEST_F(BlobsContract, WhatIsNotThereIsSaidSo) {
    const std::string digest = sha256_of("nobody");
    EXPECT_EQ(must(blobs_->size_bytes(digest)), std::nullopt);
    EXPECT_TRUE(blobs_->remove(digest).ok());
    const auto reader = blobs_->open(digest);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.error().kind, ErrorKind::NotFound);
    const auto local = blobs_->local(digest);
    ASSERT_FALSE(local.ok());
    EXPECT_EQ(local.error().kind, ErrorKind::NotFound);
}

TEST_F(BlobsContract, RemovesAndLists) {
    std::set<std::string> digests;
    for (unsigned i = 0; i < 12; ++i) digests.insert(put("blob " + std::to_string(i)));
    EXPECT_EQ(all(), digests);
    ASSERT_TRUE(blobs_->remove(*digests.begin()).ok());
    digests.erase(digests.begin());
    EXPECT_EQ(all(), digests);
    int seen = 0;
    EXPECT_TRUE(blobs_->each([&](const std::string&) { return ++seen < 3; }).ok());
    EXPECT_EQ(seen, 3);
}

TEST_F(BlobsContract, AnUploadThatIsDroppedLeavesNothing) {
    {
        auto incoming = blobs_->begin();
        ASSERT_TRUE(incoming.ok());
        ASSERT_TRUE(incoming->write("half", 4).ok());
        EXPECT_EQ(backend_->incoming(), 1U);
    }
    EXPECT_EQ(backend_->incoming(), 0U);
    backend_->leave_behind("torn");
    blobs_ = must(backend_->open());
    EXPECT_EQ(blobs_->leftovers_removed(), 1U);
    EXPECT_EQ(backend_->incoming(), 0U);
    EXPECT_TRUE(all().empty());
    EXPECT_GT(must(blobs_->free_bytes()), 0U);
}

TEST_F(BlobsContract, ManyAtOnce) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 6; ++i)
        threads.emplace_back([this, i] {
            const std::string bytes = some_bytes(i / 2, 300'000);
            EXPECT_TRUE(read_all(put(bytes), 70'000) == bytes);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(all(), SizeIs(3));
}

}  // namespace
}  // namespace lagtrap::server::blobs_contract_test
