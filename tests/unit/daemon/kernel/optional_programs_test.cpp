// Programs of tracepoints, and of iterators, with the programs that trace functions and record.
#include "daemon/kernel/optional_programs.hpp"

#include <bpf/libbpf.h>

#include <array>
#include <memory>

#include <gmock/gmock.h>

#include "functions.skel.h"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::optional_programs_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class OptionalProgramsTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        programs_ = {functions_bpf__open(), functions_bpf__destroy};
        optional_ = {programs_->progs.count_off_cpu};
    }
    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
    std::array<bpf_program*, 1> optional_{};
};

TEST_F(OptionalProgramsTest, WhatTheKernelHasIsLoadedAndAttached) {
    leave_out_missing(optional_);
    EXPECT_TRUE(bpf_program__autoload(optional_[0])) << "every kernel has sched_switch";
    ASSERT_EQ(functions_bpf__load(programs_.get()), 0);
    EXPECT_THAT(loaded_fds(optional_), ElementsAre(bpf_program__fd(optional_[0])));
    const auto links = attach_loaded(optional_);
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_THAT(*links, SizeIs(1));
}

TEST_F(OptionalProgramsTest, WhatTheKernelLacksIsLeftOut) {
    // Its section is "uprobe", which is no tracepoint.
    std::array<bpf_program*, 1> missing{programs_->progs.on_call};
    leave_out_missing(missing);
    EXPECT_FALSE(bpf_program__autoload(missing[0]));
    ASSERT_EQ(functions_bpf__load(programs_.get()), 0);
    EXPECT_THAT(loaded_fds(missing), IsEmpty());
    const auto links = attach_loaded(missing);
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_THAT(*links, IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::optional_programs_test
