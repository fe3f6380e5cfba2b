// Encodes the parts of a run that are shown but never searched, and stacks, as bytes for the
// database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

struct DetailStage {
    std::uint32_t label = 0;
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    std::uint64_t stack = 0;  // id in the table `stack`; 0: none

    bool operator==(const DetailStage&) const = default;
};

struct DetailRecord {
    std::uint64_t threshold_ns = 0;
    std::uint64_t key = 0;
    std::uint32_t pid = 0, begin_tid = 0, end_tid = 0;
    bool aborted = false;
    bool without_stages = false;
    std::uint32_t executable = 0, thread = 0;  // labels
    std::uint64_t begin_stack = 0, end_stack = 0;
    std::vector<DetailStage> stages;
    std::optional<trace::RunTimes> times;

    bool operator==(const DetailRecord&) const = default;
};

[[nodiscard]] std::string write_detail(const DetailRecord& detail);
[[nodiscard]] Result<DetailRecord> read_detail(std::string_view bytes);

[[nodiscard]] std::string write_stack(const trace::RunStack& stack);
[[nodiscard]] Result<trace::RunStack> read_stack(std::string_view bytes);
// A stack's id, derived from its bytes, so that equal stacks are stored once. Never 0; below 2^63.
[[nodiscard]] std::uint64_t stack_id(std::string_view bytes);

}  // namespace lagtrap::server
