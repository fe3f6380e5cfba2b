// What is asked of an S3 store, and what its answers mean. The server of these tests only replays
// prepared answers.
#include "server/store/s3_blobs.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/store/blobs.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::server::s3_blobs_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using uploader::ScriptedServer;

std::string answer_of(const std::string& status, const std::string& body = {}) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nConnection: close\r\n\r\n" + body;
}

std::string head_of(std::uint64_t bytes) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) +
           "\r\nConnection: close\r\n\r\n";
}

std::string error_answer(const std::string& status, const std::string& code) {
    return answer_of(status, "<Error><Code>" + code + "</Code></Error>");
}

const std::string digest(64, 'a');

class S3Blobs : public testing::Test {
  protected:
    S3Blobs() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-s3-XXXXXX";
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    ~S3Blobs() override { fs::remove_all(folder_); }
    Result<std::unique_ptr<Blobs>> opened(std::vector<std::string> answers) {
        server_ = std::make_unique<ScriptedServer>(std::move(answers));
        S3Place place;
        place.endpoint = server_->url();
        place.bucket = "lagtrap";
        place.prefix = "data/";
        place.region = "eu-west-1";
        place.key_id = "the-key";
        place.secret = "the-secret";
        place.session_token = "the-session";
        return open_s3_blobs(place, folder_);
    }
    // Answers further requests with these.
    std::unique_ptr<Blobs> open(std::vector<std::string> answers) {
        answers.insert(answers.begin(), answer_of("200 OK"));
        auto blobs = opened(std::move(answers));
        EXPECT_TRUE(blobs.ok()) << (blobs.ok() ? "" : blobs.error().message);
        return blobs.ok() ? std::move(blobs).value() : nullptr;
    }
    // The requests after the first, which reaches the bucket.
    std::vector<std::string> requests() {
        std::vector<std::string> all = server_->requests();
        EXPECT_FALSE(all.empty());
        if (!all.empty()) all.erase(all.begin());
        return all;
    }
    std::vector<std::string> first_lines() {
        std::vector<std::string> lines;
        for (const std::string& request : requests())
            lines.push_back(request.substr(0, request.find(" HTTP/")));
        return lines;
    }
    Status keep(Blobs& blobs, const std::string& bytes) {
        auto blob = blobs.begin();
        EXPECT_TRUE(blob.ok() && blob->write(bytes.data(), bytes.size()).ok());
        const auto sealed = blob->seal();
        EXPECT_TRUE(sealed.ok());
        return blobs.keep(*blob, *sealed);
    }

    fs::path folder_;
    std::unique_ptr<ScriptedServer> server_;
};

TEST_F(S3Blobs, TheBucketIsReachedFirst) {
    fs::create_directories(folder_ / "incoming");
    std::ofstream(folder_ / "incoming" / "leftover") << "half";
    const auto blobs = opened({answer_of("200 OK")});
    ASSERT_TRUE(blobs.ok()) << blobs.error().message;
    EXPECT_EQ((*blobs)->leftovers_removed(), 1U);
    EXPECT_TRUE((*blobs)->shared());
    EXPECT_GT((*blobs)->free_bytes().value(), 0U);
    ASSERT_EQ(server_->requests().size(), 1U);
    const std::string& request = server_->requests()[0];
    EXPECT_THAT(request, StartsWith("GET /lagtrap?list-type=2&max-keys=1 HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("Authorization: AWS4-HMAC-SHA256 Credential=the-key/"));
    EXPECT_THAT(request, HasSubstr("/eu-west-1/s3/aws4_request"));
    EXPECT_THAT(request, HasSubstr("x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4"
                                   "649b934ca495991b7852b855\r\n"));
    EXPECT_THAT(request, HasSubstr("x-amz-security-token: the-session\r\n"));
    const auto denied = opened({error_answer("403 Forbidden", "AccessDenied")});
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.error().kind, ErrorKind::Denied);
    EXPECT_EQ(denied.error().message, "S3 store: bucket lagtrap: status 403 AccessDenied");
    const auto missing = opened({error_answer("404 Not Found", "NoSuchBucket")});
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
}

TEST_F(S3Blobs, ABundleIsStoredUnderItsDigest) {
    const auto blobs = open({answer_of("200 OK")});
    const Status kept = keep(*blobs, "the bundle");
    EXPECT_TRUE(kept) << kept.error().message;
    EXPECT_TRUE(fs::is_empty(folder_ / "incoming"));
    const std::string stored = sha256_of("the bundle");
    ASSERT_EQ(requests().size(), 1U);
    const std::string request = requests()[0];
    EXPECT_THAT(request, StartsWith("PUT /lagtrap/data/" + stored + " HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("If-None-Match: *\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Type: application/zstd\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Length: 10\r\n"));
    EXPECT_THAT(request, HasSubstr("x-amz-content-sha256: " + stored + "\r\n"));
    EXPECT_THAT(request, EndsWith("\r\n\r\nthe bundle"));
}

TEST_F(S3Blobs, AnotherServerMayStoreTheSameBundle) {
    const auto blobs =
        open({error_answer("412 Precondition Failed", "PreconditionFailed"),
              error_answer("409 Conflict", "Busy"), head_of(1),
              error_answer("409 Conflict", "Busy"), answer_of("404 Not Found"),
              error_answer("403 Forbidden", "QuotaExceeded"), answer_of("400 Bad Request")});
    EXPECT_TRUE(keep(*blobs, "1")) << "it is there already";
    EXPECT_TRUE(keep(*blobs, "2")) << "it has become there";
    const Status storing = keep(*blobs, "3");
    ASSERT_FALSE(storing);
    EXPECT_EQ(storing.error().kind, ErrorKind::Busy);
    EXPECT_EQ(storing.error().message, "S3 store: another server is storing the same bundle");
    const Status full = keep(*blobs, "4");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().system_errno, ENOSPC);
    EXPECT_EQ(full.error().message, "S3 store: storing a bundle: status 403 QuotaExceeded");
    const Status wrong = keep(*blobs, "5");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::System);
    EXPECT_EQ(wrong.error().message, "S3 store: storing a bundle: status 400");
}

TEST_F(S3Blobs, SizesAreAskedWithoutTheBytes) {
    const auto blobs = open({head_of(77), answer_of("404 Not Found"), answer_of("403 Forbidden"),
                             answer_of("404 Not Found")});
    EXPECT_EQ(blobs->size_bytes(digest).value(), std::optional<std::uint64_t>(77));
    EXPECT_EQ(blobs->size_bytes(digest).value(), std::nullopt);
    const auto denied = blobs->size_bytes(digest);
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.error().message, "S3 store: looking for a bundle: status 403");
    const auto missing = blobs->open(digest);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(missing.error().message, "there is no bundle " + digest);
    const std::string asked = "HEAD /lagtrap/data/" + digest;
    EXPECT_THAT(first_lines(), ElementsAre(asked, asked, asked, asked));
}

TEST_F(S3Blobs, PiecesGoOnWhereTheLastOneEnded) {
    const std::string first(4 << 20, 'x');
    const auto blobs = open({head_of(first.size() + 3), answer_of("206 Partial Content", first),
                             answer_of("206 Partial Content", "end")});
    const auto reader = blobs->open(digest);
    ASSERT_TRUE(reader.ok());
    std::string all(first.size() + 10, '\0');
    EXPECT_EQ((*reader)->read(0, all.data(), all.size()).value(), first.size() + 3);
    EXPECT_EQ(all.substr(first.size() - 1, 4), "xend");
    EXPECT_EQ((*reader)->size_bytes(), first.size() + 3);
    // Of the piece that is there, nothing is asked again.
    EXPECT_EQ((*reader)->read(first.size() + 1, all.data(), 1).value(), 1U);
    EXPECT_EQ(all.front(), 'n');
    EXPECT_EQ((*reader)->read(first.size() + 3, all.data(), 1).value(), 0U);
    const auto asked = requests();
    ASSERT_EQ(asked.size(), 3U);
    EXPECT_THAT(asked[1], HasSubstr("Range: bytes=0-4194303\r\n"));
    EXPECT_THAT(asked[2], HasSubstr("Range: bytes=4194304-4194306\r\n"));
}

TEST_F(S3Blobs, PartOfABundleIsNoBundle) {
    const auto blobs = open({head_of(9), answer_of("206 Partial Content", "short"), head_of(9),
                             answer_of("206 Partial Content", "much too long"), head_of(9),
                             answer_of("404 Not Found")});
    std::string read(9, '\0');
    for (int i = 0; i < 2; ++i) {
        const auto reader = blobs->open(digest);
        const auto got = reader.value()->read(0, read.data(), 9);
        ASSERT_FALSE(got.ok());
        EXPECT_EQ(got.error().kind, ErrorKind::Busy);
        EXPECT_EQ(got.error().message, "S3 store: a bundle was not sent whole");
    }
    const auto reader = blobs->open(digest);
    const auto gone = reader.value()->read(0, read.data(), 9);
    ASSERT_FALSE(gone.ok());
    EXPECT_EQ(gone.error().message, "S3 store: reading a bundle: status 404");
}

TEST_F(S3Blobs, AFileOfABundleHasItsDigest) {
    const auto blobs = open({head_of(5), answer_of("206 Partial Content", "hello"), head_of(5),
                             answer_of("206 Partial Content", "other")});
    const std::string hello = sha256_of("hello");
    fs::path path;
    {
        const auto local = blobs->local(hello);
        ASSERT_TRUE(local.ok()) << local.error().message;
        path = local->path();
        std::ifstream file(path);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
    }
    EXPECT_FALSE(fs::exists(path)) << "it is temporary";
    const auto changed = blobs->local(hello);
    ASSERT_FALSE(changed.ok());
    EXPECT_EQ(changed.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(changed.error().message,
              "S3 store: bundle " + hello + " has changed; its digest is " + sha256_of("other"));
    EXPECT_TRUE(fs::is_empty(folder_ / "incoming"));
}

TEST_F(S3Blobs, AMissingBundleIsRemovedAlready) {
    const auto blobs =
        open({answer_of("204 No Content"), answer_of("200 OK"), answer_of("404 Not Found"),
              error_answer("403 Forbidden", "AccessDenied")});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(blobs->remove(digest)) << i;
    const Status denied = blobs->remove(digest);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().message, "S3 store: removing a bundle: status 403 AccessDenied");
    const std::string asked = "DELETE /lagtrap/data/" + digest;
    EXPECT_THAT(first_lines(), ElementsAre(asked, asked, asked, asked));
}

std::string list_of(const std::vector<std::string>& keys, const std::string& token = {}) {
    std::string xml = "<ListBucketResult>";
    for (const std::string& key : keys) xml += "<Contents><Key>" + key + "</Key></Contents>";
    if (!token.empty()) xml += "<NextContinuationToken>" + token + "</NextContinuationToken>";
    return answer_of("200 OK", xml + "</ListBucketResult>");
}

TEST_F(S3Blobs, ListsComeInPartsAndHaveOnlyDigests) {
    const std::string other(64, 'b');
    const auto blobs =
        open({list_of({"data/" + digest, "data/readme", "data/" + digest + "x"}, "a/b=c~"),
              list_of({"data/" + other}), list_of({"data/" + digest, "data/" + other}, "more"),
              answer_of("403 Forbidden")});
    std::vector<std::string> found;
    const auto take_all = [&](const std::string& one) {
        found.push_back(one);
        return true;
    };
    EXPECT_TRUE(blobs->each(take_all));
    EXPECT_THAT(found, ElementsAre(digest, other));
    found.clear();
    EXPECT_TRUE(blobs->each([&](const std::string& one) {
        found.push_back(one);
        return false;
    }));
    EXPECT_THAT(found, ElementsAre(digest));
    const Status denied = blobs->each(take_all);
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().message, "S3 store: listing bundles: status 403");
    const std::string list = "list-type=2&prefix=data%2F";
    EXPECT_THAT(first_lines(), ElementsAre("GET /lagtrap?" + list,
                                           "GET /lagtrap?continuation-token=a%2Fb%3Dc~&" + list,
                                           "GET /lagtrap?" + list, "GET /lagtrap?" + list));
}

TEST_F(S3Blobs, WhatMayPassIsTriedAgain) {
    for (const char* status :
         {"500 Internal Server Error", "408 Request Timeout", "429 Too Many Requests"}) {
        const auto blobs = open({answer_of(status), head_of(5)});
        EXPECT_EQ(blobs->size_bytes(digest).value(), std::optional<std::uint64_t>(5)) << status;
    }
    const auto blobs = open(std::vector<std::string>(4, error_answer("507 Full", "NoSpace")));
    const Status full = keep(*blobs, "1");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, ErrorKind::Busy);
    EXPECT_EQ(full.error().system_errno, ENOSPC);
    EXPECT_EQ(full.error().message, "S3 store: PUT: status 507 NoSpace");
    EXPECT_EQ(requests().size(), 4U);
    EXPECT_THAT(requests()[3], EndsWith("\r\n\r\n1")) << "its bytes are sent again";
}

}  // namespace
}  // namespace lagtrap::server::s3_blobs_test
