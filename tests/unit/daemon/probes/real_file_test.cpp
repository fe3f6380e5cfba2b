#include "daemon/probes/real_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "core/unique_fd.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::real_file_test {
namespace {

namespace fs = std::filesystem;
using testing::StartsWith;

class RealFilesTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = fs::temp_directory_path() / "lagtrap-real-files-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        std::ofstream(folder_ / "program") << "program";
        auto loaded = RealFiles::load();
        ASSERT_TRUE(loaded) << loaded.error().message;
        files_ = std::move(*loaded);
    }
    ~RealFilesTest() override { fs::remove_all(folder_); }
    [[nodiscard]] RealFile of(const std::string& name) const {
        const UniqueFd fd(::open((folder_ / name).c_str(), O_RDONLY | O_CLOEXEC));
        const auto found = files_->of(fd.get());
        EXPECT_TRUE(found) << found.error().message;
        return found ? *found : RealFile{};
    }

    fs::path folder_;
    std::unique_ptr<RealFiles> files_;
};

TEST_F(RealFilesTest, AFileIsItsInodeHoweverItIsNamed) {
    fs::create_hard_link(folder_ / "program", folder_ / "link");
    std::ofstream(folder_ / "other") << "program";
    const RealFile program = of("program");
    EXPECT_GT(program.inode, 0U);
    EXPECT_EQ(of("link"), program);
    const RealFile other = of("other");
    EXPECT_NE(other.inode, program.inode);
    EXPECT_EQ(other.device, program.device);
}

TEST_F(RealFilesTest, OutsideOfOverlaysItIsWhatStatTells) {
    // A memory file is never in an overlay.
    const UniqueFd memory(::memfd_create("program", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
    struct stat facts {};
    ASSERT_EQ(::fstat(memory.get(), &facts), 0);
    const auto found = files_->of(memory.get());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->inode, facts.st_ino);
    EXPECT_EQ(found->device, ::major(facts.st_dev) << 20 | ::minor(facts.st_dev));
}

TEST_F(RealFilesTest, WhatCannotBeMappedIsAnError) {
    const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_CLOEXEC));
    const auto found = files_->of(folder.get());
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, StartsWith("map a file: "));
}

TEST_F(RealFilesTest, NothingStaysMapped) {
    const UniqueFd program(::open((folder_ / "program").c_str(), O_RDONLY | O_CLOEXEC));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(files_->of(program.get()));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        EXPECT_EQ(line.find(folder_.string()), std::string::npos) << line;
}

}  // namespace
}  // namespace lagtrap::daemon::real_file_test
