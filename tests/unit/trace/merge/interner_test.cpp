#include "trace/merge/interner.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::interner_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Interner : public Packets {
  protected:
    Interner() {
        const ModuleId app = modules_.intern("/bin/app\n", "\xab\xcd", 0, 0, {});
        modules_.at(app).load_bias = 0x1000;
        modules_.intern("/lib/plain", "", 0, 0, {});
        // frames: 0 main, 1 parse (inlined into main), 2 in a library, 3 and 4 in the kernel
        add_stack(1, LAGTRAP_STACK_USER, {0x10, 0x20});
        add_stack(2, LAGTRAP_STACK_KERNEL, {0x30, 0x40});
        auto& frames = table_.frames();
        frames[0] = {app, table_.intern_name("parse"), 0x50, table_.intern_name("/src/a.c"), 12, 1};
        frames[1] = {app,     table_.intern_name("main"), 0x50, table_.intern_name("/src/a.c"), 0,
                     no_frame};
        frames[2].name = table_.intern_name("schedule");
        frames[2].offset = 0x60;
        frames[3].offset = 0x70;
    }
    void add_stack(std::uint64_t id, lagtrap_stack_kind kind,
                   const std::vector<std::uint64_t>& addresses) {
        lagtrap_stack stack{};
        stack.stack_id = id;
        stack.pid = kind == LAGTRAP_STACK_USER ? 100 : 0;
        stack.kind = static_cast<std::uint8_t>(kind);
        stack.frame_count = static_cast<std::uint16_t>(addresses.size());
        table_.add(*reinterpret_cast<const lagtrap_stack*>(
            record_with(stack, LAGTRAP_RECORD_STACK, 1, 0,
                        {reinterpret_cast<const char*>(addresses.data()), addresses.size() * 8})));
    }
    std::uint64_t intern(const CallStack* kernel, const CallStack* user) {
        std::uint64_t number = 0;
        writer_.packet(Sequence::Samples, 5, UsesInterning::No, [&](protozero::pbf_writer& packet) {
            number = interner_.intern(kernel, user, packet);
        });
        return number;
    }
    const CallStack* user() { return table_.find(1); }
    const CallStack* kernel() { return table_.find(2); }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable table_{spaces_, 1 << 20};
    CallstackInterner interner_{table_, modules_};
};

TEST_F(Interner, AStackIsDefinedWithAllThatItNeeds) {
    EXPECT_EQ(intern(kernel(), user()), 1U);
    // The outermost frame first; inlined functions have their own frames, which follow their
    // callers. The library's second frame ends the list of places.
    EXPECT_THAT(
        packets(),
        ElementsAre(
            "3 5 flags=1 interned{paths{iid=4 text='/bin/app\\\\x0a'} build_ids{iid=4 text=abcd} "
            "mappings{iid=4 build_id=4 load_bias=4096 paths=4} functions{iid=1 text='parse'} "
            "sources{iid=2 text='/src/a.c'} "
            "frames{iid=1 function=1 mapping=4 rel_pc=4176 source=2 line=12} "
            "functions{iid=3 text='main'} "
            "frames{iid=2 function=3 mapping=4 rel_pc=4176 source=2} "
            "paths{iid=2 text='[kernel.kallsyms]'} mappings{iid=2 paths=2} "
            "functions{iid=4 text='schedule'} frames{iid=3 function=4 mapping=2 rel_pc=96} "
            "frames{iid=4 mapping=2 rel_pc=112} "
            "callstacks{iid=1 frames=2 frames=2 frames=1 frames=4 frames=3}}"));
}

TEST_F(Interner, KnownPartsAreDefinedOnce) {
    EXPECT_EQ(intern(nullptr, user()), 1U);
    EXPECT_EQ(intern(nullptr, user()), 1U);
    EXPECT_EQ(intern(kernel(), user()), 2U);
    EXPECT_EQ(intern(kernel(), nullptr), 3U);
    EXPECT_EQ(interner_.size(), 3U);
    const auto found = packets();
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[1], "3 5 ");
    EXPECT_EQ(found[2],
              "3 5 interned{paths{iid=2 text='[kernel.kallsyms]'} mappings{iid=2 paths=2} "
              "functions{iid=4 text='schedule'} frames{iid=3 function=4 mapping=2 rel_pc=96} "
              "frames{iid=4 mapping=2 rel_pc=112} "
              "callstacks{iid=2 frames=2 frames=2 frames=1 frames=4 frames=3}}");
    EXPECT_EQ(found[3], "3 5 interned{callstacks{iid=3 frames=4 frames=3}}");
}

TEST_F(Interner, NoStackHasNoNumber) {
    EXPECT_EQ(intern(nullptr, nullptr), 0U);
    EXPECT_EQ(interner_.size(), 0U);
    EXPECT_THAT(packets("interned"), IsEmpty());
}

TEST_F(Interner, NumbersBeginAnewAfterTheyWereCleared) {
    EXPECT_EQ(intern(kernel(), user()), 1U);
    interner_.clear();
    EXPECT_EQ(interner_.size(), 0U);
    EXPECT_EQ(intern(kernel(), user()), 1U);
    const auto found = packets();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1], "3 5 " + found[0].substr(found[0].find("interned")));
}

}  // namespace
}  // namespace lagtrap::trace::interner_test
