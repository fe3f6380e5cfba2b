// What calls on objects look like together: nested in one another, and their failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calls/object_stream.hpp"

namespace lagtrap::calls {

struct ObjectNode {
    ObjectCall call;
    std::vector<ObjectNode> below;  // in the order in which they began
};

// Puts calls, which come when they end, into trees. One thread's.
class ObjectForest {
  public:
    // Calls of a tree that are kept; callers of the rest have what they found so far.
    static constexpr std::size_t most_calls = 10'000;

    // Returns the tree that this call ends; one without a call: none does.
    [[nodiscard]] std::vector<ObjectNode> add(ObjectCall call);
    // What waits for callers that have not ended.
    [[nodiscard]] std::vector<ObjectNode> take_waiting();

  private:
    struct Waiting {
        std::vector<ObjectNode> nodes;
        std::size_t calls = 0;
    };
    std::map<std::uint32_t, Waiting> waiting_;  // by thread
};

// Failed calls by what failed and why; errors that differ in numbers are of one kind. An exception counts where it was thrown, not for each call that it left.
class ObjectFailures {
  public:
    static constexpr std::size_t most_kinds = 1'000;

    void add(const ObjectCall& call, ObjectRole role);
    // What the program was told of the thread's last failure.
    // Only a failure of a function of the same file is meant.
    void add(const ObjectMessage& message, const std::vector<ObjectFunction>& functions);
    // Those that happened most first.
    [[nodiscard]] std::vector<ObjectFailure> all() const;

  private:
    struct Last {
        ObjectFailure failure;
        std::uint64_t begin_ns = 0, end_ns = 0;
        bool left = false;
    };
    void count(const ObjectFailure& failure);
    std::map<std::uint32_t, Last> last_;  // by thread; they are counted when the next one comes
    std::map<std::pair<std::uint32_t, std::string>, ObjectFailure> kinds_;
};

// Why a call failed: "ENOENT (No such file or directory)", "result 14, unable to open database file".
[[nodiscard]] std::string error_of(const ObjectCall& call);

}  // namespace lagtrap::calls
