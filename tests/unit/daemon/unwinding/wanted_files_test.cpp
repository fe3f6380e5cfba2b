#include "daemon/unwinding/wanted_files.hpp"

#include <gtest/gtest.h>

#include "daemon/processes/mapping_build_id.hpp"
#include "settings/package_files.hpp"

namespace lagtrap::daemon::wanted_files_test {
namespace {

TEST(WantedFiles, AllFilesOfANameAreMeantUnlessItIsAPattern) {
    WantedFiles wanted;
    EXPECT_FALSE(wanted.mean({}, "/usr/bin/app"));
    EXPECT_TRUE(wanted.set({"/usr/bin/app", "/opt/*/bin/server", "/opt/*/bin/?orker"}));
    for (const char* path : {"/usr/bin/app", "/srv/app", "/srv/server", "/opt/shop/bin/worker"})
        EXPECT_TRUE(wanted.mean({}, path)) << path;
    for (const char* path :
         {"/usr/bin/app2", "/usr/bin/ap", "/app/x", "/srv/shop/bin/worker", "/opt/shop/bin/orker"})
        EXPECT_FALSE(wanted.mean({}, path)) << path;
    EXPECT_TRUE(wanted.has_file_name("/srv/app"));
    EXPECT_TRUE(wanted.has_file_name("/srv/server"));
    EXPECT_FALSE(wanted.has_file_name("/opt/shop/bin/worker")) << "a pattern is no name";
    EXPECT_FALSE(wanted.has_file_name("/opt/shop/bin/?orker"));
}

TEST(WantedFiles, WhatIsNoFileOfAFolderIsNeverMeant) {
    WantedFiles wanted;
    (void)wanted.set({"/usr/bin/app", "*", "build-id:0707"});
    EXPECT_TRUE(wanted.mean({}, "/app"));
    for (const char* path : {"", "app", "[vdso]", "//anon/app", "//app"})
        EXPECT_FALSE(wanted.mean({}, path)) << path;
}

TEST(WantedFiles, AFileWhoseBuildIdIsUnknownMayBeTheOneThatIsMeant) {
    lagtrap_mapping named{};
    set_build_id(named, "0707");
    lagtrap_mapping other{};
    set_build_id(other, "07070708");
    const lagtrap_mapping unnamed{};
    WantedFiles wanted;
    (void)wanted.set({"/usr/bin/app"});
    EXPECT_FALSE(wanted.mean(named, "/any/thing"));
    EXPECT_FALSE(wanted.mean(unnamed, "/any/thing")) << "no build id is wanted";
    (void)wanted.set({"build-id:0707"});
    EXPECT_TRUE(wanted.mean(named, "/any/thing"));
    EXPECT_FALSE(wanted.mean(other, "/any/thing"));
    EXPECT_TRUE(wanted.mean(unnamed, "/any/thing"));
    EXPECT_FALSE(wanted.mean(other, "/any/app")) << "the names before are forgotten";
}

TEST(WantedFiles, OnlyNamesThatWereNotWantedAreNew) {
    WantedFiles wanted;
    EXPECT_FALSE(wanted.set({}));
    EXPECT_TRUE(wanted.set({"/usr/bin/app", "/usr/bin/b"}));
    EXPECT_FALSE(wanted.set({"/usr/bin/app", "/usr/bin/b"}));
    EXPECT_FALSE(wanted.set({"/usr/bin/b"}));
    EXPECT_TRUE(wanted.set({"/usr/bin/app", "/usr/bin/b"})) << "it was not wanted any more";
    EXPECT_TRUE(wanted.set({"/opt/b"})) << "another path, though the name of the file is the same";
}

TEST(WantedFiles, NamesOfProcessesAreTheFirstFifteenBytes) {
    WantedFiles wanted;
    (void)wanted.set({"/usr/bin/redis-server", "/opt/sixteen-letters-", "/opt/exactly-fifteen",
                      "*/pattern?", "build-id:0707"});
    EXPECT_TRUE(wanted.may_be_of("redis-server"));
    EXPECT_TRUE(wanted.may_be_of("sixteen-letters"));
    EXPECT_TRUE(wanted.may_be_of("exactly-fifteen"));
    for (const char* name : {"", "redis", "redis-server2", "sixteen-letter", "sixteen-letters-",
                             "zzz", "pattern", "pattern?", "0707", "build-id:0707"})
        EXPECT_FALSE(wanted.may_be_of(name)) << name;
}

TEST(WantedFiles, APackageMeansItsFilesByTheirNames) {
    const auto files = settings::files_of_package("coreutils");
    ASSERT_TRUE(files->contains("/usr/bin/env")) << "Debian's package coreutils is always there";
    WantedFiles wanted;
    EXPECT_TRUE(wanted.set({"package:coreutils"}));
    EXPECT_TRUE(wanted.mean({}, "/usr/bin/env"));
    EXPECT_TRUE(wanted.may_be_of("env"));
    EXPECT_FALSE(wanted.mean({}, "/usr/bin/no-such-program"));
    EXPECT_FALSE(wanted.has_file_name("package:coreutils"));
}

}  // namespace
}  // namespace lagtrap::daemon::wanted_files_test
