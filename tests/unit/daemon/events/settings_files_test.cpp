#include "daemon/events/settings_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>

namespace lagtrap::daemon::settings_files_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Change = SettingsFiles::Change;

class SettingsFilesTest : public testing::Test {
  protected:
    SettingsFilesTest() {
        std::array<char, 32> name{"/tmp/settings-files-XXXXXX"};
        folder_ = ::mkdtemp(name.data());
        shop_ = folder_ / "shop";
        library_ = folder_ / "libshop.so";
        write(shop_, "first");
        event_.begin.binary = shop_;
        event_.end.binary = library_;
        make(false);
    }
    ~SettingsFilesTest() override { std::filesystem::remove_all(folder_); }

    void make(bool follows) {
        files_.emplace(std::vector<settings::Event>{event_}, guard_, follows);
    }
    static void write(const std::string& path, const std::string& content) {
        std::ofstream(path) << content;
    }
    void replace(const std::string& content) {
        write(folder_ / "new", content);
        std::filesystem::rename(folder_ / "new", shop_);
    }

    std::filesystem::path folder_;
    std::string shop_, library_;
    settings::Event event_;
    WriteGuard guard_{[](const std::string&) {}};
    std::optional<SettingsFiles> files_;
};

TEST_F(SettingsFilesTest, HasThePathsOfTheSettings) {
    EXPECT_THAT(files_->paths(), ElementsAre(library_, shop_));
    settings::Event event;
    event.begin.binary = "/usr/bin/shop*";
    event.end.binary = "/usr/bin/shop";
    event.stages.emplace_back().marker.binary = "/usr/lib/stage.so";
    event.stages.emplace_back();
    EXPECT_THAT(binaries_of(event), ElementsAre("/usr/bin/shop", "/usr/lib/stage.so"));
}

TEST_F(SettingsFilesTest, OpensAFileOnceAndGuardsIt) {
    EXPECT_EQ(files_->file(shop_), nullptr);
    const auto file = files_->open(shop_);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->path(), shop_);
    EXPECT_TRUE(guard_.holds(shop_));
    EXPECT_EQ(files_->open(shop_).value(), *file);
    EXPECT_EQ(files_->file(shop_), *file);
    EXPECT_THAT(files_->main_files().opened, ElementsAre(*file));
    EXPECT_THAT(files_->identities_of(event_), ElementsAre((*file)->identity()));
    const auto status = files_->status();
    ASSERT_EQ(status.size(), 1U);
    EXPECT_EQ(status.front().path, shop_);
    EXPECT_EQ(status.front().owner, ::getuid());
    EXPECT_EQ(status.front().rearmed, 0U);
}

TEST_F(SettingsFilesTest, SaysWhyAFileCannotBeOpened) {
    const auto file = files_->open(library_);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(files_->file(library_), nullptr);
    EXPECT_THAT(files_->status(), IsEmpty());
}

TEST_F(SettingsFilesTest, NoticesAReplacedFileAndOpensTheNewOne) {
    const auto first = files_->open(shop_).value();
    EXPECT_EQ(files_->look_at(shop_, false), Change::None);
    replace("second");
    EXPECT_EQ(files_->look_at(shop_, false), Change::Replaced);
    ASSERT_NE(files_->file(shop_), nullptr);
    EXPECT_FALSE(files_->file(shop_)->identity().same_file(first->identity()));
    files_->note_rearmed(shop_);
    EXPECT_EQ(files_->look_at(shop_, false), Change::None);
    replace("third");
    EXPECT_EQ(files_->look_at(shop_, false), Change::Later) << "it changed a moment ago";
    EXPECT_EQ(files_->status().front().rearmed, 1U);
    EXPECT_GT(files_->status().front().again_in, std::chrono::seconds(0));
}

TEST_F(SettingsFilesTest, WaitsForTheWriterOfAFile) {
    ASSERT_TRUE(files_->open(shop_));
    {
        const UniqueFd writer(::open(shop_.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_TRUE(writer.valid());
        EXPECT_EQ(files_->look_at(shop_, false), Change::Later);
    }
    EXPECT_EQ(files_->look_at(shop_, false), Change::Replaced);
    EXPECT_TRUE(guard_.holds(shop_));
}

TEST_F(SettingsFilesTest, FollowsAPathOnlyIfNothingIsThereAndCopiesAreWatched) {
    EXPECT_FALSE(files_->follow(library_));
    make(true);
    EXPECT_FALSE(files_->follow(shop_));
    EXPECT_TRUE(files_->follow(library_));
    EXPECT_THAT(files_->main_files().followed, ElementsAre(testing::Pair(library_, "")));
    EXPECT_EQ(files_->look_at(library_, false), Change::None);
    write(library_, "library");
    EXPECT_EQ(files_->look_at(library_, false), Change::Replaced);
    EXPECT_NE(files_->file(library_), nullptr);
    EXPECT_THAT(files_->main_files().followed, IsEmpty());
}

TEST_F(SettingsFilesTest, AFileThatIsGoneStaysOpenWhileAProcessMapsIt) {
    make(true);
    ASSERT_TRUE(files_->open(shop_));
    std::filesystem::remove(shop_);
    EXPECT_EQ(files_->look_at(shop_, true), Change::None);
    EXPECT_NE(files_->file(shop_), nullptr);
    EXPECT_EQ(files_->look_at(shop_, false), Change::Replaced);
    EXPECT_EQ(files_->file(shop_), nullptr);
    EXPECT_THAT(files_->main_files().followed, ElementsAre(testing::Pair(shop_, "")));
}

TEST_F(SettingsFilesTest, BlamesTheOwnerOfAFileThatIsSlowToRead) {
    const Error slow{ErrorKind::Timeout, 0, "reading took too long"};
    EXPECT_EQ(files_->blame(library_, slow).message, "reading took too long");
    ASSERT_TRUE(files_->open(shop_));
    const Error denied{ErrorKind::Denied, 0, "it is denied"};
    EXPECT_EQ(files_->blame(shop_, denied).message, "it is denied");
    EXPECT_FALSE(files_->status().front().slow);
    EXPECT_THAT(files_->blame(shop_, slow).message,
                testing::StartsWith("reading took too long; the file belongs to user "));
    EXPECT_TRUE(files_->status().front().slow);
    files_->note_rearmed(shop_);
    EXPECT_FALSE(files_->status().front().slow);
}

}  // namespace
}  // namespace lagtrap::daemon::settings_files_test
