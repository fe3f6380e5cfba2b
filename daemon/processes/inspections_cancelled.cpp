#include "daemon/processes/inspections_cancelled.hpp"

namespace lagtrap::daemon {

namespace {
// by thread
thread_local const std::atomic<bool>* inspections_cancelled = nullptr;
}  // namespace

InspectionsCancelled::InspectionsCancelled(const std::atomic<bool>& given_up) {
    inspections_cancelled = &given_up;
}

InspectionsCancelled::~InspectionsCancelled() { inspections_cancelled = nullptr; }

bool inspections_are_cancelled() {
    return inspections_cancelled != nullptr && inspections_cancelled->load();
}

}  // namespace lagtrap::daemon
