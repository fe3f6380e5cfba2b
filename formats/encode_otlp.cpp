#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "analysis/delay_cause.hpp"
#include "analysis/request_edge.hpp"
#include "core/digest.hpp"
#include "formats/encoders.hpp"

namespace lagtrap::formats {

namespace {

// Field numbers of opentelemetry/proto/trace/v1/trace.proto, common.proto and resource.proto.
namespace otlp_field {
enum Request : protozero::pbf_tag_type { resource_spans = 1 };
enum ResourceSpans : protozero::pbf_tag_type { resource = 1, scope_spans };
enum Resource : protozero::pbf_tag_type { resource_attribute = 1 };
enum ScopeSpans : protozero::pbf_tag_type { scope = 1, span };
enum Scope : protozero::pbf_tag_type { scope_name = 1, scope_version };
enum Span : protozero::pbf_tag_type {
    trace_id = 1,
    span_id,
    parent_span_id = 4,
    span_name,
    kind,
    start_time,
    end_time,
    attribute,
    link = 13,
    status = 15
};
enum Link : protozero::pbf_tag_type { linked_trace_id = 1, linked_span_id, link_attribute = 4 };
enum Status : protozero::pbf_tag_type { status_message = 2, status_code };
enum KeyValue : protozero::pbf_tag_type { key = 1, value };
enum AnyValue : protozero::pbf_tag_type {
    string_value = 1,
    bool_value,
    int_value,
    double_value,
    array_value
};
enum ArrayValue : protozero::pbf_tag_type { array_item = 1 };
}  // namespace otlp_field

constexpr std::int32_t kind_internal = 1;
constexpr std::int32_t code_error = 2;

class Attributes {
  public:
    Attributes(protozero::pbf_writer& parent, protozero::pbf_tag_type tag)
        : parent_(parent), tag_(tag) {}

    void text(std::string_view name, std::string_view value) {
        if (!value.empty())
            add(name, [&](protozero::pbf_writer& any) {
                any.add_string(otlp_field::string_value, value.data(), value.size());
            });
    }
    void number(std::string_view name, std::uint64_t value) {
        add(name, [&](protozero::pbf_writer& any) {
            any.add_int64(otlp_field::int_value,
                          static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
        });
    }
    void truth(std::string_view name, bool value) {
        add(name, [&](protozero::pbf_writer& any) { any.add_bool(otlp_field::bool_value, value); });
    }
    void texts(std::string_view name, const std::vector<std::string>& values) {
        add(name, [&](protozero::pbf_writer& any) {
            protozero::pbf_writer array(any, otlp_field::array_value);
            for (const std::string& value : values) {
                protozero::pbf_writer item(array, otlp_field::array_item);
                item.add_string(otlp_field::string_value, value);
            }
        });
    }

  private:
    template <typename Put>
    void add(std::string_view name, Put put) {
        protozero::pbf_writer pair(parent_, tag_);
        pair.add_string(otlp_field::key, name.data(), name.size());
        protozero::pbf_writer any(pair, otlp_field::value);
        put(any);
    }

    protozero::pbf_writer& parent_;
    protozero::pbf_tag_type tag_;
};

// Decodes hexadecimal digits, two per byte.
std::string bytes_of_digits(std::string_view digits) {
    std::string bytes;
    const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
    return bytes;
}

// A delay gets the same ids each time, so that sending it twice yields one span.
std::string bytes_of_name(const std::string& name, std::size_t size) {
    return bytes_of_digits(sha256_of(name)).substr(0, size);
}

std::string identity_of(const analysis::Recording& recording, std::uint64_t run_id) {
    return recording.system.session_id + " run " + std::to_string(run_id);
}

struct SpanIds {
    std::string trace_id, span_id;  // bytes
};

SpanIds ids_of_delay(const trace::Delay& delay, const std::string& identity) {
    const std::string& carried = delay.trace.trace_id;
    return {carried.empty() ? bytes_of_name("trace " + identity, 16) : bytes_of_digits(carried),
            bytes_of_name("span " + identity, 8)};
}

// What the program published; otherwise the span made of the run, if that was a delay, too.
std::optional<SpanIds> ids_of_request(const analysis::Recording& recording,
                                      const analysis::RequestContext& request) {
    if (!request.span_id.empty())
        return SpanIds{bytes_of_digits(request.trace_id), bytes_of_digits(request.span_id)};
    for (const trace::Delay& delay : recording.system.delays)
        if (analysis::is_run_of(delay, request))
            return ids_of_delay(delay, identity_of(recording, delay.run_id));
    return std::nullopt;
}

class SpanWriter {
  public:
    SpanWriter(const analysis::Recording& recording, const trace::Delay& delay)
        : recording_(recording),
          delay_(delay),
          identity_(identity_of(recording, delay.run_id)),
          ids_(ids_of_delay(delay, identity_)),
          end_ns_(analysis::end_of(delay)) {}

    void write(protozero::pbf_writer& scope) {
        {
            protozero::pbf_writer span(scope, otlp_field::span);
            span.add_bytes(otlp_field::trace_id, ids_.trace_id);
            span.add_bytes(otlp_field::span_id, ids_.span_id);
            if (const std::string& parent = delay_.trace.parent_span_id; !parent.empty())
                span.add_bytes(otlp_field::parent_span_id, bytes_of_digits(parent));
            span.add_string(otlp_field::span_name, delay_.event);
            times(span, delay_.begin_ns, end_ns_);
            const analysis::DelayCauses causes = analysis::causes_of_delay(recording_, delay_);
            describe(span, causes);
            for (const analysis::RequestEdge& edge : analysis::edges_of(causes)) link(span, edge);
            protozero::pbf_writer status(span, otlp_field::status);
            status.add_string(otlp_field::status_message, "longer than its threshold");
            status.add_int32(otlp_field::status_code, code_error);
        }
        for (std::size_t i = 0; i < delay_.stages.size(); ++i) write_stage(scope, i);
    }

  private:
    // Leads to the request that held this one up.
    void link(protozero::pbf_writer& span, const analysis::RequestEdge& edge) const {
        const auto ids = ids_of_request(recording_, edge.culprit);
        if (!ids) return;
        protozero::pbf_writer link(span, otlp_field::link);
        link.add_bytes(otlp_field::linked_trace_id, ids->trace_id);
        link.add_bytes(otlp_field::linked_span_id, ids->span_id);
        Attributes attributes(link, otlp_field::link_attribute);
        attributes.text("lagtrap.held_by", analysis::to_text(edge.how));
        attributes.number("lagtrap.lost_ns", edge.lost_ns);
        attributes.text("lagtrap.place", edge.place);
        attributes.text("lagtrap.event", edge.culprit.event);
        attributes.text("http.route", edge.culprit.route);
        for (const analysis::RequestAttribute& one : edge.culprit.attributes)
            attributes.text(one.name, one.value);
    }

    void times(protozero::pbf_writer& span, std::uint64_t begin_ns, std::uint64_t end_ns) const {
        const std::uint64_t wall_ns =
            recording_.system.started_realtime_ns - recording_.system.started_boottime_ns;
        span.add_int32(otlp_field::kind, kind_internal);
        span.add_fixed64(otlp_field::start_time, begin_ns + wall_ns);
        span.add_fixed64(otlp_field::end_time, end_ns + wall_ns);
    }

    void describe(protozero::pbf_writer& span, const analysis::DelayCauses& causes) const {
        Attributes attributes(span, otlp_field::attribute);
        attributes.text("lagtrap.session", recording_.system.session_id);
        attributes.number("lagtrap.run", delay_.run_id);
        attributes.number("lagtrap.threshold_ns", delay_.threshold_ns);
        attributes.truth("lagtrap.open", delay_.open);
        attributes.text("lagtrap.no_trace_id", delay_.no_trace);
        attributes.number("thread.id", delay_.begin_tid);
        attributes.text("thread.name", delay_.thread);
        const auto split =
            analysis::split_time(recording_, analysis::intervals_of_delay(recording_, delay_));
        attributes.number("lagtrap.on_cpu_ns", split.on_cpu_ns);
        attributes.number("lagtrap.runnable_ns", split.runnable_ns);
        attributes.number("lagtrap.blocked_ns", split.blocked_ns);
        attributes.number("lagtrap.unknown_ns", split.not_recorded_ns);
        for (const analysis::BlockedTime& blocked : split.blocked)
            attributes.number("lagtrap.blocked." + blocked.reason + "_ns", blocked.total_ns);
        attributes.text("http.route", causes.request.route);
        for (const analysis::RequestAttribute& one : causes.request.attributes)
            attributes.text(one.name, one.value);
        attributes.texts("lagtrap.causes", analysis::cause_sentences(causes));
    }

    void write_stage(protozero::pbf_writer& scope, std::size_t index) const {
        const trace::StageTime& stage = delay_.stages[index];
        const auto at = [&](std::uint64_t offset_ns) {
            return delay_.begin_ns + std::min(offset_ns, end_ns_ - delay_.begin_ns);
        };
        const bool last = index + 1 == delay_.stages.size();
        const std::uint64_t begin_ns = at(stage.offset_ns);
        const std::uint64_t end_ns = last ? end_ns_ : at(delay_.stages[index + 1].offset_ns);
        protozero::pbf_writer span(scope, otlp_field::span);
        span.add_bytes(otlp_field::trace_id, ids_.trace_id);
        span.add_bytes(otlp_field::span_id,
                       bytes_of_name("span " + identity_ + " stage " + std::to_string(index), 8));
        span.add_bytes(otlp_field::parent_span_id, ids_.span_id);
        span.add_string(otlp_field::span_name, stage.name.empty() ? "stage" : stage.name);
        times(span, begin_ns, std::max(begin_ns, end_ns));
        Attributes(span, otlp_field::attribute).number("thread.id", stage.tid);
    }

    const analysis::Recording& recording_;
    const trace::Delay& delay_;
    std::string identity_;
    SpanIds ids_;
    std::uint64_t end_ns_;
};

void describe_resource(const trace::SystemFile& system, const trace::Delay& delay,
                       protozero::pbf_writer& resource) {
    Attributes attributes(resource, otlp_field::resource_attribute);
    attributes.text("service.name", delay.process);
    attributes.text("service.version", delay.program_version);
    attributes.number("process.pid", delay.begin_pid);
    attributes.text("process.executable.path", delay.program);
    attributes.text("process.executable.build_id.gnu", delay.program_build_id);
    attributes.text("process.linux.cgroup", delay.control_group);
    attributes.text("host.name", system.host);
    attributes.text("host.arch", system.architecture);
    attributes.text("os.type", "linux");
    attributes.text("os.description", system.os_name);
    attributes.text("os.version", system.kernel_release);
}

}  // namespace

Result<std::string> encode_otlp(const analysis::Recording& recording,
                                std::optional<std::size_t> number) {
    const auto& delays = recording.system.delays;
    if (number && (*number == 0 || *number > delays.size()))
        return make_error(ErrorKind::NotFound, "there is no delay " + std::to_string(*number) +
                                                   "; the recording has " +
                                                   std::to_string(delays.size()));
    std::map<std::uint32_t, std::vector<const trace::Delay*>> by_process;
    for (std::size_t i = 0; i < delays.size(); ++i)
        if (!number || *number == i + 1) by_process[delays[i].begin_pid].push_back(&delays[i]);
    std::string bytes;
    protozero::pbf_writer request(bytes);
    for (const auto& [pid, spans] : by_process) {
        protozero::pbf_writer group(request, otlp_field::resource_spans);
        {
            protozero::pbf_writer resource(group, otlp_field::resource);
            describe_resource(recording.system, *spans.front(), resource);
        }
        protozero::pbf_writer scoped(group, otlp_field::scope_spans);
        {
            protozero::pbf_writer scope(scoped, otlp_field::scope);
            scope.add_string(otlp_field::scope_name, "lagtrap");
            scope.add_string(otlp_field::scope_version, LAGTRAP_VERSION);
        }
        for (const trace::Delay* delay : spans) SpanWriter(recording, *delay).write(scoped);
    }
    return bytes;
}

}  // namespace lagtrap::formats
