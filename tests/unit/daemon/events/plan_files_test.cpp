#include "daemon/events/plan_files.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>

namespace lagtrap::daemon::plan_files_test {
namespace {

using testing::ElementsAre;

class PlanFiles : public testing::Test {
  protected:
    PlanFiles() {
        std::array<char, 32> name{"/tmp/plan-files-XXXXXX"};
        folder_ = ::mkdtemp(name.data());
        shop_ = folder_ / "shop";
        std::ofstream(shop_) << "first";
    }
    ~PlanFiles() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::shared_ptr<const WatchedFile> open() const {
        return WatchedFile::open(shop_).value();
    }
    // The time of a change has the resolution of the kernel's timer.
    void change() const {
        struct stat before {
        }, after{};
        ASSERT_EQ(::stat(shop_.c_str(), &before), 0);
        do {
            std::ofstream(shop_, std::ios::app) << ", then longer";
            ASSERT_EQ(::stat(shop_.c_str(), &after), 0);
        } while (before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
                 before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
    }
    static EventPlan plan_for(const std::shared_ptr<const WatchedFile>& file) {
        EventPlan plan;
        plan.markers.resize(2);
        plan.markers.back().places.file = file;
        return plan;
    }

    std::filesystem::path folder_;
    std::string shop_;
    WriteGuard guard_{[](const std::string&) {}};
};

TEST_F(PlanFiles, AreThoseOfItsMarkersWithoutTracepoints) {
    EXPECT_THAT(files_of(plan_for(open())), ElementsAre(shop_));
}

TEST_F(PlanFiles, AreNotUsedWhileSomebodyWritesToThem) {
    std::ofstream writer(shop_, std::ios::app);
    (void)guard_.hold(open());
    const Status found = check_not_written(guard_, {folder_ / "other", shop_});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Busy);
    EXPECT_EQ(found.error().message, shop_ + " is being written; it will be watched afterwards");
    EXPECT_TRUE(check_not_written(guard_, {folder_ / "other"}));
}

TEST_F(PlanFiles, AreNotUsedIfTheyHaveChanged) {
    const EventPlan plan = plan_for(open());
    EXPECT_TRUE(check_unchanged(guard_, plan));
    change();
    const Status found = check_unchanged(guard_, plan);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Busy);
    EXPECT_EQ(found.error().message, shop_ + " changed while it was read");
}

}  // namespace
}  // namespace lagtrap::daemon::plan_files_test
