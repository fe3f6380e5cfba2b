#include "daemon/processes/process_texts.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace lagtrap::daemon::process_texts_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// A folder of /proc with these files.
class ProcessTexts : public testing::Test {
  protected:
    ProcessTexts() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-process-XXXXXX";
        process_ = ::mkdtemp(pattern.data());
    }
    ~ProcessTexts() override { fs::remove_all(process_); }
    void write(const char* name, const std::string& text) {
        std::ofstream(process_ / name, std::ios::binary) << text;
    }
    std::string group_in(const std::string& text) {
        write("cgroup", text);
        return control_group_of(process_);
    }
    fs::path process_;
};

TEST_F(ProcessTexts, ControlGroupsOfVersion2Count) {
    EXPECT_EQ(group_in("0::/system.slice/shop.service\n"), "/system.slice/shop.service");
    EXPECT_EQ(group_in("4:memory:/old\n1:name=systemd:/sd\n0::/new\n"), "/new");
}

TEST_F(ProcessTexts, WithoutThemThoseOfSystemdOrAnyCount) {
    EXPECT_EQ(group_in("4:memory:/old\n1:name=systemd:/sd\n0::/\n"), "/sd");
    EXPECT_EQ(group_in("4:memory:/\n3:cpu,cpuacct:/docker/7\n2:pids:/other\n"), "/docker/7");
    EXPECT_EQ(group_in("4:memory:/docker/a:b"), "/docker/a:b") << "paths can have colons";
}

TEST_F(ProcessTexts, TheRootGroupIsNone) {
    EXPECT_EQ(group_in("0::/\n"), "");
    EXPECT_EQ(group_in("no group\n\n:\n"), "");
    fs::remove(process_ / "cgroup");
    EXPECT_EQ(control_group_of(process_), "");
}

TEST_F(ProcessTexts, MappingsAreThoseOfCode) {
    write("maps",
          "1000-3000 r-xp 00002000 08:01 17   /usr/bin/shop\n"
          "3000-4000 rw-p 00004000 08:01 17   /usr/bin/shop\n"
          "not a line\n"
          "5000-6000 r-xp 00000000 00:00 0    [vdso]\n"
          "7000-8000 r-xp 00000000 08:01 18   /cut of");
    std::vector<std::string> paths;
    for_each_code_mapping(process_, 7, [&](const lagtrap_mapping& mapping, std::string_view path) {
        if (paths.empty()) {
            EXPECT_EQ(mapping.pid, 7U);
            EXPECT_EQ(mapping.start, 0x1000U);
            EXPECT_EQ(mapping.length, 0x2000U);
            EXPECT_EQ(mapping.file_offset, 0x2000U);
            EXPECT_EQ(mapping.inode, 17U);
            EXPECT_EQ(mapping.path_bytes, path.size());
        }
        paths.emplace_back(path);
        return true;
    });
    EXPECT_THAT(paths, ElementsAre("/usr/bin/shop", "[vdso]"));
    paths.clear();
    for_each_code_mapping(process_, 7, [&](const lagtrap_mapping&, std::string_view path) {
        paths.emplace_back(path);
        return false;
    });
    EXPECT_THAT(paths, ElementsAre("/usr/bin/shop")) << "it does not stop when it is told to";
}

TEST_F(ProcessTexts, UsersAreTheRealOnes) {
    write("status", "Name:\tshop 9\nUid:\t1000\t0\t0\t0\nGid:\t7\t7\t7\t7\n");
    const auto user = user_of(process_);
    ASSERT_TRUE(user) << user.error().message;
    EXPECT_EQ(*user, 1000U);
    EXPECT_FALSE(user_of(process_ / "gone"));
}

TEST_F(ProcessTexts, AProcessIsDescribedWithItsParentAndTexts) {
    fs::create_symlink("/usr/bin/shop", process_ / "exe");
    write("status", "Name:\tshop\nPPid:\t3\nUid:\t1000\t0\t0\t0\n");
    write("cmdline", std::string("shop\0--fast\0", 12));
    write("cgroup", "0::/shop.service\n");
    RecordBuffer records;
    describe_process(process_, 7, CommandLines::All, records);
    std::vector<std::string> seen;
    records.for_each([&](const lagtrap_record* record) {
        const auto& process = *reinterpret_cast<const lagtrap_process*>(record);
        EXPECT_EQ(process.pid, 7U);
        EXPECT_EQ(process.parent_pid, 3U);
        EXPECT_EQ(process.uid, 1000U);
        seen.emplace_back(reinterpret_cast<const char*>(&process + 1), process.text_bytes);
    });
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].substr(0, 14), std::string("/usr/bin/shop\0", 14));
    EXPECT_NE(seen[0].find("--fast"), std::string::npos);
    EXPECT_TRUE(seen[0].ends_with("/shop.service")) << seen[0];
    fs::remove(process_ / "exe");
    RecordBuffer none;
    describe_process(process_, 7, CommandLines::All, none);
    EXPECT_TRUE(none.empty()) << "a kernel thread has no program";
}

}  // namespace
}  // namespace lagtrap::daemon::process_texts_test
