// Each capture gives one bundle, whatever interrupts the merge.
#include "trace/merge/capture_bundle.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::capture_bundle_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CaptureBundleTest : public testing::Test {
  protected:
    CaptureBundleTest() {
        EXPECT_TRUE(write_session(capture_.path(), session_).ok());
        SyntheticCapture records(capture_.path(), session_);
        records.process(100, 1, "/usr/bin/served", "served");
        records.run(SyntheticCapture::make_run(0, 100, 100, 10, 90));
        records.flush();
    }
    std::vector<std::string> output() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(output_.path()))
            names.push_back(entry.path().filename().string());
        return names;
    }

    const Session session_ = synthetic_session();
    TemporaryDirectory capture_, output_;
};

TEST_F(CaptureBundleTest, MergedOnceHoweverOftenItIsAskedFor) {
    std::string name;
    {
        const auto claim = claim_capture(capture_.path(), output_.path());
        ASSERT_TRUE(claim.ok()) << claim.error().message;
        ASSERT_FALSE(claim->made);
        const auto made = bundle_capture(capture_.path(), output_.path());
        ASSERT_TRUE(made.ok()) << made.error().message;
        name = made->bundle.path.filename().string();
        EXPECT_THAT(output(), ElementsAre(name));
    }
    // The next merge finds another state of the machine, so a new bundle would have another digest.
    std::ofstream(capture_.path() / "settings.xml") << "<lagtrap/>";
    const auto again = claim_capture(capture_.path(), output_.path());
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_TRUE(again->made);
    EXPECT_EQ(again->made->bundle.path, output_.path() / name);
    EXPECT_EQ(again->made->bundle.digest, sha256_of_file(output_.path() / name).value());
    EXPECT_EQ(again->made->bundle.size_bytes, fs::file_size(output_.path() / name));
    EXPECT_TRUE(again->made->made_before);
    EXPECT_THAT(output(), ElementsAre(name));
}

TEST_F(CaptureBundleTest, ABundleThatHasLeftTheSpoolIsNotMadeAgain) {
    const auto made = bundle_capture(capture_.path(), output_.path());
    ASSERT_TRUE(made.ok()) << made.error().message;
    fs::remove(made->bundle.path);
    const auto again = claim_capture(capture_.path(), output_.path());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(again->made);
    EXPECT_TRUE(output().empty());
}

TEST_F(CaptureBundleTest, ABundleThatLacksItsNameAloneGetsIt) {
    const auto made = bundle_capture(capture_.path(), output_.path());
    ASSERT_TRUE(made.ok()) << made.error().message;
    std::string beside;
    {
        std::ifstream note(capture_.path() / "bundle.json");
        const std::string text{std::istreambuf_iterator<char>(note), {}};
        const std::size_t at = text.find("\"beside\":\"") + 10;
        beside = text.substr(at, text.find('"', at) - at);
    }
    fs::rename(made->bundle.path, output_.path() / beside);
    const auto again = claim_capture(capture_.path(), output_.path());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_THAT(output(), ElementsAre(made->bundle.path.filename().string()));
}

TEST_F(CaptureBundleTest, WhatAnEarlierMergeLeftIsRemoved) {
    std::ofstream(output_.path() / ("." + session_.id + ".a1b2c3")) << "half a bundle";
    std::ofstream(output_.path() / ".of-another.a1b2c3") << "not ours";
    ASSERT_TRUE(claim_capture(capture_.path(), output_.path()).ok());
    EXPECT_THAT(output(), ElementsAre(".of-another.a1b2c3"));
}

TEST_F(CaptureBundleTest, ATraceWithoutABundleIsRemoved) {
    EXPECT_FALSE(bundle_capture(capture_.path(), output_.path() / "missing").ok());
    EXPECT_FALSE(fs::exists(capture_.path() / "trace.pftrace"));
    ASSERT_TRUE(bundle_capture(capture_.path(), output_.path()).ok());
    EXPECT_TRUE(fs::exists(capture_.path() / "trace.pftrace"));
}

TEST_F(CaptureBundleTest, ANoteThatCannotBeWrittenLeavesNoBundle) {
    fs::create_directories(capture_.path() / "bundle.json" / "in-the-way");
    const auto made = bundle_capture(capture_.path(), output_.path());
    EXPECT_FALSE(made.ok());
    EXPECT_TRUE(output().empty());
}

TEST_F(CaptureBundleTest, OneProcessAtATimeHasACapture) {
    auto claim = claim_capture(capture_.path(), output_.path());
    ASSERT_TRUE(claim.ok()) << claim.error().message;
    const int folder = ::open(capture_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_NE(::flock(folder, LOCK_EX | LOCK_NB), 0);
    claim->lock.reset();
    EXPECT_EQ(::flock(folder, LOCK_EX | LOCK_NB), 0);
    ::close(folder);
    EXPECT_FALSE(claim_capture(capture_.path() / "missing", output_.path()).ok());
}

TEST_F(CaptureBundleTest, ANoteThatLeadsElsewhereIsRefused) {
    for (const char* note :
         {"{}", "no JSON", R"({"name":"../x","beside":"../y","digest":"","bytes":1})"}) {
        std::ofstream(capture_.path() / "bundle.json") << note;
        const auto claim = claim_capture(capture_.path(), output_.path());
        ASSERT_FALSE(claim.ok()) << note;
        EXPECT_EQ(claim.error().message, (capture_.path() / "bundle.json").string() +
                                             ": tells of no bundle of this capture");
    }
}

}  // namespace
}  // namespace lagtrap::trace::capture_bundle_test
