#include "daemon/kernel/shared_maps.hpp"

#include <bpf/libbpf.h>

#include <memory>

#include <gmock/gmock.h>

#include "bpf/functions.h"
#include "daemon/kernel/libbpf_support.hpp"
#include "functions.skel.h"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::shared_maps_test {
namespace {

class SharedMapsTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        keep_libbpf_messages();
        programs_ = {functions_bpf__open(), functions_bpf__destroy};
    }
    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
};

TEST_F(SharedMapsTest, TheProgramsUseTheMapOfTheDescriptor) {
    const UniqueFd map = map_of(BPF_MAP_TYPE_HASH, bpf_map__key_size(programs_->maps.runtime_names),
                                bpf_map__value_size(programs_->maps.runtime_names), 17);
    ASSERT_TRUE(share_maps({{programs_->maps.runtime_names, map.get()}}, "share").ok());
    EXPECT_EQ(bpf_map__max_entries(programs_->maps.runtime_names), 17U);
}

TEST_F(SharedMapsTest, AnErrorSaysWhatFailed) {
    const Status shared = share_maps({{programs_->maps.runtime_names, -1}}, "share the names");
    ASSERT_FALSE(shared);
    EXPECT_THAT(shared.error().message, testing::StartsWith("share the names: "));
}

}  // namespace
}  // namespace lagtrap::daemon::shared_maps_test
