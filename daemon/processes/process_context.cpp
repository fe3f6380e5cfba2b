#include "daemon/processes/process_context.hpp"

#include <cstring>
#include <optional>

#include <protozero/pbf_reader.hpp>

#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t payload_limit_bytes = 64 << 10;
constexpr std::string_view signature = "OTEL_CTX";
constexpr std::uint32_t known_version = 2, version_for_development = 1;
constexpr int reads = 3;  // while it keeps changing

struct Head {
    char signature[8];
    std::uint32_t version;
    std::uint32_t payload_bytes;
    std::uint64_t published_ns;  // 0: being changed; unique to each change
    std::uint64_t payload;       // its address
};
static_assert(sizeof(Head) == 32);

Result<Head> read_head(std::uint64_t address, const ReadMemory& read) {
    TRY_ASSIGN(const std::string bytes, read(address, sizeof(Head)));
    Head head{};
    if (bytes.size() == sizeof(head)) std::memcpy(&head, bytes.data(), sizeof(head));
    if (std::string_view(head.signature, sizeof(head.signature)) != signature)
        return make_error(ErrorKind::NotFound, "no process context there");
    if (head.version != known_version && head.version != version_for_development)
        return make_error(ErrorKind::Unsupported, "a process context of another version");
    return head;
}

// The fields of OpenTelemetry's messages.
namespace field {
constexpr protozero::pbf_tag_type attributes = 2;  // of ProcessContext
constexpr protozero::pbf_tag_type key = 1, value = 2;
constexpr protozero::pbf_tag_type text = 1, array = 5;  // of AnyValue
constexpr protozero::pbf_tag_type items = 1;            // of ArrayValue
}  // namespace field

std::string_view view_of(protozero::data_view data) { return {data.data(), data.size()}; }

protozero::data_view last_of(protozero::data_view message, protozero::pbf_tag_type tag) {
    protozero::data_view found;
    protozero::pbf_reader reader(message);
    while (reader.next())
        if (reader.tag() == tag && reader.has_wire_type(protozero::pbf_wire_type::length_delimited))
            found = reader.get_view();
        else
            reader.skip();
    return found;
}

std::vector<std::string> texts_of(protozero::data_view array) {
    std::vector<std::string> texts;
    protozero::pbf_reader reader(array);
    while (texts.size() < context_keys_limit && reader.next(field::items))
        texts.push_back(printable(view_of(last_of(reader.get_view(), field::text)))
                            .substr(0, context_key_limit_bytes));
    return texts;
}

struct Attributes {
    std::string schema;
    std::vector<std::string> keys;
};

Attributes attributes_of(std::string_view payload) {
    Attributes found;
    protozero::pbf_reader reader(payload.data(), payload.size());
    while (reader.next(field::attributes)) {
        const protozero::data_view attribute = reader.get_view();
        const std::string_view key = view_of(last_of(attribute, field::key));
        const protozero::data_view value = last_of(attribute, field::value);
        if (key == "threadlocal.schema_version")
            found.schema = view_of(last_of(value, field::text));
        if (key == "threadlocal.attribute_key_map")
            found.keys = texts_of(last_of(value, field::array));
    }
    return found;
}

Result<ProcessContext> context_in(std::string_view payload) {
    Attributes found;
    try {
        found = attributes_of(payload);
    } catch (const protozero::exception&) {
        return make_error(ErrorKind::Invalid, "a malformed process context");
    }
    if (found.schema.empty())
        return make_error(ErrorKind::NotFound, "its process context does not mention threads");
    // "tls_v1", and before the specification was adopted "tlsdesc_v1_dev". Others are not in
    // thread-local variables.
    if (!found.schema.starts_with("tls"))
        return make_error(ErrorKind::Unsupported, "contexts of threads of another kind");
    return ProcessContext{std::move(found.keys)};
}

}  // namespace

bool is_context_mapping(std::string_view path) {
    return path.starts_with("/memfd:OTEL_CTX") || path.starts_with("[anon_shmem:OTEL_CTX]") ||
           path.starts_with("[anon:OTEL_CTX]");
}

Result<ProcessContext> read_process_context(std::uint64_t address, const ReadMemory& read) {
    for (int i = 0; i < reads; ++i) {
        TRY_ASSIGN(const Head before, read_head(address, read));
        if (before.published_ns == 0) continue;
        if (before.payload_bytes > payload_limit_bytes)
            return make_error(ErrorKind::TooLarge, "a process context of more than 64 KiB");
        const auto payload = read(before.payload, before.payload_bytes);
        TRY_ASSIGN(const Head after, read_head(address, read));
        if (after.published_ns != before.published_ns) continue;
        if (!payload) return payload.error();
        return context_in(*payload);
    }
    return make_error(ErrorKind::Busy, "its process context is changing");
}

}  // namespace lagtrap::daemon
