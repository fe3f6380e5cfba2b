#include "daemon/events/shared_copies.hpp"

#include <future>

#include <gmock/gmock.h>

namespace lagtrap::daemon::shared_copies_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<settings::Event> events() {
    settings::Event event;
    event.begin.binary = event.end.binary = "/shop";
    event.copies = true;
    return {event};
}

class SharedCopiesTest : public testing::Test {
  protected:
    void SetUp() override {
        const RealFile real{10, 1};
        CopyTable::Processes processes;
        processes.by_file[real] = {10};
        copy_ = copies_.add({real, "shop", {"/shop", false}, "", "", root_party, true});
        ASSERT_THAT(copies_.use(std::move(processes)), IsEmpty());
        ASSERT_EQ(copies_.missing({}).size(), 1U);
        missing_ = copies_.missing({}).front();
    }
    auto leave_file() {
        return std::async(std::launch::async, [this] { return copies_.leave_file("shop"); });
    }

    SharedCopies copies_{events()};
    std::uint32_t copy_ = 0;
    CopyTable::Missing missing_;
};

TEST_F(SharedCopiesTest, AWriterWaitsForMarkersThatAreBeingAttached) {
    ASSERT_TRUE(copies_.make_room(missing_));
    copies_.begin_attaching("shop");
    auto left = leave_file();
    EXPECT_EQ(left.wait_for(20ms), std::future_status::timeout);
    copies_.end_attaching("shop", missing_, success(), false);
    EXPECT_THAT(left.get(), ElementsAre(Pair(0, copy_)));
}

TEST_F(SharedCopiesTest, AnAttemptForADisabledEventDoesNotCount) {
    copies_.begin_attaching("shop");
    copies_.end_attaching("shop", missing_, make_error(ErrorKind::Busy, "it is disabled"), true);
    EXPECT_EQ(copies_.missing({}).size(), 1U);
    EXPECT_THAT(copies_.leave_file("shop"), IsEmpty());
}

TEST_F(SharedCopiesTest, AWriterWaitsForMarkersThatAreBeingDetached) {
    CopyTable::MainFiles main_files;
    main_files.by_path["/shop"] = {10, 1};
    ASSERT_EQ(copies_.use({}, std::move(main_files)).size(), 1U);
    EXPECT_TRUE(copies_.is_leaving("shop"));
    auto left = leave_file();
    EXPECT_EQ(left.wait_for(20ms), std::future_status::timeout);
    copies_.note_detached("shop");
    EXPECT_THAT(left.get(), IsEmpty());
    EXPECT_FALSE(copies_.is_leaving("shop"));
}

}  // namespace
}  // namespace lagtrap::daemon::shared_copies_test
