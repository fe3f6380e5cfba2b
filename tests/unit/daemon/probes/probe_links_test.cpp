// Probes at functions of this program, which count their hits by cookie.
#include "daemon/probes/probe_links.hpp"

#include <bpf/libbpf.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "bpf/functions.h"
#include "functions.skel.h"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon {

[[gnu::noinline]] void probe_links_test_one() { asm volatile("nop; nop; nop"); }
[[gnu::noinline]] void probe_links_test_two() { asm volatile("nop; nop; nop; nop"); }

namespace probe_links_test {
namespace {

using testing::StartsWith;

class ProbeLinksTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        keep_libbpf_messages();
        programs_ = {functions_bpf__open(), functions_bpf__destroy};
        const auto& all = programs_->progs;
        expect_uprobes({all.on_call, all.on_call_exit, all.on_call_return, all.on_runtime_entry,
                        all.on_runtime_return});
        programs_->rodata->target_pid = static_cast<std::uint32_t>(::getpid());
        ASSERT_EQ(functions_bpf__load(programs_.get()), 0);
    }
    [[nodiscard]] ProbeRequest request(std::vector<unsigned long> offsets,
                                       std::vector<std::uint64_t> cookies) const {
        ProbeRequest made;
        made.program = programs_->progs.on_call;
        made.doing = "watch two functions";
        made.file = WatchedFile::open("/proc/self/exe").value();
        made.offsets = std::move(offsets);
        made.cookies = std::move(cookies);
        return made;
    }
    [[nodiscard]] lagtrap_traced_function counts(std::uint32_t cookie) const {
        lagtrap_traced_function read{};
        EXPECT_EQ(bpf_map__lookup_elem(programs_->maps.functions, &cookie, sizeof(cookie), &read,
                                       sizeof(read), 0),
                  0);
        return read;
    }
    static unsigned long offset_of(OwnCode code) { return own_file_offset(code).value(); }

    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
};

TEST_F(ProbeLinksTest, EachProbeHasItsCookie) {
    const auto links = attach_probes(
        {request({offset_of(probe_links_test_one), offset_of(probe_links_test_two)}, {7, 9})});
    ASSERT_TRUE(links) << links.error().message;
    probe_links_test_one();
    probe_links_test_two();
    probe_links_test_two();
    EXPECT_EQ(counts(7).probes.hits, 1U);
    EXPECT_EQ(counts(9).probes.hits, 2U);
}

TEST_F(ProbeLinksTest, TheyEndWithTheLinks) {
    {
        const auto links = attach_probes({request({offset_of(probe_links_test_one)}, {7})});
        ASSERT_TRUE(links) << links.error().message;
    }
    probe_links_test_one();
    EXPECT_EQ(counts(7).probes.hits, 0U);
}

TEST_F(ProbeLinksTest, AReturnProbeIsHitAtTheReturn) {
    ProbeRequest at_return = request({offset_of(probe_links_test_one)}, {7});
    at_return.program = programs_->progs.on_call_return;
    at_return.return_probe = true;
    const auto links = attach_probes({at_return, request({offset_of(probe_links_test_one)}, {7})});
    ASSERT_TRUE(links) << links.error().message;
    probe_links_test_one();
    EXPECT_EQ(counts(7).probes.hits, 1U);
    EXPECT_EQ(counts(7).calls, 1U) << "that it returned was seen";
}

TEST_F(ProbeLinksTest, OneThatTheKernelRefusesIsAnErrorAndNoneIsLeft) {
    const auto links =
        attach_probes({request({offset_of(probe_links_test_one)}, {7}),
                       request({static_cast<unsigned long>(no_function().entry)}, {9})});
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, StartsWith("watch two functions: probe: "));
    probe_links_test_one();
    EXPECT_EQ(counts(7).probes.hits, 0U);
}

TEST_F(ProbeLinksTest, AMissingTracepointIsAnError) {
    ProbeRequest tracepoint;
    tracepoint.program = programs_->progs.on_call;
    tracepoint.doing = "watch a tracepoint";
    tracepoint.cookies = {7};
    tracepoint.tracepoint_id = UINT32_MAX;
    const auto links = attach_probes({tracepoint});
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, StartsWith("watch a tracepoint: "));
}

}  // namespace
}  // namespace probe_links_test
}  // namespace lagtrap::daemon
