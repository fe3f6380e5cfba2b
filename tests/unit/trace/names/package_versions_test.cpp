#include "trace/names/package_versions.hpp"

#include <fcntl.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::package_versions_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* status = R"(Package: shop
Status: install ok installed
Architecture: amd64
Version: 2:1.4-3
Description: a shop
 Version: 9 is no field of it

Package: libshop
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 1.5

Package: shop-old
Status: deinstall ok config-files
Architecture: amd64
Version: 0.9

Package: tools
Status: install ok installed
Architecture: all
Version: 7
)";

// A machine with dpkg's files below a folder, and programs that belong to this test.
class PackageVersionsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        write("var/lib/dpkg/status", status);
        write("var/lib/dpkg/info/shop.list", "/.\n/usr\n/usr/bin\n/usr/bin/shopd\n");
        write("var/lib/dpkg/info/shop-old.list", "/usr/bin/shop-old\n");
        write("var/lib/dpkg/info/libshop:amd64.list", "/usr/lib/shop/helper\n");
        write("var/lib/dpkg/info/tools.list", "/bin/query\n");
        for (const char* program : {"usr/bin/shopd", "usr/bin/shop-old", "usr/lib/shop/helper",
                                    "usr/bin/query", "opt/own"}) {
            fs::create_directories((folder_.path() / program).parent_path());
            fs::copy_file("/proc/self/exe", folder_.path() / program);
        }
        build_id_ = binaries::read_build_id(open_file("/proc/self/exe", O_RDONLY)->get());
        ASSERT_FALSE(build_id_.empty());
    }
    void write(const std::string& name, const std::string& content) {
        fs::create_directories((folder_.path() / name).parent_path());
        std::ofstream(folder_.path() / name) << content;
    }
    TemporaryDirectory folder_;
    std::string build_id_;
};

TEST_F(PackageVersionsTest, IsThatOfThePackageThatOwnsTheProgram) {
    PackageVersions versions(folder_.path());
    EXPECT_EQ(versions.version_of("/usr/bin/shopd", build_id_), "2:1.4-3");
    EXPECT_EQ(versions.version_of("/usr/lib/shop/helper", build_id_), "1.5")
        << "a list with its architecture";
    EXPECT_EQ(versions.version_of("/usr/bin/query", build_id_), "7")
        << "a list of before /bin was a link";
}

TEST_F(PackageVersionsTest, IsEmptyWhereNoPackageDoes) {
    PackageVersions versions(folder_.path());
    EXPECT_EQ(versions.version_of("/opt/own", build_id_), "");
    EXPECT_EQ(versions.version_of("/usr/bin/shop-old", build_id_), "")
        << "its package is not installed";
    EXPECT_EQ(versions.version_of("/usr/bin/none", build_id_), "");
    EXPECT_EQ(versions.version_of("usr/bin/shopd", build_id_), "");
    PackageVersions without(folder_.path() / "usr");
    EXPECT_EQ(without.version_of("/bin/shopd", build_id_), "") << "a machine without dpkg";
}

TEST_F(PackageVersionsTest, AnotherFileOfThatNameIsNotMeant) {
    PackageVersions versions(folder_.path());
    EXPECT_EQ(versions.version_of("/usr/bin/shopd", "00112233"), "");
    EXPECT_EQ(versions.version_of("/usr/bin/shopd", ""), "");
}

TEST_F(PackageVersionsTest, DamagedFilesAreNoVersion) {
    write(
        "var/lib/dpkg/status",
        "Package: ../../etc/passwd\nStatus: install ok installed\nVersion: 1\n\nStatus\n: \n\n\n");
    PackageVersions versions(folder_.path());
    EXPECT_EQ(versions.version_of("/usr/bin/shopd", build_id_), "");
}

TEST(PackageVersions, KnowsTheFilesOfDpkgByTheirNames) {
    for (const char* path : {"/var/lib/dpkg/status", "/var/lib/dpkg/info/redis-tools.list",
                             "/var/lib/dpkg/info/libc6:amd64.list"})
        EXPECT_TRUE(is_package_file(path)) << path;
    for (const char* path :
         {"/var/lib/dpkg/info/redis-tools.postinst", "/var/lib/dpkg/info/below/x.list",
          "/var/lib/dpkg/available", "/etc/passwd", "/var/lib/dpkg/info/../../../etc/passwd.list"})
        EXPECT_FALSE(is_package_file(path)) << path;
}

TEST(PackageVersions, AgreesWithDpkg) {
    const fs::path shell = fs::canonical("/bin/sh");
    const auto build_id = binaries::read_build_id(open_file(shell, O_RDONLY)->get());
    const std::unique_ptr<FILE, int (*)(FILE*)> dpkg(
        ::popen("dpkg-query -W -f='${Version}' dash", "r"), ::pclose);
    ASSERT_TRUE(dpkg);
    std::array<char, 256> said{};
    if (std::fgets(said.data(), said.size(), dpkg.get()) == nullptr)
        GTEST_SKIP() << "no dpkg here, or no dash";
    PackageVersions versions("/");
    EXPECT_EQ(versions.version_of(shell, build_id), said.data());
}

}  // namespace
}  // namespace lagtrap::trace::package_versions_test
