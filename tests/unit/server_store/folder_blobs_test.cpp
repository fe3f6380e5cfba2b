#include "server/store/folder_blobs.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/store/incoming_blob.hpp"
#include "server/store/scratch_folder.hpp"

namespace lagtrap::server::folder_blobs_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class FolderBlobsTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-folder-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::unique_ptr<Blobs> open() {
        auto opened = open_folder_blobs(folder_);
        EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
        return opened.ok() ? std::move(opened).value() : nullptr;
    }
    static std::string keep(Blobs& blobs, const std::string& bytes) {
        auto incoming = blobs.begin();
        EXPECT_TRUE(incoming.ok());
        EXPECT_TRUE(incoming->write(bytes.data(), bytes.size()).ok());
        const auto digest = incoming->seal();
        EXPECT_TRUE(digest.ok());
        EXPECT_TRUE(blobs.keep(*incoming, *digest).ok());
        return *digest;
    }
    static unsigned mode_of(const fs::path& path) {
        return static_cast<unsigned>(fs::status(path).permissions());
    }

    fs::path folder_;
};

TEST_F(FolderBlobsTest, ABlobIsAFileNamedByItsDigestInAFolderOfItsFirstDigits) {
    const auto blobs = open();
    const std::string digest = keep(*blobs, "hello");
    EXPECT_EQ(digest, sha256_of("hello"));
    const fs::path path = folder_ / "blobs" / digest.substr(0, 2) / digest.substr(2);
    EXPECT_EQ(fs::file_size(path), 5U);
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(mode_of(path.parent_path()) & 0007U, 0U) << "others have no business there";
    EXPECT_EQ(mode_of(folder_ / "incoming") & 0007U, 0U);
    EXPECT_EQ(blobs->local(digest)->path(), path);
    EXPECT_TRUE(fs::exists(path)) << "a local blob is the file itself";
    EXPECT_FALSE(blobs->shared());
    EXPECT_TRUE(blobs->remove(digest).ok());
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(FolderBlobsTest, OtherFilesAreNoBlobs) {
    const auto blobs = open();
    const std::string digest = keep(*blobs, "hello");
    fs::create_directories(folder_ / "blobs" / "ab");
    std::ofstream(folder_ / "blobs" / "ab" / "notes.txt") << "x";
    std::vector<std::string> found;
    ASSERT_TRUE(blobs->each([&](const std::string& one) {
        found.push_back(one);
        return true;
    }));
    EXPECT_THAT(found, ElementsAre(digest));
}

TEST_F(FolderBlobsTest, WhatAnEarlierServerReceivedHalfIsRemovedAndCounted) {
    open();
    for (const char* name : {"one", "two", "three"}) std::ofstream(folder_ / "incoming" / name);
    EXPECT_EQ(open()->leftovers_removed(), 3U);
    EXPECT_EQ(open()->leftovers_removed(), 0U);
    fs::create_directories(folder_ / "incoming" / "folder");
    const auto opened = open_folder_blobs(folder_);
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message, HasSubstr("removing "));
}

TEST_F(FolderBlobsTest, ReadsPartsAndNothingBehindTheEnd) {
    const auto blobs = open();
    const auto reader = blobs->open(keep(*blobs, "0123456789"));
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->size_bytes(), 10U);
    char bytes[20];
    const auto read = (*reader)->read(7, bytes, sizeof bytes);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(std::string(bytes, *read), "789");
    const auto middle = (*reader)->read(2, bytes, 3);
    ASSERT_TRUE(middle.ok());
    EXPECT_EQ(std::string(bytes, *middle), "234");
    EXPECT_EQ(*(*reader)->read(11, bytes, 1), 0U);
}

TEST_F(FolderBlobsTest, FolderOfAnAddressIsAFolder) {
    const auto opened = open_blobs(folder_ / "blobs here", folder_ / "unused");
    ASSERT_TRUE(opened.ok());
    EXPECT_TRUE(fs::is_directory(folder_ / "blobs here" / "incoming"));
    EXPECT_FALSE(open_blobs("s3://no", folder_).ok());
    EXPECT_FALSE(fs::exists("s3:"));
}

TEST_F(FolderBlobsTest, AFolderThatCannotBeMadeIsAnError) {
    std::ofstream(folder_ / "file") << "x";
    EXPECT_FALSE(open_folder_blobs(folder_ / "file").ok());
}

TEST_F(FolderBlobsTest, AnIncomingBlobIsAPrivateFileUntilItIsForgotten) {
    auto made = IncomingBlob::make(folder_);
    ASSERT_TRUE(made.ok());
    const fs::path path = made->path();
    EXPECT_EQ(path.parent_path(), folder_);
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_NE(::fcntl(made->fd(), F_GETFD) & FD_CLOEXEC, 0);
    ASSERT_TRUE(made->write("ab", 2).ok());
    EXPECT_EQ(made->size_bytes(), 2U);
    {
        IncomingBlob moved(std::move(*made));
        EXPECT_EQ(moved.size_bytes(), 2U);
        EXPECT_EQ(moved.path(), path);
        ASSERT_TRUE(moved.write("c", 1).ok());
        EXPECT_EQ(moved.size_bytes(), 3U);
        const auto digest = moved.seal();
        ASSERT_TRUE(digest.ok());
        EXPECT_EQ(*digest, sha256_of("abc"));
        EXPECT_EQ(fs::file_size(path), 3U);
        moved.forget();
    }
    EXPECT_TRUE(fs::exists(path));
    fs::path dropped;
    {
        auto other = IncomingBlob::make(folder_);
        ASSERT_TRUE(other.ok());
        dropped = other->path();
        EXPECT_TRUE(fs::exists(dropped));
    }
    EXPECT_FALSE(fs::exists(dropped));
    const auto nowhere = IncomingBlob::make(folder_ / "none");
    ASSERT_FALSE(nowhere.ok());
    EXPECT_THAT(nowhere.error().message, HasSubstr("storing the bundle"));
}

TEST_F(FolderBlobsTest, AFullDiskIsSaid) {
    IncomingBlob full(UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), {});
    const Status written = full.write("x", 1);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().system_errno, ENOSPC);
    EXPECT_THAT(written.error().message, HasSubstr("storing the bundle"));
    EXPECT_EQ(full.size_bytes(), 0U);
}

TEST_F(FolderBlobsTest, AScratchFolderIsMadeEmptied) {
    const auto made = make_empty(folder_ / "a" / "b");
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(*made, 0U);
    EXPECT_EQ(mode_of(folder_ / "a" / "b") & 0007U, 0U);
    std::ofstream(folder_ / "a" / "b" / "file") << "x";
    EXPECT_EQ(paths_in(folder_ / "a" / "b")->size(), 1U);
    EXPECT_EQ(*make_empty(folder_ / "a" / "b"), 1U);
    EXPECT_TRUE(paths_in(folder_ / "a" / "b")->empty());
    const auto missing = paths_in(folder_ / "none");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().system_errno, ENOENT);
    EXPECT_THAT(missing.error().message, HasSubstr("listing "));
    EXPECT_EQ(free_bytes_at(folder_ / "none").error().system_errno, ENOENT);
    EXPECT_GT(*free_bytes_at(folder_), 4096U);
}

}  // namespace
}  // namespace lagtrap::server::folder_blobs_test
