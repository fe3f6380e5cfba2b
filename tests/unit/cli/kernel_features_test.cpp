// bpf/kernel_features.cpp; here because the tests of the BPF programs replace functions of libbpf.
#include "bpf/kernel_features.hpp"

#include <linux/capability.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::bpf::kernel_features_test {

namespace {

using Names = std::vector<std::string>;

Names missing_with(const std::vector<unsigned>& numbers) {
    Capabilities own;
    own.permitted = own.inheritable = ~0ULL;
    for (const unsigned number : numbers) own.effective |= 1ULL << number;
    return missing_from(own);
}

TEST(KernelFeatures, each_capability_that_the_daemon_needs_is_asked_for) {
    constexpr unsigned perfmon = 38, bpf = 39;
    EXPECT_EQ(missing_with({}), (Names{"CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE",
                                       "CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_ADMIN"}));
    EXPECT_EQ(missing_with({CAP_SYS_ADMIN}),
              (Names{"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG"}));
    EXPECT_EQ(missing_with({bpf, CAP_SYSLOG}),
              (Names{"CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN"}));
    EXPECT_EQ(missing_with({perfmon, CAP_SYS_PTRACE}),
              (Names{"CAP_BPF", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG", "CAP_SYS_ADMIN"}));
    EXPECT_EQ(missing_with({CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG}),
              Names{});
}

TEST(KernelFeatures, a_refusal_for_want_of_privileges_is_not_a_missing_feature) {
    const Feature has = feature_of("loops", true, EPERM);
    EXPECT_EQ(has.name, "loops");
    EXPECT_EQ(has.answer, Answer::Has);
    EXPECT_EQ(has.reason, "");
    for (const auto& [number, answer] :
         {std::pair(EPERM, Answer::Refused), std::pair(EACCES, Answer::Refused),
          std::pair(EINVAL, Answer::Lacks), std::pair(ENOENT, Answer::Lacks)}) {
        const Feature found = feature_of("btf", false, number);
        EXPECT_EQ(found.answer, answer) << number;
        EXPECT_EQ(found.reason, std::strerror(number));
    }
}

TEST(KernelFeatures, are_asked_for_in_their_order) {
    Names names;
    for (const Feature& feature : ask_kernel()) names.push_back(feature.name);
    EXPECT_EQ(names, (Names{"btf", "kprobe-programs", "tracepoint-programs", "perf-event-programs",
                            "tracing-programs", "ring-buffer", "cookies", "loops", "uprobe-events",
                            "sampler", "uprobe-multi", "run-time-statistics", "detached-tracefs"}));
}

}  // namespace

}  // namespace lagtrap::bpf::kernel_features_test
