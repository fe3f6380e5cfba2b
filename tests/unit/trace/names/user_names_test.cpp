#include "trace/names/user_names.hpp"

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::user_names_test {
namespace {

TEST(UserNames, AreThoseOfTheMachinesFileAndElseNumbers) {
    const TemporaryDirectory machine;
    std::filesystem::create_directories(machine.path() / "etc");
    ASSERT_TRUE(write_file(machine.path() / "etc/passwd",
                           "root:x:0:0:root:/root:/bin/bash\n"
                           "broken\n:x:5::\nnan:x:5x:5:::\nbig:x:4294967296:0:::\n"
                           "shop:x:1001:1001::/srv:/bin/sh\nalias:x:1001:1001::/srv:/bin/sh\n"
                           "odd\x1bname:x:1002:1002:::")
                    .ok());
    UserNames names(machine.path());
    EXPECT_EQ(names.name_of(0), "root");
    EXPECT_EQ(names.name_of(1001), "shop");
    EXPECT_EQ(names.name_of(1002).find('\x1b'), std::string::npos);
    EXPECT_EQ(names.name_of(5), "5");
    EXPECT_EQ(names.name_of(4'294'967'295), "4294967295");
    EXPECT_EQ(UserNames(machine.path() / "nowhere").name_of(0), "0");
}

}  // namespace
}  // namespace lagtrap::trace::user_names_test
