// Links delays in bundles to their recorded runs.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

class SqlSession;

// A delay belongs to the run of the same host, event, process and thread that began within 50 ms
// of it.
class DelayLinks {
  public:
    explicit DelayLinks(SqlSession& session) : session_(&session) {}

    // Links delays without a run to runs: of `host` (nullopt: all), begun from `from_ns` to
    // `to_ns`.
    [[nodiscard]] Status link(std::optional<std::uint32_t> host, std::uint64_t from_ns,
                              std::uint64_t to_ns) const;

  private:
    [[nodiscard]] Result<std::optional<std::uint64_t>> find_run_of_delay(Connection& connection,
                                                                         const Rows& delay) const;

    SqlSession* session_;
};

}  // namespace lagtrap::server
