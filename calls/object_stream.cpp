#include "calls/object_stream.hpp"

#include <boost/json.hpp>

#include "calls/json_values.hpp"
#include "core/text.hpp"

namespace lagtrap::calls {
namespace {

namespace json = boost::json;

// Reads the columns of a row in order. Throws std::out_of_range past the last one.
class Row {
  public:
    explicit Row(const json::value& row) : row_(row.as_array()) {}
    template <typename Number>
    Row& operator>>(Number& number) requires std::is_integral_v<Number> {
        number = row_.at(at_++).to_number<Number>();
        return *this;
    }
    Row& operator>>(bool& flag) {
        flag = row_.at(at_++).to_number<int>() != 0;
        return *this;
    }
    Row& operator>>(std::string& text) {
        text = printable(std::string_view(row_.at(at_++).as_string()));
        return *this;
    }
    template <typename Enum>
    Row& operator>>(Enum& value) requires std::is_enum_v<Enum> {
        value = static_cast<Enum>(row_.at(at_++).to_number<std::uint8_t>());
        return *this;
    }

  private:
    const json::array& row_;
    std::size_t at_ = 0;
};

std::string text_in(const json::object& object, const char* name) {
    return printable(std::string_view(object.at(name).as_string()));
}

json::array row_of(const ObjectCall& call) {
    return {call.function,       call.tid,
            call.begin_ns,       call.end_ns,
            call.probes_ns,      call.off_cpu_ns,
            call.object,         call.result,
            call.taken_bytes,    call.given_bytes,
            call.resident_bytes, call.allocations,
            call.error_number,   static_cast<unsigned>(call.state),
            call.failed ? 1 : 0, call.left ? 1 : 0,
            call.depth,          call.thread,
            call.title,          call.error};
}

ObjectCall call_of(const json::value& value) {
    ObjectCall call;
    Row(value) >> call.function >> call.tid >> call.begin_ns >> call.end_ns >> call.probes_ns >>
        call.off_cpu_ns >> call.object >> call.result >> call.taken_bytes >> call.given_bytes >>
        call.resident_bytes >> call.allocations >> call.error_number >> call.state >> call.failed >>
        call.left >> call.depth >> call.thread >> call.title >> call.error;
    if (call.end_ns < call.begin_ns) throw std::out_of_range("a call that ends before it begins");
    if (call.state > ObjectState::Within) throw std::out_of_range("an unknown state");
    return call;
}

json::array rows_of(const std::vector<ClassCounts>& classes) {
    json::array rows;
    for (const ClassCounts& one : classes)
        rows.push_back(json::array{one.created, one.alive, one.released, one.failures,
                                   one.released_twice, one.used_after, one.unknown, one.replaced,
                                   one.not_followed});
    return rows;
}

std::vector<ClassCounts> classes_of(const json::value& rows) {
    std::vector<ClassCounts> classes;
    for (const json::value& row : rows.as_array()) {
        ClassCounts& one = classes.emplace_back();
        Row(row) >> one.created >> one.alive >> one.released >> one.failures >>
            one.released_twice >> one.used_after >> one.unknown >> one.replaced >> one.not_followed;
    }
    return classes;
}

ObjectsStarted objects_started_of(const json::object& object) {
    ObjectsStarted started;
    started.pid = object.at("pid").to_number<std::uint32_t>();
    started.process = text_in(object, "process");
    started.began_realtime_ns = number_in(object, "began_realtime_ns");
    started.began_monotonic_ns = number_in(object, "began_monotonic_ns");
    for (const json::value& one : object.at("classes").as_array())
        started.classes.push_back(printable(std::string_view(one.as_string())));
    for (Function& function : functions_of_rows(object.at("functions").as_array()))
        started.functions.push_back({std::move(function), ObjectRole::Use, 0});
    const json::array& roles = object.at("roles").as_array();
    if (roles.size() != started.functions.size())
        throw std::out_of_range("functions without roles");
    for (std::size_t number = 0; number < roles.size(); ++number) {
        ObjectFunction& one = started.functions[number];
        Row(roles[number]) >> one.role >> one.class_number;
        if (one.role < ObjectRole::Create || one.role > ObjectRole::Message)
            throw std::out_of_range("an unknown role");
        if (one.class_number > started.classes.size()) throw std::out_of_range("an unknown class");
    }
    started.memory = text_in(object, "memory");
    for (const json::value& one : object.at("notes").as_array())
        started.notes.push_back(printable(std::string_view(one.as_string())));
    for (const json::value& one : object.at("refused").as_array()) {
        ReasonCount& reason = started.refused.emplace_back();
        Row(one) >> reason.reason >> reason.count;
    }
    started.beyond_limit = number_in(object, "beyond_limit");
    started.attached_by = text_in(object, "attached_by");
    started.plan_ns = number_in(object, "plan_ns");
    started.attach_ns = number_in(object, "attach_ns");
    return started;
}

ObjectsEnded objects_ended_of(const json::object& object) {
    ObjectsEnded ended;
    ended.reason = text_in(object, "reason");
    ended.length_ns = number_in(object, "length_ns");
    ended.sent = number_in(object, "sent");
    ended.not_sent = number_in(object, "not_sent");
    ended.too_deep = number_in(object, "too_deep");
    ended.detach_ns = number_in(object, "detach_ns");
    ended.classes = classes_of(object.at("classes"));
    for (const json::value& row : object.at("totals").as_array()) {
        ObjectFunctionTotals& one = ended.totals.emplace_back();
        Row(row) >> one.function >> one.calls >> one.failures >> one.elapsed_ns;
    }
    for (const json::value& row : object.at("oldest").as_array()) {
        OldObject& one = ended.oldest.emplace_back();
        Row(row) >> one.class_number >> one.function >> one.tid >> one.object >> one.age_ns >>
            one.uses >> one.bytes >> one.title >> one.caller >> one.stack >> one.shares_stack;
    }
    for (const json::value& row : object.at("stacks").as_array()) {
        CreationStack& one = ended.stacks.emplace_back();
        Row(row) >> one.alive >> one.cut;
        for (const json::value& frame : row.as_array().at(2).as_array()) {
            if (one.frames.size() >= CreationStack::frames_limit)
                throw std::out_of_range("a stack of too many frames");
            one.frames.push_back(printable(std::string_view(frame.as_string())));
        }
    }
    ended.stacks_lost = number_in(object, "stacks_lost");
    return ended;
}

}  // namespace

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

json::object to_json(const ObjectsStarted& started) {
    std::vector<Function> functions;
    json::array classes, roles, notes, refused;
    for (const std::string& one : started.classes) classes.emplace_back(one);
    for (const ObjectFunction& one : started.functions) {
        functions.push_back(one.function);
        roles.push_back(json::array{static_cast<unsigned>(one.role), one.class_number});
    }
    for (const std::string& one : started.notes) notes.emplace_back(one);
    for (const ReasonCount& one : started.refused)
        refused.push_back(json::array{one.reason, one.count});
    return {{"ok", true},
            {"started_objects",
             {{"pid", started.pid},
              {"process", started.process},
              {"began_realtime_ns", started.began_realtime_ns},
              {"began_monotonic_ns", started.began_monotonic_ns},
              {"classes", std::move(classes)},
              {"functions", rows_of_functions(functions)},
              {"roles", std::move(roles)},
              {"memory", started.memory},
              {"notes", std::move(notes)},
              {"refused", std::move(refused)},
              {"beyond_limit", started.beyond_limit},
              {"attached_by", started.attached_by},
              {"plan_ns", started.plan_ns},
              {"attach_ns", started.attach_ns}}}};
}

json::object to_json(const std::vector<ObjectCall>& calls) {
    json::array rows;
    rows.reserve(calls.size());
    for (const ObjectCall& call : calls) rows.push_back(row_of(call));
    return {{"object_calls", std::move(rows)}};
}

json::object to_json(const std::vector<ObjectMessage>& messages) {
    json::array rows;
    for (const ObjectMessage& one : messages)
        rows.push_back(json::array{one.function, one.tid, one.at_ns, one.text});
    return {{"messages", std::move(rows)}};
}

json::object to_json(const ObjectCounts& counts) {
    return {{"counts", {{"at_ns", counts.at_ns}, {"classes", rows_of(counts.classes)}}}};
}

json::object to_json(const std::vector<ObjectFailure>& failures) {
    json::array rows;
    for (const ObjectFailure& one : failures)
        rows.push_back(
            json::array{one.function, one.count, one.error, one.title, one.object, one.first_ns});
    return {{"failures", std::move(rows)}};
}

json::object to_json(const ObjectsEnded& ended) {
    json::array totals, oldest, stacks;
    for (const ObjectFunctionTotals& one : ended.totals)
        totals.push_back(json::array{one.function, one.calls, one.failures, one.elapsed_ns});
    for (const OldObject& one : ended.oldest)
        oldest.push_back(json::array{one.class_number, one.function, one.tid, one.object,
                                     one.age_ns, one.uses, one.bytes, one.title, one.caller,
                                     one.stack, one.shares_stack ? 1 : 0});
    for (const CreationStack& one : ended.stacks) {
        json::array frames;
        for (const std::string& frame : one.frames) frames.emplace_back(frame);
        stacks.push_back(json::array{one.alive, one.cut ? 1 : 0, std::move(frames)});
    }
    return {{"ended_objects",
             {{"reason", ended.reason},
              {"length_ns", ended.length_ns},
              {"sent", ended.sent},
              {"not_sent", ended.not_sent},
              {"too_deep", ended.too_deep},
              {"detach_ns", ended.detach_ns},
              {"classes", rows_of(ended.classes)},
              {"totals", std::move(totals)},
              {"oldest", std::move(oldest)},
              {"stacks", std::move(stacks)},
              {"stacks_lost", ended.stacks_lost}}}};
}

Result<ObjectsReply> parse_objects_reply(const std::string& line) {
    const auto wrong = [](const char* why) {
        return make_error(ErrorKind::Invalid, std::string("the object trace ") + why);
    };
    try {
        const json::value value = json::parse(line);
        const json::object& object = value.as_object();
        if (const auto* ok = object.if_contains("ok"); ok != nullptr && !ok->as_bool())
            return make_error(ErrorKind::Invalid, text_in(object, "error"));
        ObjectsReply reply;
        if (const auto* started = object.if_contains("started_objects"))
            reply.started = objects_started_of(started->as_object());
        if (const auto* calls = object.if_contains("object_calls"))
            for (const json::value& row : calls->as_array()) {
                if (!reply.calls) reply.calls.emplace();
                reply.calls->push_back(call_of(row));
            }
        if (const auto* messages = object.if_contains("messages")) {
            reply.messages.emplace();
            for (const json::value& row : messages->as_array()) {
                ObjectMessage& one = reply.messages->emplace_back();
                Row(row) >> one.function >> one.tid >> one.at_ns >> one.text;
            }
        }
        if (const auto* counts = object.if_contains("counts"))
            reply.counts = {number_in(counts->as_object(), "at_ns"),
                            classes_of(counts->as_object().at("classes"))};
        if (const auto* failures = object.if_contains("failures")) {
            reply.failures.emplace();
            for (const json::value& row : failures->as_array()) {
                ObjectFailure& one = reply.failures->emplace_back();
                Row(row) >> one.function >> one.count >> one.error >> one.title >> one.object >>
                    one.first_ns;
            }
        }
        if (const auto* out = object.if_contains("taken_out"))
            reply.taken_out = taken_out_of_rows(out->as_array());
        if (const auto* ended = object.if_contains("ended_objects"))
            reply.ended = objects_ended_of(ended->as_object());
        if (!reply.started && !reply.calls && !reply.messages && !reply.counts && !reply.failures &&
            !reply.taken_out && !reply.ended)
            return wrong("has a line of unknown kind");
        return reply;
    } catch (const std::exception&) {
        return wrong("has a line that cannot be read");
    }
}

}  // namespace lagtrap::calls
