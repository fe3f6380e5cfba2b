// A batch of runs on its way from the ring to the spool.
#pragma once

#include <vector>

#include "trace/processes/modules.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {

struct GatheredBatch {
    trace::RunBatch batch;                       // frames have module, build id and offset; names come later
    std::vector<trace::RecordedModule> modules;  // those that the frames lie in, and where their files can be found
};

}  // namespace lagtrap::daemon
