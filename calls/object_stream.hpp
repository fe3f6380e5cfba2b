// The daemon's answer to {"command":"objects"}: JSON objects, one per line. First
// {"ok":true,"started_objects":...}, then any number of "object_calls", "messages", "counts",
// "failures" and "detached", then "ended_objects". If the command fails, only
// {"ok":false,"error":...}. Readers need nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "calls/call_stream.hpp"
#include "calls/call_tree.hpp"
#include "calls/function_stream.hpp"
#include "core/result.hpp"

namespace lagtrap::calls {

enum class ObjectRole : std::uint8_t { Create = 1, Use = 2, Release = 3, Message = 4 };

// State of the object at the call.
enum class ObjectState : std::uint8_t {
    Unknown = 0,  // its creation was not seen
    Alive = 1,
    Created = 2,   // by this call
    Released = 3,  // by this call
    After = 4,     // already released before
    Twice = 5,     // already released before, and released again
    Within = 6,    // inside a call that creates or releases it
};

struct ObjectFunction {
    Function function;
    ObjectRole role = ObjectRole::Use;
    std::uint32_t class_number = 0;
};

struct ObjectsStarted {
    std::uint32_t pid = 0;
    std::string process;
    std::uint64_t began_realtime_ns = 0, began_monotonic_ns = 0;
    std::vector<std::string> classes;
    // allocator functions come last, with class `classes.size()`
    std::vector<ObjectFunction> functions;
    std::string memory;                // why memory is not counted; empty if it is
    std::vector<std::string> notes;    // what cannot be seen, for people
    std::vector<ReasonCount> refused;  // functions that cannot be watched
    std::uint64_t beyond_limit = 0;
    std::string attached_by;
    std::uint64_t plan_ns = 0, attach_ns = 0;
};

// Times are CLOCK_MONOTONIC.
struct ObjectCall {
    std::uint32_t function = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t probes_ns = 0;   // part spent in probes
    std::uint64_t off_cpu_ns = 0;  // part blocked or waiting for a CPU
    std::uint64_t object = 0;
    std::uint64_t result = 0;
    // allocated and freed by the thread during the call
    std::uint64_t taken_bytes = 0, given_bytes = 0;
    // growth of the process during the call, whatever caused it
    std::int64_t resident_bytes = 0;
    std::uint32_t allocations = 0;
    std::int32_t error_number = 0;  // errno if it failed
    ObjectState state = ObjectState::Unknown;
    bool failed = false;
    bool left = false;        // by an exception, longjmp or stack switch
    std::uint32_t depth = 0;  // number of watched calls around it
    std::string thread;
    std::string title;  // of an object being created
    std::string error;  // what was thrown, or the error text the program got
};

// An error text that the program asked for after a failed call sent earlier.
struct ObjectMessage {
    std::uint32_t function = 0;
    std::uint32_t tid = 0;
    std::uint64_t at_ns = 0;
    std::string text;
};

// Failed calls of one kind.
struct ObjectFailure {
    std::uint32_t function = 0;
    std::uint64_t count = 0;
    // Of the first: "std::runtime_error: no such page", "result 14, unable to open database file".
    std::string error;
    std::string title;         // of the first object
    std::uint64_t object = 0;  // the first object
    std::uint64_t first_ns = 0;
};

// Totals since the watch began.
struct ClassCounts {
    std::uint64_t created = 0;
    std::uint64_t alive = 0;  // of the created ones
    std::uint64_t released = 0;
    std::uint64_t failures = 0;  // number of failed calls
    std::uint64_t released_twice = 0;
    std::uint64_t used_after = 0;    // used after release
    std::uint64_t unknown = 0;       // calls on objects whose creation was not seen
    std::uint64_t replaced = 0;      // whose release was not seen
    std::uint64_t not_followed = 0;  // for lack of room
};

struct ObjectCounts {
    std::uint64_t at_ns = 0;
    std::vector<ClassCounts> classes;
};

struct ObjectFunctionTotals {
    std::uint32_t function = 0;
    std::uint64_t calls = 0, failures = 0, elapsed_ns = 0;
};

struct OldObject {
    std::uint32_t class_number = 0;
    std::uint32_t function = 0;  // that created it
    std::uint32_t tid = 0;
    std::uint64_t object = 0;
    std::uint64_t age_ns = 0;
    std::uint64_t uses = 0;
    std::int64_t bytes = 0;  // allocated by its creation
    std::string title;
    std::string caller;  // function that requested its creation; empty if unknown
    // of its creation: number in ObjectsEnded::stacks, from 1; 0 if unknown
    std::uint32_t stack = 0;
    bool shares_stack = false;  // the stack is that of another creation by the same call
};

// A call stack from which objects were created.
struct CreationStack {
    static constexpr std::size_t frames_limit = 64;
    std::uint64_t alive = 0;          // objects created here, of any class
    bool cut = false;                 // further frames are unknown
    std::vector<std::string> frames;  // "load_page (shop)"; innermost first
};

struct ObjectsEnded {
    std::string reason;
    std::uint64_t length_ns = 0;
    std::uint64_t sent = 0;      // number of calls
    std::uint64_t not_sent = 0;  // for lack of room, or beyond its share of the rate
    std::uint64_t too_deep = 0;
    std::uint64_t detach_ns = 0;
    std::vector<ClassCounts> classes;
    std::vector<ObjectFunctionTotals> totals;  // only of functions that were called
    std::vector<OldObject> oldest;             // live objects of each class, oldest first
    std::vector<CreationStack> stacks;         // for `oldest`, without duplicates
    // creations whose stack was not kept, for lack of room
    std::uint64_t stacks_lost = 0;
};

[[nodiscard]] std::string_view name_of(ObjectRole role);
[[nodiscard]] std::string_view name_of(ObjectState state);

[[nodiscard]] boost::json::object to_json(const ObjectsStarted& started);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectCall>& calls);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectMessage>& messages);
[[nodiscard]] boost::json::object to_json(const ObjectCounts& counts);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectFailure>& failures);
[[nodiscard]] boost::json::object to_json(const ObjectsEnded& ended);

// One line of the answer; exactly one member is set.
struct ObjectsReply {
    std::optional<ObjectsStarted> started;
    std::optional<std::vector<ObjectCall>> calls;
    std::optional<std::vector<ObjectMessage>> messages;
    std::optional<ObjectCounts> counts;
    std::optional<std::vector<ObjectFailure>> failures;  // in summaries, instead of the calls
    std::optional<std::vector<DetachedFunction>> detached;
    std::optional<ObjectsEnded> ended;
};
// ErrorKind::Invalid if the daemon reports an error, or if it is not such a line. Does not check
// that functions and classes are known.
[[nodiscard]] Result<ObjectsReply> parse_objects_reply(const std::string& line);

}  // namespace lagtrap::calls
