// The blobs' contract tests against Ceph's radosgw, and what only an S3 store must do. Argument:
// radosgw.sh.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "core/digest.hpp"
#include "server/store/s3_client.hpp"
#include "tests/unit/server_store/blobs_backend.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string endpoint;
unsigned buckets = 0;

S3Place place_of(const std::string& bucket) {
    S3Place place;
    place.endpoint = endpoint;
    place.bucket = bucket;
    place.key_id = "AKTEST";
    place.secret = "SKTEST";
    return place;
}

class S3Backend : public BlobsBackend {
  public:
    S3Backend() : bucket_("test-" + std::to_string(++buckets)) {
        std::string pattern = fs::temp_directory_path() / "lagtrap-s3-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) scratch_ = pattern;
        S3Client client(place_of(bucket_));
        S3Request request;
        request.method = "PUT";
        const auto made = client.send(request);
        EXPECT_TRUE(made.ok() && made->status == 200)
            << (made.ok() ? made->error_code : made.error().message);
    }
    ~S3Backend() override { fs::remove_all(scratch_); }

    Result<std::unique_ptr<Blobs>> open() override {
        return open_blobs(address("/some/prefix"), scratch_);
    }
    void leave_behind(const std::string& name) override {
        std::ofstream(scratch_ / "incoming" / name) << "half";
    }
    std::size_t incoming() override {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(scratch_ / "incoming"), {}));
    }
    std::string address(const std::string& prefix) const {
        return "s3://" + bucket_ + prefix + "?endpoint=" + endpoint;
    }
    const std::string& bucket() const { return bucket_; }
    const fs::path& scratch() const { return scratch_; }

  private:
    std::string bucket_;
    fs::path scratch_;
};

TEST(S3Alone, AWrongSecretIsRefused) {
    S3Backend backend;
    S3Place place = place_of(backend.bucket());
    place.secret = "wrong";
    const auto opened = open_s3_blobs(place, backend.scratch());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Denied);
    EXPECT_THAT(opened.error().message, testing::Not(HasSubstr("wrong")));
}

TEST(S3Alone, ABucketThatIsNotThereIsSaidSo) {
    const auto opened =
        open_s3_blobs(place_of("no-such-bucket"), fs::temp_directory_path() / "lagtrap-s3-none");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(opened.error().message, HasSubstr("no-such-bucket"));
    fs::remove_all(fs::temp_directory_path() / "lagtrap-s3-none");
}

TEST(S3Alone, BytesThatAreNotOfTheDigestAreNotStored) {
    S3Backend backend;
    const auto blobs = backend.open();
    ASSERT_TRUE(blobs.ok());
    auto incoming = (*blobs)->begin();
    ASSERT_TRUE(incoming.ok());
    ASSERT_TRUE(incoming->write("changed", 7).ok());
    ASSERT_TRUE(incoming->seal().ok());
    EXPECT_FALSE((*blobs)->keep(*incoming, sha256_of("as sent")).ok());
    EXPECT_EQ((*blobs)->size_bytes(sha256_of("as sent")).value(), std::nullopt);
}

TEST(S3Alone, ABlobThatHasChangedIsNoticed) {
    S3Backend backend;
    const auto blobs = backend.open();
    ASSERT_TRUE(blobs.ok());
    const std::string digest = sha256_of("as sent");
    std::FILE* file = std::tmpfile();
    std::fputs("changed", file);
    std::fflush(file);
    S3Client client(place_of(backend.bucket()));
    S3Request request;
    request.method = "PUT";
    request.key = "some/prefix/" + digest;
    request.payload_sha256 = "UNSIGNED-PAYLOAD";
    request.upload_fd = ::fileno(file);
    request.upload_bytes = 7;
    const auto put = client.send(request);
    std::fclose(file);
    ASSERT_TRUE(put.ok() && put->status == 200);
    const auto local = (*blobs)->local(digest);
    ASSERT_FALSE(local.ok());
    EXPECT_EQ(local.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(backend.incoming(), 0U);
}

TEST(S3Alone, AListOfMoreThanAPageIsWhole) {
    S3Backend backend;
    S3Client client(place_of(backend.bucket()));
    for (int i = 0; i < 1010; ++i) {
        S3Request request;
        request.method = "PUT";
        request.key = "some/prefix/" + sha256_of(std::to_string(i));
        const auto put = client.send(request);
        ASSERT_TRUE(put.ok() && put->status == 200);
    }
    const auto blobs = backend.open();
    ASSERT_TRUE(blobs.ok());
    int seen = 0;
    ASSERT_TRUE((*blobs)->each([&](const std::string&) { return ++seen > 0; }).ok());
    EXPECT_EQ(seen, 1010);
}

TEST(S3Alone, AStoreThatDoesNotAnswerIsBusy) {
    S3Place place = place_of("test-bucket");
    place.endpoint = "http://127.0.0.1:1";
    const auto opened = open_s3_blobs(place, fs::temp_directory_path() / "lagtrap-s3-none");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Busy);
    fs::remove_all(fs::temp_directory_path() / "lagtrap-s3-none");
}

}  // namespace

std::unique_ptr<BlobsBackend> make_blobs_backend() { return std::make_unique<S3Backend>(); }

}  // namespace lagtrap::server

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc != 2) return 2;
    const std::string script = argv[1];
    std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-rgw-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return 1;
    std::FILE* started = ::popen(("sh " + script + " start " + pattern).c_str(), "r");
    char line[256] = "";
    if (std::fgets(line, sizeof line, started) == nullptr) line[0] = 0;
    const int code = ::pclose(started);
    const auto end = [&](int result) {
        if (std::system(("sh " + script + " stop " + pattern).c_str()) != 0) result = 1;
        std::filesystem::remove_all(pattern);
        return result;
    };
    if (WEXITSTATUS(code) != 0) {
        std::printf("%s", line);
        return end(WEXITSTATUS(code));
    }
    lagtrap::server::endpoint = std::string(line).substr(0, std::string(line).find('\n'));
    ::setenv("AWS_ACCESS_KEY_ID", "AKTEST", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "SKTEST", 1);
    return end(RUN_ALL_TESTS());
}
