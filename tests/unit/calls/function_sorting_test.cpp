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

TEST(FunctionSortingTest, EachSystemFolderIsKnown) {
    for (const char* folder : {"/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/",
                               "/usr/lib64/", "/usr/libexec/"})
        EXPECT_EQ(system_file_reason(std::string(folder) + "x.so", "/srv/shop"), "system library")
            << folder;
    EXPECT_EQ(system_file_reason("/usr/local/lib/x.so", "/srv/shop"), "");
}

TEST(FunctionSortingTest, AProgramsFolderEndsBeforeItsPrograms) {
    for (const char* program :
         {"/usr/lib/db/bin/db", "/usr/lib/db/sbin/db", "/usr/lib/db/lib/db", "/usr/lib/db/db"}) {
        EXPECT_EQ(system_file_reason("/usr/lib/db/plugins/x.so", program), "") << program;
        EXPECT_NE(system_file_reason("/usr/lib/db", program), "") << program;
        EXPECT_NE(system_file_reason("/usr/lib/dbx/x.so", program), "") << program;
    }
    EXPECT_NE(system_file_reason("/usr/lib/x.so", "/usr/lib/bin/db"), "");
    EXPECT_EQ(system_file_reason("/usr/lib/db-linux-x/x.so", "/usr/lib/db-linux-x/bin/db"),
              "system library");
    EXPECT_EQ(system_file_reason("/usr/lib/db/a-linux-b/x.so", "/usr/lib/db/a-linux-b/db"), "");
}

TEST(FunctionSortingTest, EachFunctionOfTheSystemIsKnown) {
    const auto reason = [](const std::string& symbol, const std::string& name) {
        return std::string(system_function_reason(symbol, name));
    };
    for (const char* name :
         {"_start", "_init", "_fini", "frame_dummy", "register_tm_clones", "deregister_tm_clones",
          "__do_global_dtors_aux", "__libc_csu_init", "__libc_csu_fini", "_dl_relocate_static_pie",
          "atexit", "at_quick_exit"})
        EXPECT_EQ(reason(name, name), "program startup and exit") << name;
    for (const char* name : {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign",
                             "aligned_alloc", "posix_memalign", "valloc", "malloc_usable_size"})
        EXPECT_EQ(reason(name, name), "allocator") << name;
    EXPECT_EQ(reason("_ZdlPv", "operator delete(void*)"), "allocator");
    for (const char* begin :
         {"__x86_", "__stack_chk_", "__asan_", "__tsan_", "__ubsan_", "__sanitizer_", "__clang_",
          "_GLOBAL__sub_I_", "__static_initialization_and_", "__cxx_global_", "__tls_init",
          "__rust_", "__gcov_", "__llvm_"})
        EXPECT_EQ(reason(std::string(begin) + "f", "f"), "compiler-generated") << begin;
    for (const char* begin : {"std::", "__gnu_cxx::", "__cxxabiv1::", "core::", "alloc::",
                              "<core::", "<alloc::", "<std::", "compiler_builtins::", "hashbrown::",
                              "gimli::", "addr2line::", "rustc_demangle::"})
        EXPECT_EQ(reason("x", std::string(begin) + "f"), "language library") << begin;
    EXPECT_EQ(reason("x", "shop::Cart* shop::find<std::string>(int)"), "");
}

}  // namespace
}  // namespace lagtrap::calls::function_sorting_test
