// A batch of runs on its way from the ring to the spool.
#pragma once

#include <vector>

#include "trace/processes/modules.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {

struct GatheredBatch {
    // frames have module, build id and offset; names are added later
    trace::RunBatch batch;
    // the modules of the frames, and where to find their files
    std::vector<trace::RecordedModule> modules;
};

}  // namespace lagtrap::daemon
