#include "daemon/objects/object_memory.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <atomic>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::object_memory_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
std::string real_libc() {
    Dl_info found{};
    ::dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &found);
    return found.dli_fname;
}

class ObjectMemory : public testing::Test {
  protected:
    void map(const std::string& path, const std::string& content) {
        process_.paths.push_back(path);
        process_.programs[path] = content;
    }
    void map_own(const std::string& path) { map(path, MadeUpProcess::own_allocator()); }
    ObjectPlan found(bool wanted = true) {
        ProcessFiles code(process_, given_up_);
        code.begin_anew();
        EXPECT_TRUE(code.read(MadeUpProcess::pid));
        ObjectPlan plan;
        find_memory(code, wanted, plan);
        return plan;
    }

    MadeUpProcess process_{{"/opt/shop/shop"}};
    std::atomic<bool> given_up_{false};
};

TEST_F(ObjectMemory, IsCountedOnRequestAlone) {
    map_own("/opt/libown.so");
    const ObjectPlan plan = found(false);
    EXPECT_EQ(plan.reported.memory, "not requested");
    EXPECT_THAT(plan.memory, IsEmpty());
}

TEST_F(ObjectMemory, EachFunctionOfAnAllocatorHasItsKindAndSize) {
    map_own("/opt/libown.so");
    const ObjectPlan plan = found();
    EXPECT_EQ(plan.reported.memory, "");
    EXPECT_EQ(plan.memory_file, 1U);
    EXPECT_TRUE(plan.memory_by_request);
    using Row = std::tuple<std::string, lagtrap_memory_kind, unsigned, bool>;
    std::vector<Row> rows;
    for (const MemoryFunction& one : plan.memory)
        rows.emplace_back(one.name, one.kind, one.size_from, one.size_times);
    EXPECT_THAT(rows, ElementsAre(Row{"malloc", LAGTRAP_MEMORY_TAKE, 7, false},
                                  Row{"calloc", LAGTRAP_MEMORY_TAKE, 7, true},
                                  Row{"memalign", LAGTRAP_MEMORY_TAKE, 6, false},
                                  Row{"aligned_alloc", LAGTRAP_MEMORY_TAKE, 6, false},
                                  Row{"valloc", LAGTRAP_MEMORY_TAKE, 7, false},
                                  Row{"realloc", LAGTRAP_MEMORY_CHANGE, 6, false},
                                  Row{"free", LAGTRAP_MEMORY_GIVE, 7, false},
                                  Row{"posix_memalign", LAGTRAP_MEMORY_TAKE_BEHIND, 2, false},
                                  Row{"_Znwm", LAGTRAP_MEMORY_TAKE, 7, false},
                                  Row{"_ZnwmRKSt9nothrow_t", LAGTRAP_MEMORY_TAKE, 7, false},
                                  Row{"_ZdaPv", LAGTRAP_MEMORY_GIVE, 7, false}))
        << "_ZdlPv is free, and _Znam has no exit";
    for (const MemoryFunction& one : plan.memory) {
        EXPECT_NE(one.entry, 0U);
        EXPECT_FALSE(one.first_code.empty());
        EXPECT_EQ(one.exits.empty(), one.name != "_Znwm") << "exceptions may pass there alone";
    }
    EXPECT_THAT(plan.reported.notes,
                ElementsAre("memory from operator new[](unsigned long) is not counted: its returns "
                            "cannot be probed",
                            "memory is that of libown.so, by requested sizes; freeing blocks "
                            "allocated before the trace, or by other calls, is not counted"));
}

TEST_F(ObjectMemory, TheCLibrariesBlocksHaveTheirSize) {
    map("/usr/lib/libc.so.6", real_libc());
    const ObjectPlan plan = found();
    EXPECT_EQ(plan.reported.memory, "");
    EXPECT_EQ(plan.memory_file, 1U);
    EXPECT_FALSE(plan.memory_by_request);
    EXPECT_THAT(plan.reported.notes, IsEmpty());
    std::vector<std::string> names;
    for (const MemoryFunction& one : plan.memory) names.push_back(one.name);
    EXPECT_THAT(names, Contains("malloc"));
    EXPECT_THAT(names, Contains("free"));
}

TEST_F(ObjectMemory, AnAllocatorComesBeforeTheCLibrarys) {
    map("/usr/lib/libc.so.6", real_libc());
    map_own("/usr/lib/ld-linux-x86-64.so.2");
    EXPECT_EQ(found().memory_file, 1U) << "the loader's is used before the program starts";
    map_own("/opt/libown.so");
    EXPECT_EQ(found().memory_file, 3U);
}

TEST_F(ObjectMemory, SanitizersAreLeftAlone) {
    map_own("/usr/lib/libasan.so.8");
    const ObjectPlan plan = found();
    EXPECT_EQ(plan.reported.memory,
              "libasan.so.8 is the allocator, which walks the stack that return probes change");
    EXPECT_THAT(plan.memory, IsEmpty());
    EXPECT_FALSE(plan.memory_by_request);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::object_memory_test
