#include "daemon/objects/object_errors.hpp"

#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::object_errors_test {
namespace {

// The C++ runtime of this test, which has the functions that throw and catch.
std::string runtime() {
    Dl_info found{};
    EXPECT_NE(::dladdr(reinterpret_cast<void*>(&std::terminate), &found), 0);
    return found.dli_fname;
}

// The numbers of the files in which exceptions are thrown and caught, of a process that has mapped
// copies of the C++ runtime at these paths.
std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> files_with_exceptions(
    const std::vector<std::string>& paths) {
    MadeUpProcess process(paths);
    for (const std::string& path : paths) process.programs[path] = runtime();
    const std::atomic<bool> given_up{false};
    ProcessFiles code(process, given_up);
    EXPECT_TRUE(code.read(MadeUpProcess::pid));
    const ExceptionPlaces found = find_exceptions(code);
    std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> files;
    for (const CodePlace& place : found.throws) files.first.push_back(place.file);
    for (const CodePlace& place : found.catches) files.second.push_back(place.file);
    return files;
}

TEST(ObjectErrors, ExceptionsAreThoseOfTheRuntimesLibrary) {
    const auto [throws, catches] = files_with_exceptions(
        {"/opt/shop/shop", "/opt/shop/libother.so", "/usr/lib/libstdc++.so.6", "/lib/libc++.so.1"});
    EXPECT_THAT(throws, testing::IsSupersetOf({2U, 3U}));
    EXPECT_THAT(throws, testing::Not(testing::Contains(1U)));
    EXPECT_EQ(catches, throws);
}

TEST(ObjectErrors, AProgramMayContainTheRuntime) {
    const auto [throws, catches] = files_with_exceptions({"/opt/shop/shop"});
    EXPECT_THAT(throws, testing::ElementsAre(0U));
    EXPECT_THAT(catches, testing::ElementsAre(0U));
}

TEST(ObjectErrors, AProgramWithoutAnyHasNoPlaces) {
    MadeUpProcess process({"/opt/shop/shop"});
    const std::atomic<bool> given_up{false};
    ProcessFiles code(process, given_up);
    ASSERT_TRUE(code.read(MadeUpProcess::pid));
    EXPECT_TRUE(find_exceptions(code).throws.empty());
    EXPECT_EQ(find_errno_slot(code), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::object_errors_test
