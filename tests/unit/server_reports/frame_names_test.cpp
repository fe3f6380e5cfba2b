#include "server/reports/frame_names.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::reports::frame_names_test {
namespace {

TEST(FrameNames, SuffixesOfCompilersAndLinkersAreCut) {
    for (const char* suffix :
         {".isra.0", ".constprop.0", ".part.1", ".cold", ".lto_priv.2", ".llvm.123", " [clone .x]",
          "@plt", "@@GLIBC_2.34", ".constprop.0.isra.0", ".isra.0.cold"})
        EXPECT_EQ(stable_function(std::string("parse") + suffix), "parse") << suffix;
    EXPECT_EQ(stable_function("@start"), "@start") << "nothing would be left";
    EXPECT_EQ(stable_function("[libshop.cold.so]"), "[libshop.cold.so]")
        << "a file, not a function";
    EXPECT_EQ(stable_function("shop.partial"), "shop.partial");
}

TEST(FrameNames, FilesHaveNoFolderAndLibrariesNoVersion) {
    EXPECT_EQ(stable_module("/usr/lib/libc.so.6"), "libc.so");
    EXPECT_EQ(stable_module("/usr/lib/libshop.so"), "libshop.so");
    EXPECT_EQ(stable_module("libshop.so.1.2.3"), "libshop.so");
    EXPECT_EQ(stable_module("/opt/lib.so.d/shop-2.1"), "shop-2.1");
    EXPECT_EQ(stable_module(""), "");
}

TEST(FrameNames, AnOwnerIsTheClassWithoutTemplateArguments) {
    EXPECT_EQ(owner_of("std::vector<std::pair<int, long>>::push_back(int const&)"), "std::vector");
    EXPECT_EQ(owner_of("bool shop::Cart::add<int>(std::string const&)"), "shop::Cart");
    EXPECT_EQ(owner_of("shop::run"), "shop");
    EXPECT_EQ(owner_of("run(shop::Cart)"), "run") << "arguments are no owner";
    EXPECT_EQ(owner_of("int run<shop::Cart>(int)"), "run");
    EXPECT_EQ(owner_of("(anonymous)"), "(anonymous)") << "nothing is before the arguments";
    EXPECT_EQ(owner_of("a:b"), "a:b");
}

TEST(FrameNames, RunTimeLibrariesSayNothingAboutAProgram) {
    for (const char* module :
         {"libc.so", "libpthread.so", "libm.so", "libdl.so", "librt.so", "libgcc_s.so",
          "libstdc++.so", "libc++.so", "libc++abi.so", "libjemalloc.so", "libtcmalloc.so",
          "libmimalloc.so", "ld-linux-x86-64.so", "ld-linux-aarch64.so", "ld-musl-x86_64.so",
          "[vdso]"})
        EXPECT_TRUE(is_run_time("any", module)) << module;
    for (const char* module : {"libcurl.so", "libz.so", "shop", ""})
        EXPECT_FALSE(is_run_time("any", module)) << module;
}

TEST(FrameNames, FunctionsOfRunTimesSayNothingWhereverTheyAre) {
    for (const char* function : {"std::sort<int*>",
                                 "__gnu_cxx::new_allocator<int>::allocate",
                                 "void std::swap<int>",
                                 "operator new(unsigned long)",
                                 "operator delete(void*)",
                                 "boost::asio::detail::scheduler::run",
                                 "__cxa_throw",
                                 "_Unwind_Resume",
                                 "_PyEval_EvalFrameDefault",
                                 "_PyFunction_Vectorcall",
                                 "_PyObject_MakeTpCall",
                                 "PyObject_CallObject",
                                 "PyEval_EvalCode",
                                 "cfunction_call",
                                 "method_vectorcall_FASTCALL",
                                 "runtime.mcall",
                                 "runtime.goexit",
                                 "runtime.goexit.abi0",
                                 "runtime.main",
                                 "runtime.systemstack",
                                 "runtime.systemstack.abi0",
                                 "core::ops::function::FnOnce::call_once",
                                 "std::rt::lang_start_internal",
                                 "__rust_begin_short_backtrace<()>",
                                 "_dl_fini",
                                 "start_thread"})
        EXPECT_TRUE(is_run_time(function, "shop")) << function;
    for (const char* function : {"shop::std::run", "runtime.mallocgc", "runtime.mcalls",
                                 "runtime.main_init", "PyObject_Repr", "boost::asio::read",
                                 "void shop::swap", "core::fmt::write", "dl_open", ""})
        EXPECT_FALSE(is_run_time(function, "shop")) << function;
}

}  // namespace
}  // namespace lagtrap::server::reports::frame_names_test
