#include "daemon/capture/client_recordings.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::client_recordings_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ClientRecordingsTest : public testing::Test {
  protected:
    ClientRecordingsTest() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-clients-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) root_ = pattern;
        make();
    }
    ~ClientRecordingsTest() override {
        recordings_.reset();
        fs::remove_all(root_);
    }
    void make() {
        recordings_.reset();
        recordings_ = std::make_unique<ClientRecordings>(context_, root_ / "clients");
    }
    std::shared_ptr<AnswerStream> begin(const std::string& session) {
        auto client = std::make_shared<AnswerStream>([] {}, StreamClient{4711, 1001});
        EXPECT_TRUE(recordings_->begin(session, client).ok());
        fs::create_directories(recordings_->folder_of(session));
        std::ofstream(recordings_->folder_of(session) / "session.json") << session;
        return client;
    }
    std::optional<MergeQueue::Work> record(const std::string& session) {
        return recordings_->take_recorded({recordings_->folder_of(session), session, "query"});
    }
    [[nodiscard]] bool is_there(const std::string& session) const {
        return fs::exists(recordings_->folder_of(session));
    }

    boost::asio::io_context context_;
    fs::path root_;
    std::unique_ptr<ClientRecordings> recordings_;
};

TEST_F(ClientRecordingsTest, AClientGetsItsBundleAndItGoesWithTheClient) {
    const auto client = begin("one");
    EXPECT_EQ(client->take(), "{\"ok\":true,\"session\":\"one\"}\n");
    EXPECT_FALSE(recordings_->is_unwanted("one"));
    EXPECT_EQ(recordings_->client_of("one")->pid, 4711);
    EXPECT_FALSE(recordings_->client_of("another"));
    const auto work = record("one");
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->output.string().starts_with((root_ / "clients").string()))
        << "not where the uploader looks";
    work->then(MergedBundle{"/bundle", ""});
    EXPECT_THAT(client->take(), HasSubstr("\"bundle\":\"/bundle\""));
    EXPECT_FALSE(is_there("one")) << "the capture is not needed any more";
    client->note_gone();
    context_.run();
    EXPECT_FALSE(recordings_->knows("one"));
    EXPECT_TRUE(fs::is_empty(root_ / "clients"));
}

TEST_F(ClientRecordingsTest, AKilledClientLeavesNothing) {
    const auto client = begin("one");
    client->note_gone();
    EXPECT_TRUE(recordings_->is_unwanted("one")) << "so the recording ends";
    EXPECT_FALSE(record("one")) << "nothing to merge";
    context_.run();
    EXPECT_TRUE(fs::is_empty(root_ / "clients"));
}

TEST_F(ClientRecordingsTest, TheFolderStaysWhileItIsMerged) {
    const auto client = begin("one");
    const auto work = record("one");
    ASSERT_TRUE(work);
    client->note_gone();
    context_.run_one();
    EXPECT_TRUE(is_there("one"));
    work->then(make_error(ErrorKind::System, "broken"));
    context_.run();
    EXPECT_FALSE(is_there("one"));
}

TEST_F(ClientRecordingsTest, AnErrorReachesTheClient) {
    const auto client = begin("one");
    (void)client->take();
    recordings_->fail("one", "the disk is full");
    EXPECT_EQ(client->take(), "{\"ok\":false,\"error\":\"the disk is full\"}\n");
}

TEST_F(ClientRecordingsTest, EndsEarlyForAClientThatHasEnough) {
    const auto client = begin("one");
    client->note_enough();
    EXPECT_TRUE(recordings_->is_unwanted("one"));
    EXPECT_TRUE(record("one")) << "it still gets the bundle";
}

TEST_F(ClientRecordingsTest, ClientsThatStayTakeNoMoreThanTheirRoom) {
    for (std::size_t i = 0; i < ClientRecordings::most; ++i) (void)begin(std::to_string(i));
    const auto refused = recordings_->begin("more", std::make_shared<AnswerStream>([] {}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
    EXPECT_FALSE(recordings_->knows("more"));
}

TEST_F(ClientRecordingsTest, WhatAnEarlierDaemonLeftIsRemoved) {
    (void)begin("one");
    const fs::path left = root_ / "clients/left";
    make();
    EXPECT_FALSE(fs::exists(root_ / "clients"));
    fs::create_directories(left);
    make();
    EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace lagtrap::daemon::client_recordings_test
