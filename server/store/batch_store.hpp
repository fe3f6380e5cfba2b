// Stores the batches of runs that machines send.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/add_outcome.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

class BatchWriter;
class SqlSession;

// The sender and time of an upload; `sender` is the name of the token, empty if the server needs
// none.
struct Receipt {
    std::string digest;  // SHA-256 of the bytes received, 64 lower-case hexadecimal digits
    std::uint64_t bytes = 0;
    std::uint64_t received_realtime_ns = 0;
    std::string sender;
};

// When a host last sent something.
struct HostSign {
    std::string host;
    std::uint64_t last_realtime_ns = 0;
};

// The rules of Store apply.
class BatchStore {
  public:
    BatchStore(SqlSession& session, BatchWriter& writer) : session_(&session), writer_(&writer) {}

    // Adds all runs of the batch, or none if its digest exists or anything fails. Links its delays
    // with those of bundles. The batch's indices must be valid (trace::read_run_batch() checks
    // them).
    [[nodiscard]] Result<AddOutcome> add_batch(const Receipt& receipt,
                                               const trace::RunBatch& batch) const;
    [[nodiscard]] Result<bool> has_batch(const std::string& digest) const;
    // By host; those that sent a batch or a bundle within the last 30 days.
    [[nodiscard]] Result<std::vector<HostSign>> signs_of_hosts(std::uint64_t now_realtime_ns) const;

  private:
    SqlSession* session_;
    BatchWriter* writer_;
};

}  // namespace lagtrap::server
