// Names of builds from what machines report about their packages.
#include "server/ingest/package_builds.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::server::package_builds_test {
namespace {

BundleDelay delay_of(const std::string& build, const std::string& version) {
    BundleDelay delay;
    delay.build = build;
    delay.program_version = version;
    return delay;
}

TEST(PackageBuilds, AreNamedOnceByTheFirstThatKnows) {
    const auto labels = package_builds(
        {delay_of("ab", ""), delay_of("ab", "1.2-3"), delay_of("ab", "1.2-4"), delay_of("cd", "7")},
        5);
    ASSERT_EQ(labels.size(), 2U);
    EXPECT_EQ(labels[0].build, "ab");
    EXPECT_EQ(labels[0].name, "1.2-3");
    EXPECT_EQ(labels[0].at_realtime_ns, 5U);
    EXPECT_EQ(labels[1].build, "cd");
}

TEST(PackageBuilds, TakeNothingThatIsNoName) {
    EXPECT_TRUE(
        package_builds(
            {delay_of("", "1"), delay_of("ab", std::string(build_name_limit_bytes + 1, 'x'))}, 5)
            .empty());
}

TEST(PackageBuilds, AreBounded) {
    std::vector<BundleDelay> delays;
    for (std::size_t number = 0; number < 2 * named_builds_limit; ++number)
        delays.push_back(delay_of(std::to_string(number), "1"));
    EXPECT_EQ(package_builds(delays, 5).size(), named_builds_limit);
}

}  // namespace
}  // namespace lagtrap::server::package_builds_test
