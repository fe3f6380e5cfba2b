// What a report says about the delay of a made-up recording.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/delay_cause.hpp"
#include "analysis/delay_report.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::test {

// The sentences on the first delay.
inline std::vector<std::string> sentences_of(const TraceBuilder& builder) {
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    return analysis::cause_sentences(
        analysis::causes_of_delay(*recording, builder.system.delays.at(0)));
}

}  // namespace lagtrap::test
