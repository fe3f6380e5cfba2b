#include "calls/object_stream.hpp"

#include "calls/line_codec.hpp"
#include "calls/reported_rows.hpp"

namespace lagtrap::calls {

template <typename Io>
void columns(Io& io, Of<Io, ObjectCall>& one) {
    io(one.function, one.tid, one.begin_ns, one.end_ns, one.probes_ns, one.off_cpu_ns, one.object,
       one.result, one.taken_bytes, one.given_bytes, one.resident_bytes, one.allocations,
       one.error_number, one.state, one.failed, one.left, one.depth, one.thread, one.title,
       one.error);
    io.require(one.end_ns >= one.begin_ns, "a call that ends before it begins");
    io.require(one.state <= ObjectState::Within, "an unknown state");
}

template <typename Io>
void columns(Io& io, Of<Io, ObjectMessage>& one) {
    io(one.function, one.tid, one.at_ns, one.text);
}

template <typename Io>
void columns(Io& io, Of<Io, ObjectFailure>& one) {
    io(one.function, one.count, one.error, one.title, one.object, one.first_ns);
}

template <typename Io>
void columns(Io& io, Of<Io, ClassCounts>& one) {
    io(one.created, one.alive, one.released, one.failures, one.released_twice, one.used_after,
       one.unknown, one.replaced, one.not_followed);
}

template <typename Io>
void columns(Io& io, Of<Io, ObjectFunctionTotals>& one) {
    io(one.function, one.calls, one.failures, one.elapsed_ns);
}

template <typename Io>
void columns(Io& io, Of<Io, OldObject>& one) {
    io(one.class_number, one.function, one.tid, one.object, one.age_ns, one.uses, one.bytes,
       one.title, one.caller, one.stack, one.shares_stack);
}

template <typename Io>
void columns(Io& io, Of<Io, CreationStack>& one) {
    io(one.alive, one.cut, one.frames);
    io.require(one.frames.size() <= CreationStack::frames_limit, "a stack of too many frames");
}

// What a line has of a function beside its name and place.
struct ObjectFunctionRole {
    ObjectRole role = ObjectRole::Use;
    std::uint32_t class_number = 0;
};

template <typename Io>
void columns(Io& io, Of<Io, ObjectFunctionRole>& one) {
    io(one.role, one.class_number);
    io.require(one.role >= ObjectRole::Create && one.role <= ObjectRole::Message,
               "an unknown role");
}

template <typename Io>
void fields_of_functions(Io& io, Of<Io, ObjectsStarted>& started) {
    std::vector<Function> functions;
    std::vector<ObjectFunctionRole> roles;
    for (const ObjectFunction& one : started.functions) {
        functions.push_back(one.function);
        roles.push_back({one.role, one.class_number});
    }
    io("functions", functions);
    io("roles", roles);
    io.require(roles.size() == functions.size(), "functions without roles");
    if constexpr (Io::reads)
        for (std::size_t number = 0; number < functions.size(); ++number) {
            const auto [role, class_number] = roles[number];
            io.require(class_number <= started.classes.size(), "an unknown class");
            started.functions.push_back({std::move(functions[number]), role, class_number});
        }
}

template <typename Io>
void fields(Io& io, Of<Io, ObjectsStarted>& one) {
    io("pid", one.pid);
    io("process", one.process);
    io("began_realtime_ns", one.began_realtime_ns);
    io("began_monotonic_ns", one.began_monotonic_ns);
    io("classes", one.classes);
    fields_of_functions(io, one);
    io("memory", one.memory);
    io("notes", one.notes);
    io("refused", one.refused);
    io("beyond_limit", one.beyond_limit);
    io("attached_by", one.attached_by);
    io("plan_ns", one.plan_ns);
    io("attach_ns", one.attach_ns);
}

template <typename Io>
void fields(Io& io, Of<Io, ObjectCounts>& one) {
    io("at_ns", one.at_ns);
    io("classes", one.classes);
}

template <typename Io>
void fields(Io& io, Of<Io, ObjectsEnded>& one) {
    io("reason", one.reason);
    io("length_ns", one.length_ns);
    io("sent", one.sent);
    io("not_sent", one.not_sent);
    io("too_deep", one.too_deep);
    io("detach_ns", one.detach_ns);
    io("classes", one.classes);
    io("totals", one.totals);
    io("oldest", one.oldest);
    io("stacks", one.stacks);
    io("stacks_lost", one.stacks_lost);
}

std::string_view name_of(ObjectRole role) {
    switch (role) {
        case ObjectRole::Create: return "create";
        case ObjectRole::Use: return "use";
        case ObjectRole::Release: return "release";
        case ObjectRole::Message: break;
    }
    return "message";
}

std::string_view name_of(ObjectState state) {
    switch (state) {
        case ObjectState::Unknown: return "not seen created";
        case ObjectState::Alive: return "alive";
        case ObjectState::Created: return "created";
        case ObjectState::Released: return "released";
        case ObjectState::After: return "used after release";
        case ObjectState::Twice: return "released twice";
        case ObjectState::Within: break;
    }
    return "being created or released";
}

boost::json::object to_json(const ObjectsStarted& started) {
    return first_line_of("started_objects", started);
}
boost::json::object to_json(const std::vector<ObjectCall>& calls) {
    return line_of("object_calls", calls);
}
boost::json::object to_json(const std::vector<ObjectMessage>& messages) {
    return line_of("messages", messages);
}
boost::json::object to_json(const ObjectCounts& counts) { return line_of("counts", counts); }
boost::json::object to_json(const std::vector<ObjectFailure>& failures) {
    return line_of("failures", failures);
}
boost::json::object to_json(const ObjectsEnded& ended) { return line_of("ended_objects", ended); }

Result<ObjectsReply> parse_objects_reply(const std::string& line) {
    static constexpr LineErrors errors{"the object trace has a line of unknown kind",
                                       "the object trace has a line that cannot be read"};
    return parse_line<ObjectsReply>(line, errors, [](FieldReader& io, ObjectsReply& one) {
        return io("started_objects", one.started) + io("object_calls", one.calls) +
               io("messages", one.messages) + io("counts", one.counts) +
               io("failures", one.failures) + io("detached", one.detached) +
               io("ended_objects", one.ended);
    });
}

}  // namespace lagtrap::calls
