// The conclusions of `lagtrap doctor` from a kernel's answers.
#include <algorithm>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "cli/doctor/doctor_findings.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::doctor_tests {
namespace {

using bpf::Answer;
using bpf::Feature;
using testing::HasSubstr;

const char* const all_features[] = {"btf",
                                    "kprobe-programs",
                                    "tracepoint-programs",
                                    "perf-event-programs",
                                    "tracing-programs",
                                    "ring-buffer",
                                    "cookies",
                                    "loops",
                                    "uprobe-events",
                                    "sampler",
                                    "uprobe-multi",
                                    "run-time-statistics",
                                    "detached-tracefs"};

std::vector<Feature> every_feature(Answer answer, const std::string& reason = {}) {
    std::vector<Feature> features;
    for (const char* name : all_features) features.push_back({name, answer, reason});
    return features;
}

void set(std::vector<Feature>& features, const std::string& name, Answer answer) {
    for (Feature& feature : features)
        if (feature.name == name) feature = {name, answer, "Invalid argument"};
}

Finding named(const std::vector<Finding>& findings, const std::string& name) {
    for (const Finding& finding : findings)
        if (finding.name == name) return finding;
    ADD_FAILURE() << "no finding " << name;
    return {};
}

class Doctor : public testing::Test {
  protected:
    void write(const std::string& path, const std::string& text) {
        std::filesystem::create_directories((root_.path() / path).parent_path());
        std::ofstream(root_.path() / path) << text << "\n";
    }
    std::vector<Finding> examine(const std::vector<Feature>& features,
                                 const std::vector<std::string>& missing_capabilities = {}) {
        return kernel_findings(features, missing_capabilities, root_.path());
    }
    test::TemporaryFolder root_;
};

bool anything_needed_is_missing(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.needed && finding.health == Health::Missing;
    });
}

TEST_F(Doctor, every_feature_has_a_line) {
    const auto with = examine(every_feature(Answer::Has));
    const auto without = examine({});
    EXPECT_EQ(with.size() - without.size(), std::size(all_features));
    EXPECT_FALSE(anything_needed_is_missing(with));
}

TEST_F(Doctor, an_old_kernel_works_otherwise) {
    auto features = every_feature(Answer::Has);
    set(features, "uprobe-multi", Answer::Lacks);
    set(features, "run-time-statistics", Answer::Lacks);
    const auto findings = examine(features);
    const Finding many = named(findings, "many probes at once");
    EXPECT_EQ(many.health, Health::Otherwise);
    EXPECT_THAT(many.advice, HasSubstr("one by one"));
    EXPECT_THAT(many.reason, HasSubstr("Invalid argument"));
    EXPECT_FALSE(anything_needed_is_missing(findings));
}

TEST_F(Doctor, what_is_needed_is_missing) {
    for (const char* feature :
         {"btf", "kprobe-programs", "ring-buffer", "cookies", "loops", "sampler",
          "tracing-programs", "perf-event-programs", "uprobe-events", "tracepoint-programs"}) {
        auto features = every_feature(Answer::Has);
        set(features, feature, Answer::Lacks);
        const auto findings = examine(features);
        EXPECT_TRUE(anything_needed_is_missing(findings)) << feature;
        EXPECT_TRUE(std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
            return finding.health != Health::Missing || !finding.advice.empty();
        })) << feature;
    }
}

TEST_F(Doctor, who_may_not_ask_is_told_so) {
    const auto findings = examine(every_feature(Answer::Refused, "Operation not permitted"),
                                  {"CAP_BPF", "CAP_SYSLOG"});
    const Finding probes = named(findings, "probes in programs");
    EXPECT_EQ(probes.health, Health::Unknown);
    EXPECT_THAT(probes.advice, HasSubstr("as root"));
    EXPECT_THAT(named(findings, "your privileges").reason, HasSubstr("CAP_BPF, CAP_SYSLOG"));
    EXPECT_FALSE(anything_needed_is_missing(findings));
}

TEST_F(Doctor, reads_what_the_kernel_forbids) {
    write("sys/kernel/security/lockdown", "none integrity [confidentiality]");
    write("proc/sys/kernel/kptr_restrict", "2");
    write("proc/sys/kernel/bpf_stats_enabled", "1");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
    const auto findings = examine(every_feature(Answer::Has));
    EXPECT_EQ(named(findings, "lockdown").health, Health::Missing);
    EXPECT_EQ(named(findings, "kernel symbols").health, Health::Otherwise);
    EXPECT_EQ(named(findings, "bpf_stats_enabled").health, Health::Otherwise);
    EXPECT_EQ(named(findings, "clock source").health, Health::Otherwise);
    EXPECT_EQ(named(findings, "cgroup v2").health, Health::Otherwise);
}

TEST_F(Doctor, reads_what_the_kernel_allows) {
    write("sys/kernel/security/lockdown", "none [integrity] confidentiality");
    write("proc/sys/kernel/kptr_restrict", "1");
    write("proc/sys/kernel/bpf_stats_enabled", "0");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    write("sys/fs/cgroup/cgroup.controllers", "cpu");
    const auto findings = examine(every_feature(Answer::Has));
    for (const char* name :
         {"lockdown", "kernel symbols", "bpf_stats_enabled", "clock source", "cgroup v2"})
        EXPECT_EQ(named(findings, name).health, Health::Works) << name;
}

TEST_F(Doctor, the_running_kernel_answers_or_refuses) {
    const auto features = bpf::ask_kernel();
    ASSERT_EQ(features.size(), std::size(all_features));
    for (std::size_t i = 0; i < features.size(); ++i) {
        EXPECT_EQ(features[i].name, all_features[i]);
        EXPECT_TRUE(features[i].answer == Answer::Has || !features[i].reason.empty())
            << features[i].name;
    }
}

}  // namespace
}  // namespace lagtrap::cli::doctor_tests
