// Describes the oldest living objects of each class and where they were created, for the end of a
// trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calls/object_stream.hpp"
#include "daemon/objects/object_engine.hpp"
#include "daemon/objects/object_plan.hpp"

namespace lagtrap::daemon {

class ObjectCreations {
  public:
    // `planner` must outlive it.
    explicit ObjectCreations(ObjectPlanner& planner) : planner_(planner) {}

    // Adds them and the stacks of their creations.
    void add_to(calls::ObjectsEnded& ended, ObjectEngine& engine, std::size_t classes);

  private:
    [[nodiscard]] calls::CreationStack describe(const lagtrap_object_stack& stack);
    [[nodiscard]] const std::string& name_of_caller(std::uint64_t return_address);

    ObjectPlanner& planner_;
    std::map<std::uint64_t, std::string> names_;  // of callers
};

}  // namespace lagtrap::daemon
