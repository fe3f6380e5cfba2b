// Reads runs as rows, with numbers for names.
#pragma once

#include <string>
#include <vector>

#include "server/store/connection.hpp"
#include "server/store/database.hpp"
#include "server/store/run_detail.hpp"

namespace lagtrap::server {

struct RawRun {
    RunRecord record;
    DetailRecord detail;
};

// "SELECT ..." of a run's columns.
[[nodiscard]] std::string run_columns(const Dialect& dialect);
// Appends the rows of a SELECT of run_columns().
[[nodiscard]] Status read_runs(Rows& rows, std::vector<RawRun>& found);

}  // namespace lagtrap::server
