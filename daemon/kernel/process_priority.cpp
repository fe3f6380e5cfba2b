#include "daemon/kernel/process_priority.hpp"

#include <sys/resource.h>

namespace lagtrap::daemon {
namespace {

constexpr int first_of_all = -20;

void set_nice(int nice) { (void)::setpriority(PRIO_PROCESS, 0, nice); }

}  // namespace

void raise_priority() { set_nice(first_of_all); }

NormalPriority::NormalPriority() { set_nice(0); }
NormalPriority::~NormalPriority() { set_nice(first_of_all); }

}  // namespace lagtrap::daemon
