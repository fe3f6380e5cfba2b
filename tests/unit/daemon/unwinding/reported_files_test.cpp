#include "daemon/unwinding/reported_files.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/processes/mapping_build_id.hpp"

namespace lagtrap::daemon::reported_files_test {
namespace {

class ReportedFilesTest : public testing::Test {
  protected:
    std::shared_ptr<const ReportedFile> file_of(std::uint64_t device, std::uint64_t inode,
                                                const std::string& build_id,
                                                const std::string& path) {
        std::vector<std::uint64_t> memory((sizeof(lagtrap_mapping) + path.size()) / 8 + 1);
        auto& mapping = *reinterpret_cast<lagtrap_mapping*>(memory.data());
        mapping.device = device;
        mapping.inode = inode;
        set_build_id(mapping, build_id);
        mapping.path_bytes = static_cast<__u16>(path.size());
        std::copy(path.begin(), path.end(), reinterpret_cast<char*>(&mapping + 1));
        return files_.file_of(mapping);
    }
    ReportedFiles files_;
};

TEST_F(ReportedFilesTest, HaveWhatTheEventSays) {
    const auto file = file_of(8, 42, "c0ffee", "/bin/a b");
    EXPECT_EQ(file->device, 8U);
    EXPECT_EQ(file->inode, 42U);
    EXPECT_EQ(file->build_id, "c0ffee");
    EXPECT_EQ(file->path, "/bin/a b");
}

TEST_F(ReportedFilesTest, AreOneIfAllOfThatIsTheSame) {
    const auto file = file_of(8, 42, "c0ffee", "/bin/a");
    EXPECT_EQ(file_of(8, 42, "c0ffee", "/bin/a"), file);
    EXPECT_NE(file_of(9, 42, "c0ffee", "/bin/a"), file);
    EXPECT_NE(file_of(8, 43, "c0ffee", "/bin/a"), file);
    EXPECT_NE(file_of(8, 42, "c0ffef", "/bin/a"), file);
    EXPECT_NE(file_of(8, 42, "c0ffee", "/bin/b"), file);
}

TEST_F(ReportedFilesTest, AreForgottenWhenNobodyHasThem) {
    std::weak_ptr<const ReportedFile> file = file_of(8, 42, "", "/bin/a");
    EXPECT_TRUE(file.expired());
    const auto kept = file_of(8, 7, "", "/bin/kept");
    for (std::uint64_t inode = 100; inode < 5'000; ++inode) (void)file_of(8, inode, "", "/bin/a");
    EXPECT_EQ(file_of(8, 7, "", "/bin/kept"), kept);
}

}  // namespace
}  // namespace lagtrap::daemon::reported_files_test
