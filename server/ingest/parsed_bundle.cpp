#include "server/ingest/parsed_bundle.hpp"

#include <algorithm>

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include "core/text.hpp"
#include "server/ingest/delay_edges.hpp"
#include "trace/system_file/trace_context.hpp"

namespace lagtrap::server {
namespace {

// Field numbers of messages that only ever travel through a pipe.
enum class BundleField : protozero::pbf_tag_type {
    Session = 1,
    Host = 2,
    Event = 3,
    Process = 4,
    Started = 5,
    LongestDelay = 6,
    Delays = 7,
    Delay = 8,
};
enum class DelayField : protozero::pbf_tag_type {
    Number = 1,
    Delayed = 2,
    Event = 3,
    Begin = 4,
    Duration = 5,
    Threshold = 6,
    Pid = 7,
    Tid = 8,
    Process = 9,
    Thread = 10,
    User = 11,
    Build = 12,
    Profile = 13,
    Details = 14,
    Unit = 15,
    ProgramVersion = 16,
    TraceId = 17,
    Edge = 18,
};
enum class EdgeField : protozero::pbf_tag_type {
    Event = 1,
    Route = 2,
    DelayedRoute = 3,
    Unit = 4,
    Process = 5,
    Thread = 6,
    Pid = 7,
    Tid = 8,
    Key = 9,
    TraceId = 10,
    How = 11,
    Place = 12,
    Lost = 13,
    Attribute = 14,
    DelayedAttribute = 15,
};
enum class AttributeField : protozero::pbf_tag_type {
    Name = 1,
    Value = 2,
};

// A field and its expected encoding. A field with another encoding is skipped like an unknown one.
template <typename Field>
constexpr std::uint32_t number(Field field) {
    return protozero::tag_and_type(field, protozero::pbf_wire_type::varint);
}
template <typename Field>
constexpr std::uint32_t bytes(Field field) {
    return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}

constexpr std::size_t text_limit_bytes = 1024;
constexpr std::size_t room_for_columns_bytes = 8U << 20;

std::string text_of(protozero::data_view view) {
    return printable(std::string_view(view.data(), std::min(view.size(), text_limit_bytes)));
}

// Empty unless it is a trace id.
std::string trace_id_of(protozero::data_view view) {
    const auto context = trace::trace_context_of(std::string_view(view.data(), view.size()));
    return context && context->trace_id == std::string_view(view.data(), view.size())
               ? context->trace_id
               : std::string();
}

// Empty if it is larger than the store accepts.
std::string blob_of(protozero::data_view view) {
    return view.size() <= profile_limit_bytes ? std::string(view.data(), view.size())
                                              : std::string();
}

std::string attribute_message(const EdgeAttribute& attribute) {
    std::string bytes;
    protozero::pbf_builder<AttributeField> writer(bytes);
    writer.add_string(AttributeField::Name, attribute.name);
    writer.add_string(AttributeField::Value, attribute.value);
    return bytes;
}

void read_attribute(protozero::data_view view, std::vector<EdgeAttribute>& attributes) {
    EdgeAttribute attribute;
    protozero::pbf_message<AttributeField> message(view);
    while (message.next()) {
        switch (message.tag_and_type()) {
            case bytes(AttributeField::Name): attribute.name = text_of(message.get_view()); break;
            case bytes(AttributeField::Value): attribute.value = text_of(message.get_view()); break;
            default: message.skip();
        }
    }
    if (attributes.size() < edge_attributes_limit) attributes.push_back(std::move(attribute));
}

std::string edge_message(const DelayEdge& edge) {
    std::string bytes;
    protozero::pbf_builder<EdgeField> writer(bytes);
    writer.add_string(EdgeField::Event, edge.event);
    writer.add_string(EdgeField::Route, edge.route);
    writer.add_string(EdgeField::DelayedRoute, edge.delayed_route);
    writer.add_string(EdgeField::Unit, edge.unit);
    writer.add_string(EdgeField::Process, edge.process);
    writer.add_string(EdgeField::Thread, edge.thread);
    writer.add_uint32(EdgeField::Pid, edge.pid);
    writer.add_uint32(EdgeField::Tid, edge.tid);
    writer.add_uint64(EdgeField::Key, edge.key);
    writer.add_string(EdgeField::TraceId, edge.trace_id);
    writer.add_string(EdgeField::How, edge.how);
    writer.add_string(EdgeField::Place, edge.place);
    writer.add_uint64(EdgeField::Lost, edge.lost_ns);
    for (const EdgeAttribute& one : edge.attributes)
        writer.add_message(EdgeField::Attribute, attribute_message(one));
    for (const EdgeAttribute& one : edge.delayed_attributes)
        writer.add_message(EdgeField::DelayedAttribute, attribute_message(one));
    return bytes;
}

DelayEdge read_edge(protozero::data_view view) {
    DelayEdge edge;
    protozero::pbf_message<EdgeField> message(view);
    while (message.next()) {
        switch (message.tag_and_type()) {
            case bytes(EdgeField::Event): edge.event = text_of(message.get_view()); break;
            case bytes(EdgeField::Route): edge.route = text_of(message.get_view()); break;
            case bytes(EdgeField::DelayedRoute):
                edge.delayed_route = text_of(message.get_view());
                break;
            case bytes(EdgeField::Unit): edge.unit = text_of(message.get_view()); break;
            case bytes(EdgeField::Process): edge.process = text_of(message.get_view()); break;
            case bytes(EdgeField::Thread): edge.thread = text_of(message.get_view()); break;
            case number(EdgeField::Pid): edge.pid = message.get_uint32(); break;
            case number(EdgeField::Tid): edge.tid = message.get_uint32(); break;
            case number(EdgeField::Key): edge.key = message.get_uint64(); break;
            case bytes(EdgeField::TraceId): edge.trace_id = trace_id_of(message.get_view()); break;
            case bytes(EdgeField::How): edge.how = text_of(message.get_view()); break;
            case bytes(EdgeField::Place): edge.place = text_of(message.get_view()); break;
            case number(EdgeField::Lost): edge.lost_ns = message.get_uint64(); break;
            case bytes(EdgeField::Attribute):
                read_attribute(message.get_view(), edge.attributes);
                break;
            case bytes(EdgeField::DelayedAttribute):
                read_attribute(message.get_view(), edge.delayed_attributes);
                break;
            default: message.skip();
        }
    }
    return edge;
}

void write_delay(const BundleDelay& delay, std::size_t& room_bytes, std::string& bytes) {
    protozero::pbf_builder<DelayField> writer(bytes);
    writer.add_uint32(DelayField::Number, delay.number);
    writer.add_bool(DelayField::Delayed, delay.delayed);
    writer.add_string(DelayField::Event, delay.event);
    writer.add_uint64(DelayField::Begin, delay.begin_realtime_ns);
    writer.add_uint64(DelayField::Duration, delay.duration_ns);
    writer.add_uint64(DelayField::Threshold, delay.threshold_ns);
    writer.add_uint32(DelayField::Pid, delay.pid);
    writer.add_uint32(DelayField::Tid, delay.tid);
    writer.add_string(DelayField::Process, delay.process);
    writer.add_string(DelayField::Thread, delay.thread);
    writer.add_string(DelayField::User, delay.user);
    writer.add_string(DelayField::Build, delay.build);
    writer.add_string(DelayField::Unit, delay.unit);
    writer.add_string(DelayField::ProgramVersion, delay.program_version);
    writer.add_string(DelayField::TraceId, delay.trace_id);
    for (const DelayEdge& edge : delay.edges) {
        const std::string message = edge_message(edge);
        if (message.size() > room_bytes) break;
        room_bytes -= message.size();
        writer.add_message(DelayField::Edge, message);
    }
    for (const auto& [field, blob] : {std::pair{DelayField::Details, &delay.details},
                                      std::pair{DelayField::Profile, &delay.profile}}) {
        if (blob->size() > std::min(profile_limit_bytes, room_bytes)) continue;
        room_bytes -= blob->size();
        writer.add_string(field, *blob);
    }
}

BundleDelay read_delay(protozero::data_view view) {
    BundleDelay delay;
    protozero::pbf_message<DelayField> message(view);
    while (message.next()) {
        switch (message.tag_and_type()) {
            case number(DelayField::Number): delay.number = message.get_uint32(); break;
            case number(DelayField::Delayed): delay.delayed = message.get_uint32() != 0; break;
            case bytes(DelayField::Event): delay.event = text_of(message.get_view()); break;
            case number(DelayField::Begin): delay.begin_realtime_ns = message.get_uint64(); break;
            case number(DelayField::Duration): delay.duration_ns = message.get_uint64(); break;
            case number(DelayField::Threshold): delay.threshold_ns = message.get_uint64(); break;
            case number(DelayField::Pid): delay.pid = message.get_uint32(); break;
            case number(DelayField::Tid): delay.tid = message.get_uint32(); break;
            case bytes(DelayField::Process): delay.process = text_of(message.get_view()); break;
            case bytes(DelayField::Thread): delay.thread = text_of(message.get_view()); break;
            case bytes(DelayField::User): delay.user = text_of(message.get_view()); break;
            case bytes(DelayField::Build): delay.build = text_of(message.get_view()); break;
            case bytes(DelayField::Unit): delay.unit = text_of(message.get_view()); break;
            case bytes(DelayField::ProgramVersion):
                delay.program_version = text_of(message.get_view());
                break;
            case bytes(DelayField::TraceId):
                delay.trace_id = trace_id_of(message.get_view());
                break;
            case bytes(DelayField::Edge):
                if (delay.edges.size() < edges_limit)
                    delay.edges.push_back(read_edge(message.get_view()));
                else
                    message.skip();
                break;
            case bytes(DelayField::Profile): delay.profile = blob_of(message.get_view()); break;
            case bytes(DelayField::Details): delay.details = blob_of(message.get_view()); break;
            default: message.skip();
        }
    }
    return delay;
}

ParsedBundle read_message(std::string_view answer) {
    ParsedBundle parsed;
    BundleFacts& facts = parsed.facts;
    protozero::pbf_message<BundleField> message(answer.data(), answer.size());
    while (message.next()) {
        switch (message.tag_and_type()) {
            case bytes(BundleField::Session): facts.session_id = text_of(message.get_view()); break;
            case bytes(BundleField::Host): facts.host = text_of(message.get_view()); break;
            case bytes(BundleField::Event): facts.event = text_of(message.get_view()); break;
            case bytes(BundleField::Process): facts.process = text_of(message.get_view()); break;
            case number(BundleField::Started):
                facts.started_realtime_ns = message.get_uint64();
                break;
            case number(BundleField::LongestDelay):
                facts.longest_delay_ns = message.get_uint64();
                break;
            case number(BundleField::Delays): facts.delays = message.get_uint32(); break;
            case bytes(BundleField::Delay):
                if (parsed.delays.size() < parsed_delays_limit)
                    parsed.delays.push_back(read_delay(message.get_view()));
                else
                    message.skip();
                break;
            default: message.skip();
        }
    }
    return parsed;
}

}  // namespace

std::string write_parsed_bundle(const ParsedBundle& parsed) {
    std::string bytes;
    protozero::pbf_builder<BundleField> writer(bytes);
    writer.add_string(BundleField::Session, parsed.facts.session_id);
    writer.add_string(BundleField::Host, parsed.facts.host);
    writer.add_string(BundleField::Event, parsed.facts.event);
    writer.add_string(BundleField::Process, parsed.facts.process);
    writer.add_uint64(BundleField::Started, parsed.facts.started_realtime_ns);
    writer.add_uint64(BundleField::LongestDelay, parsed.facts.longest_delay_ns);
    writer.add_uint32(BundleField::Delays, parsed.facts.delays);
    std::size_t room_bytes = parsed_bytes_limit - room_for_columns_bytes;
    std::size_t count = 0;
    for (const BundleDelay& delay : parsed.delays) {
        if (++count > parsed_delays_limit) break;
        std::string message;
        write_delay(delay, room_bytes, message);
        writer.add_message(BundleField::Delay, message);
    }
    return bytes;
}

Result<ParsedBundle> read_parsed_bundle(std::string_view bytes) {
    if (bytes.size() > parsed_bytes_limit)
        return make_error(ErrorKind::TooLarge,
                          "the parser gave " + std::to_string(bytes.size()) + " bytes; at most " +
                              std::to_string(parsed_bytes_limit) + " are taken");
    try {
        return read_message(bytes);
    } catch (const protozero::exception&) {
        return make_error(ErrorKind::Invalid, "the parser's answer is damaged");
    }
}

}  // namespace lagtrap::server
