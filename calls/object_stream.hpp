// What the daemon answers to {"command":"objects"}: JSON objects, a line each. {"ok":true,"started_objects":...} once, then any
// number of "object_calls", "messages", "counts", "failures" and "taken_out", and "ended_objects" last; instead of all of them
// {"ok":false,"error":...}. It is all that a reader elsewhere needs.
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

// What a call found of its object.
enum class ObjectState : std::uint8_t {
    Unknown = 0,  // nobody saw it created
    Alive = 1,
    Created = 2,   // by this call
    Released = 3,  // the same
    After = 4,     // it had been released
    Twice = 5,     // the same, and was released again
    Within = 6,    // within a call that creates or releases it
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
    std::vector<ObjectFunction> functions;  // those of the allocator last; of class `classes.size()`
    std::string memory;                     // why it is not counted; empty: it is
    std::vector<std::string> notes;         // what cannot be seen, for people
    std::vector<ReasonCount> refused;       // functions that cannot be watched
    std::uint64_t beyond_limit = 0;
    std::string attached_by;
    std::uint64_t plan_ns = 0, attach_ns = 0;
};

// Times are monotonic.
struct ObjectCall {
    std::uint32_t function = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t probes_ns = 0;   // of these, taken by probes
    std::uint64_t off_cpu_ns = 0;  // of these, blocked or waiting for a CPU
    std::uint64_t object = 0;
    std::uint64_t result = 0;
    std::uint64_t taken_bytes = 0, given_bytes = 0;  // of memory, by the thread meanwhile
    std::int64_t resident_bytes = 0;                 // by which the process grew meanwhile, whoever it was
    std::uint32_t allocations = 0;
    std::int32_t error_number = 0;  // errno, if it failed
    ObjectState state = ObjectState::Unknown;
    bool failed = false;
    bool left = false;        // by an exception, longjmp or a switch of stacks
    std::uint32_t depth = 0;  // watched calls that it lies in
    std::string thread;
    std::string title;  // of an object that is created
    std::string error;  // what was thrown, or what the program was told
};

// A text that the program asked for after an error of a call that was told before.
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
    std::string error;  // the first one: "std::runtime_error: no such page", "result 14, unable to open database file"
    std::string title;  // of the first object
    std::uint64_t object = 0;  // the same
    std::uint64_t first_ns = 0;
};

// Since the watch began.
struct ClassCounts {
    std::uint64_t created = 0;
    std::uint64_t alive = 0;  // of these, still
    std::uint64_t released = 0;
    std::uint64_t failures = 0;  // of calls
    std::uint64_t released_twice = 0;
    std::uint64_t used_after = 0;    // release
    std::uint64_t unknown = 0;       // calls on objects that nobody saw created
    std::uint64_t replaced = 0;      // whose release nobody saw
    std::uint64_t not_followed = 0;  // for want of room
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
    std::int64_t bytes = 0;  // taken by its creation
    std::string title;
    std::string caller;         // the function that had it created; empty: not known
    std::uint32_t stack = 0;    // of its creation: its number from 1 among those of ObjectsEnded; 0: not known
    bool shares_stack = false;  // it is that of another creation by the same call
};

// From which objects were created.
struct CreationStack {
    static constexpr std::size_t frames_limit = 64;
    std::uint64_t alive = 0;          // objects from here, whatever their class
    bool cut = false;                 // there are more frames, which are not known
    std::vector<std::string> frames;  // "load_page (shop)"; the innermost first
};

struct ObjectsEnded {
    std::string reason;
    std::uint64_t length_ns = 0;
    std::uint64_t sent = 0;      // calls
    std::uint64_t not_sent = 0;  // for want of room, or of a share of the rate
    std::uint64_t too_deep = 0;
    std::uint64_t detach_ns = 0;
    std::vector<ClassCounts> classes;
    std::vector<ObjectFunctionTotals> totals;  // of functions that were called
    std::vector<OldObject> oldest;             // of those alive, of each class; the oldest first
    std::vector<CreationStack> stacks;         // of these, each once
    std::uint64_t stacks_lost = 0;             // creations whose stack was not kept, for want of room
};

[[nodiscard]] std::string_view name_of(ObjectRole role);
[[nodiscard]] std::string_view name_of(ObjectState state);

[[nodiscard]] boost::json::object to_json(const ObjectsStarted& started);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectCall>& calls);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectMessage>& messages);
[[nodiscard]] boost::json::object to_json(const ObjectCounts& counts);
[[nodiscard]] boost::json::object to_json(const std::vector<ObjectFailure>& failures);
[[nodiscard]] boost::json::object to_json(const ObjectsEnded& ended);

// One line of the answer; exactly one is there.
struct ObjectsReply {
    std::optional<ObjectsStarted> started;
    std::optional<std::vector<ObjectCall>> calls;
    std::optional<std::vector<ObjectMessage>> messages;
    std::optional<ObjectCounts> counts;
    std::optional<std::vector<ObjectFailure>> failures;  // of summaries, in place of the calls
    std::optional<std::vector<TakenOut>> taken_out;
    std::optional<ObjectsEnded> ended;
};
// ErrorKind::Invalid: what the daemon refused, or it is no such line. Functions and classes are not checked against those that
// are known.
[[nodiscard]] Result<ObjectsReply> parse_objects_reply(const std::string& line);

}  // namespace lagtrap::calls
