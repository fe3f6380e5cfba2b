#include "settings/package_files.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

namespace lagtrap::settings::package_files_test {
namespace {

namespace fs = std::filesystem;
using testing::UnorderedElementsAre;

class PackageFilesTest : public testing::Test {
  protected:
    PackageFilesTest() {
        std::string pattern = (fs::temp_directory_path() / "lagtrap-packages-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~PackageFilesTest() override { fs::remove_all(folder_); }

    // As dpkg does: the new list replaces the old one.
    void install(const std::string& list, const std::string& paths) const {
        std::ofstream(folder_ / "new") << paths;
        fs::rename(folder_ / "new", folder_ / list);
        fs::last_write_time(folder_,
                            fs::last_write_time(folder_) + std::chrono::seconds(++installed_));
    }
    [[nodiscard]] std::set<std::string, std::less<>> files(const std::string& package) const {
        return *files_of_package(package, folder_);
    }

    fs::path folder_;
    mutable int installed_ = 0;
};

TEST_F(PackageFilesTest, AreThoseThatMayBeCode) {
    install("shop.list",
            "/.\n/bin\n/bin/buy\n/etc/shop.conf\n/usr/share/doc/shop/README\n/opt/shop/lib/"
            "libpay.so.1\n");
    EXPECT_THAT(files("shop"), UnorderedElementsAre("/.", "/bin", "/bin/buy", "/usr/bin/buy",
                                                    "/opt/shop/lib/libpay.so.1"));
    EXPECT_THAT(files("sho"), testing::IsEmpty());
}

TEST_F(PackageFilesTest, OfSeveralArchitecturesAreAllOrThoseOfOne) {
    install("libpay1:amd64.list", "/usr/lib/x86_64-linux-gnu/libpay.so.1\n");
    install("libpay1:i386.list", "/usr/lib/i386-linux-gnu/libpay.so.1\n");
    install("libpay10:amd64.list", "/usr/lib/x86_64-linux-gnu/libpay.so.10\n");
    EXPECT_THAT(files("libpay1"), UnorderedElementsAre("/usr/lib/x86_64-linux-gnu/libpay.so.1",
                                                       "/usr/lib/i386-linux-gnu/libpay.so.1"));
    EXPECT_THAT(files("libpay1:i386"), UnorderedElementsAre("/usr/lib/i386-linux-gnu/libpay.so.1"));
}

TEST_F(PackageFilesTest, AreReadAnewWhenAPackageChanged) {
    install("shop.list", "/usr/bin/shop\n");
    EXPECT_THAT(files("shop"), UnorderedElementsAre("/usr/bin/shop"));
    install("shop.list", "/usr/bin/shop\n/usr/bin/shop-2\n");
    EXPECT_THAT(files("shop"), UnorderedElementsAre("/usr/bin/shop", "/usr/bin/shop-2"));
}

TEST_F(PackageFilesTest, ANameIsNoPath) {
    EXPECT_TRUE(is_package_name("libstdc++6"));
    EXPECT_TRUE(is_package_name("libssl3:amd64"));
    for (const char* name : {"", "a", "../shop", "shop/x", "Shop", "-shop", "shop*", ".shop"})
        EXPECT_FALSE(is_package_name(name)) << name;
    EXPECT_THAT(*files_of_package("../shop", folder_), testing::IsEmpty());
}

}  // namespace
}  // namespace lagtrap::settings::package_files_test
