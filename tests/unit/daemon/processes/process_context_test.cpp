#include "daemon/processes/process_context.hpp"

#include <cstring>
#include <map>

#include <gmock/gmock.h>

namespace lagtrap::daemon::process_context_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t head_at = 0x1000, payload_at = 0x2000;

// A field of a protobuf message, of fewer than 128 bytes.
std::string field(int number, const std::string& content) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
           content;
}
std::string attribute(const std::string& key, const std::string& value) {
    return field(2, field(1, key) + field(2, value));
}
std::string schema(const std::string& name) {
    return attribute("threadlocal.schema_version", field(1, name));
}
std::string keys(const std::vector<std::string>& names) {
    std::string items;
    for (const std::string& name : names) items += field(1, field(1, name));
    return attribute("threadlocal.attribute_key_map", field(5, items));
}

// A process with a process context.
struct Published {
    std::string signature = "OTEL_CTX";
    std::uint32_t version = 2;
    std::uint64_t published_ns = 7;
    std::string payload = schema("tls_v1") + keys({"http.route", "tenant"});
    std::uint32_t payload_bytes = 0;  // if it is not its size
    int changes = 0;                  // while it is read the first few times

    [[nodiscard]] Result<std::string> read(std::uint64_t address, std::uint64_t bytes) {
        if (address == payload_at && bytes <= payload.size()) {
            if (changes-- > 0) ++published_ns;
            return payload.substr(0, bytes);
        }
        if (address != head_at || bytes != 32) return make_error(ErrorKind::NotFound, "no memory");
        const std::uint32_t size =
            payload_bytes != 0 ? payload_bytes : static_cast<std::uint32_t>(payload.size());
        std::string head(32, '\0');
        std::memcpy(head.data(), signature.data(), signature.size());
        std::memcpy(head.data() + 8, &version, sizeof version);
        std::memcpy(head.data() + 12, &size, sizeof size);
        std::memcpy(head.data() + 16, &published_ns, sizeof published_ns);
        std::memcpy(head.data() + 24, &payload_at, sizeof payload_at);
        return head;
    }
    [[nodiscard]] Result<ProcessContext> found() {
        return read_process_context(
            head_at, [this](std::uint64_t at, std::uint64_t bytes) { return read(at, bytes); });
    }
    [[nodiscard]] ErrorKind problem() {
        const auto context = found();
        EXPECT_FALSE(context);
        return context ? ErrorKind::System : context.error().kind;
    }
};

TEST(ProcessContextTest, NamesTheAttributesOfThreads) {
    Published process;
    EXPECT_THAT(process.found()->keys, ElementsAre("http.route", "tenant"));
    process.payload = field(1, "a resource") + attribute("other", field(1, "x")) +
                      schema("tlsdesc_v1_dev") + keys({"a\nb", std::string(60, 'k')});
    EXPECT_THAT(process.found()->keys, ElementsAre("a\\x0ab", std::string(60, 'k')));
    process.payload = schema("tls_v1");
    EXPECT_THAT(process.found()->keys, IsEmpty());
}

TEST(ProcessContextTest, IsReadAgainWhileItChanges) {
    Published process;
    process.changes = 2;
    EXPECT_THAT(process.found()->keys, ElementsAre("http.route", "tenant"));
    process.changes = 3;
    EXPECT_EQ(process.problem(), ErrorKind::Busy);
    process.published_ns = 0;
    EXPECT_EQ(process.problem(), ErrorKind::Busy);
}

TEST(ProcessContextTest, ThatIsNotAboutThreadLocalVariablesIsRefused) {
    Published process;
    process.payload = attribute("other", field(1, "x"));
    EXPECT_EQ(process.problem(), ErrorKind::NotFound);
    process.payload = schema("golang_v1") + keys({"a"});
    EXPECT_EQ(process.problem(), ErrorKind::Unsupported);
}

TEST(ProcessContextTest, ThatIsDamagedIsRefused) {
    const auto problem_with = [](const auto& change) {
        Published process;
        change(process);
        return process.problem();
    };
    EXPECT_EQ(problem_with([](Published& one) { one.signature = "OTEL_CTY"; }),
              ErrorKind::NotFound);
    EXPECT_EQ(problem_with([](Published& one) { one.version = 3; }), ErrorKind::Unsupported);
    EXPECT_EQ(problem_with([](Published& one) { one.payload_bytes = 65'537; }),
              ErrorKind::TooLarge);
    EXPECT_EQ(problem_with([](Published& one) { one.payload_bytes = 65'536; }),
              ErrorKind::NotFound);
    const std::string whole = schema("tls_v1") + keys({"a"});
    for (std::size_t bytes = schema("tls_v1").size() + 1; bytes < whole.size(); ++bytes) {
        Published process;
        process.payload = whole.substr(0, bytes);
        EXPECT_EQ(process.problem(), ErrorKind::Invalid) << bytes;
    }
}

TEST(ProcessContextTest, HasAtMostAsManyNamesAsThereAreNumbers) {
    std::string items;
    for (int i = 0; i < 300; ++i) items += field(1, field(1, "k"));
    const auto longer = [](int number, const std::string& content) {
        const auto bytes = static_cast<unsigned>(content.size());
        return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes | 128),
                           static_cast<char>(bytes >> 7)} +
               content;
    };
    Published process;
    process.payload = schema("tls_v1") + longer(2, field(1, "threadlocal.attribute_key_map") +
                                                       longer(2, longer(5, items)));
    EXPECT_EQ(process.found()->keys.size(), context_keys_limit);
}

TEST(ProcessContextTest, IsKnownByTheNameOfItsMapping) {
    EXPECT_TRUE(is_context_mapping("/memfd:OTEL_CTX (deleted)"));
    EXPECT_TRUE(is_context_mapping("[anon_shmem:OTEL_CTX]"));
    EXPECT_TRUE(is_context_mapping("[anon:OTEL_CTX]"));
    EXPECT_FALSE(is_context_mapping("/tmp/memfd:OTEL_CTX"));
    EXPECT_FALSE(is_context_mapping("[anon:OTEL]"));
}

}  // namespace
}  // namespace lagtrap::daemon::process_context_test
