#include "calls/function_sorting.hpp"

#include <gtest/gtest.h>

namespace lagtrap::calls::function_sorting_test {
namespace {

TEST(FunctionSortingTest, TheProgramAndWhatIsNotInSystemFoldersAreItsOwn) {
    EXPECT_EQ(system_file_reason("/usr/bin/redis-server", "/usr/bin/redis-server"), "");
    EXPECT_EQ(system_file_reason("/opt/shop/lib/libcart.so", "/usr/bin/shop"), "");
    EXPECT_EQ(system_file_reason("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/shop"),
              "system library");
    EXPECT_EQ(system_file_reason("/lib64/ld-linux-x86-64.so.2", "/srv/shop"), "system library");
    EXPECT_EQ(system_file_reason("[vdso]", "/srv/shop"), "code without a file");
}

TEST(FunctionSortingTest, AProgramsOwnFolderBelowTheSystemsIsItsOwn) {
    constexpr const char* postgres = "/usr/lib/postgresql/15/bin/postgres";
    EXPECT_EQ(system_file_reason("/usr/lib/postgresql/15/lib/plpgsql.so", postgres), "");
    EXPECT_NE(system_file_reason("/usr/lib/postgresql/150/lib/other.so", postgres), "");
    EXPECT_NE(system_file_reason("/usr/lib/x86_64-linux-gnu/libssl.so.3", postgres), "");
    // A folder with all libraries of an architecture does not belong to one program.
    EXPECT_NE(system_file_reason("/usr/lib/x86_64-linux-gnu/libz.so.1",
                                 "/usr/lib/x86_64-linux-gnu/helper"),
              "");
    EXPECT_NE(system_file_reason("/usr/lib/libz.so.1", "/usr/lib/helper"), "");
}

TEST(FunctionSortingTest, WhatCompilersAndLanguagesPutThereIsTheSystems) {
    EXPECT_EQ(system_function_reason("_start", "_start"), "program startup and exit");
    EXPECT_EQ(system_function_reason("malloc", "malloc"), "allocator");
    EXPECT_EQ(system_function_reason("_Znwm", "operator new(unsigned long)"), "allocator");
    EXPECT_EQ(system_function_reason("__stack_chk_fail", "__stack_chk_fail"), "compiler-generated");
    EXPECT_EQ(system_function_reason("_ZNSt6vectorIiSaIiEE9push_backEOi",
                                     "std::vector<int>::push_back(int&&)"),
              "language library");
    EXPECT_EQ(system_function_reason("x", "void std::sort<int*>(int*, int*)"), "language library");
    EXPECT_EQ(system_function_reason("x", "core::fmt::write"), "language library");
}

TEST(FunctionSortingTest, TheApplicationsOwnStaysSo) {
    for (const char* name :
         {"main", "mallocate", "process(std::string const&)", "shop::Cart::add(std::vector<int>)",
          "standard::sort", "free_list_add"})
        EXPECT_EQ(system_function_reason(name, name), "") << name;
}

}  // namespace
}  // namespace lagtrap::calls::function_sorting_test
