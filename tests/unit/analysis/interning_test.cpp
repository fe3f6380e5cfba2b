#include "analysis/interning.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::interning_test {
namespace {

using protozero::pbf_writer;
using test::message_of;

// Field numbers of InternedData.
constexpr std::uint32_t categories = 1, event_names = 2, annotation_names = 3, function_names = 5,
                        frames = 6, callstacks = 7, build_ids = 16, mapping_paths = 17,
                        source_paths = 18, mappings = 19, annotation_strings = 29;
constexpr std::size_t name_limit_bytes = 16 * 1024;

std::string named(std::uint64_t id, const std::string& text) {
    return message_of([&](pbf_writer& name) {
        name.add_uint64(1, id);
        name.add_bytes(2, text);
    });
}

// One kind of numbers at a time.
class Interned : public testing::Test {
  protected:
    void add(std::uint32_t field, const std::string& message) {
        bytes_.clear();
        pbf_writer(bytes_).add_message(field, message);
        interning_.add(bytes_, trace_);
    }
    void add_frame(std::uint64_t id, std::uint64_t function, std::uint64_t mapping,
                   std::uint64_t offset = 0, std::uint64_t source = 0, std::uint32_t line = 0) {
        add(frames, message_of([&](pbf_writer& frame) {
                frame.add_uint64(1, id);
                frame.add_uint64(2, function);
                frame.add_uint64(3, mapping);
                frame.add_uint64(4, offset);
                frame.add_uint64(5, source);
                frame.add_uint32(6, line);
            }));
    }
    void add_stack(std::uint64_t id, const std::vector<std::uint64_t>& frame_ids,
                   bool packed = false) {
        add(callstacks, message_of([&](pbf_writer& stack) {
                stack.add_uint64(1, id);
                if (packed) stack.add_packed_uint64(2, frame_ids.begin(), frame_ids.end());
                if (!packed)
                    for (const std::uint64_t frame : frame_ids) stack.add_uint64(2, frame);
            }));
    }
    void add_mapping(std::uint64_t id, std::uint64_t build_id,
                     const std::vector<std::uint64_t>& path, bool packed = false,
                     std::uint64_t load_bias = 0) {
        add(mappings, message_of([&](pbf_writer& mapping) {
                mapping.add_uint64(1, id);
                mapping.add_uint64(2, build_id);
                mapping.add_uint64(6, load_bias);
                if (packed) mapping.add_packed_uint64(7, path.begin(), path.end());
                if (!packed)
                    for (const std::uint64_t part : path) mapping.add_uint64(7, part);
            }));
    }
    [[nodiscard]] const std::string& name(std::optional<NameId> id) const {
        return trace_.names.at(id.value());
    }
    // Labels of the stack's frames.
    [[nodiscard]] std::vector<std::string> labels(std::uint64_t stack) const {
        const StackId id = interning_.stack(stack).value();
        std::vector<std::string> found;
        for (std::uint32_t at = trace_.stack_ends.at(id - 1); at < trace_.stack_ends.at(id); ++at)
            found.push_back(name(trace_.frames.at(trace_.stack_frames.at(at)).label));
        return found;
    }

    std::string bytes_;
    RawTrace trace_;
    Interning interning_;
};

TEST_F(Interned, NamesOfEachKindAreTheirOwn) {
    add(categories, named(1, "category"));
    add(event_names, named(1, "event"));
    add(annotation_names, named(1, "annotation"));
    add(annotation_strings, named(1, "string"));
    EXPECT_EQ(name(interning_.category(1)), "category");
    EXPECT_EQ(name(interning_.event_name(1)), "event");
    EXPECT_EQ(name(interning_.annotation_name(1)), "annotation");
    EXPECT_EQ(name(interning_.annotation_string(1)), "string");
    for (const auto& found :
         {interning_.category(2), interning_.event_name(2), interning_.annotation_name(2),
          interning_.annotation_string(2), interning_.stack(1)})
        EXPECT_FALSE(found.has_value());
    add(event_names, named(1, "later"));
    EXPECT_EQ(name(interning_.event_name(1)), "later");
    EXPECT_EQ(trace_.records, 5U);
}

TEST_F(Interned, NothingIsLeftAfterClearing) {
    add(event_names, named(1, "event"));
    add_frame(1, 0, 0);
    add_stack(1, {1});
    interning_.clear();
    EXPECT_FALSE(interning_.event_name(1));
    EXPECT_FALSE(interning_.stack(1));
    add_stack(2, {1});
    EXPECT_EQ(trace_.unreadable, 1U);
}

TEST_F(Interned, NamesAreCutAndMadePrintable) {
    add(event_names, named(1, std::string(name_limit_bytes, 'x') + "y"));
    EXPECT_EQ(name(interning_.event_name(1)), std::string(name_limit_bytes, 'x'));
    add(event_names, named(2, "a\x1b[2J"));
    EXPECT_EQ(name(interning_.event_name(2)).find('\x1b'), std::string::npos);
}

TEST_F(Interned, AFrameHasItsFunctionFileAndSource) {
    add(mapping_paths, named(1, "/usr"));
    add(mapping_paths, named(2, "bin/app"));
    add(build_ids, named(4, "\xab\xcd"));
    add(function_names, named(1, "work"));
    add(source_paths, named(3, "/src/work.c"));
    add_mapping(5, 4, {1, 2}, false, 0x1000);
    add_frame(1, 1, 5, 0x1234, 3, 17);
    const Frame& frame = trace_.frames.at(0);
    EXPECT_EQ(name(frame.label), "work");
    EXPECT_EQ(name(frame.module), "/usr/bin/app");
    EXPECT_EQ(name(frame.build_id), "abcd");
    EXPECT_EQ(name(frame.source), "/src/work.c");
    EXPECT_EQ(frame.line, 17U);
    EXPECT_EQ(frame.offset, 0x1234U);
    EXPECT_EQ(frame.load_bias, 0x1000U);
    EXPECT_TRUE(frame.named);
    EXPECT_FALSE(frame.kernel);
}

TEST_F(Interned, AFrameWithoutANameHasThatOfItsFile) {
    add(mapping_paths, named(1, "/usr/lib/libz.so.1"));
    add_mapping(1, 0, {1});
    add_frame(1, 9, 1, 0, 9, 17);
    const Frame& frame = trace_.frames.at(0);
    EXPECT_EQ(name(frame.label), "[libz.so.1]");
    EXPECT_FALSE(frame.named);
    EXPECT_EQ(frame.source, 0U);
    EXPECT_EQ(frame.line, 0U) << "a line of an unknown file";
    EXPECT_EQ(frame.build_id, 0U);
}

TEST_F(Interned, FramesOfTheKernelAreKnownByTheirFile) {
    add(mapping_paths, named(1, std::string(kernel_path)));
    add_mapping(1, 0, {1});
    add(function_names, named(1, "schedule"));
    add_frame(1, 1, 1);
    EXPECT_TRUE(trace_.frames.at(0).kernel);
}

TEST_F(Interned, PathsAreJoinedOfTheirParts) {
    add(mapping_paths, named(1, "/usr/"));
    add(mapping_paths, named(2, "lib"));
    const auto path_of = [&](const std::vector<std::uint64_t>& parts, bool packed) {
        add_mapping(1, 0, parts, packed);
        add_frame(1, 0, 1);
        return name(trace_.frames.back().module);
    };
    EXPECT_EQ(path_of({1, 2}, false), "/usr/lib");
    EXPECT_EQ(path_of({1, 2, 2}, true), "/usr/lib/lib");
    EXPECT_EQ(trace_.unreadable, 0U);
    EXPECT_EQ(path_of({1, 7, 2}, true), "/usr/lib");
    EXPECT_EQ(trace_.unreadable, 1U);
    add(mapping_paths, named(3, std::string(name_limit_bytes - 1, 'x')));
    EXPECT_EQ(path_of({3, 2, 2}, false), std::string(name_limit_bytes - 1, 'x') + "/lib");
}

TEST_F(Interned, StacksHaveTheirFramesInOrder) {
    add(function_names, named(1, "main"));
    add(function_names, named(2, "work"));
    add_frame(10, 1, 0);
    add_frame(20, 2, 0);
    add_stack(1, {10, 20});
    add_stack(2, {20, 20, 10}, true);
    EXPECT_EQ(labels(1), (std::vector<std::string>{"main", "work"}));
    EXPECT_EQ(labels(2), (std::vector<std::string>{"work", "work", "main"}));
    EXPECT_EQ(interning_.stack(1), 1U);
    EXPECT_EQ(interning_.stack(2), 2U);
    EXPECT_EQ(trace_.unreadable, 0U);
    // Each frame of a stack counts towards the limit of the trace.
    EXPECT_EQ(trace_.records, 4U + 2U + 5U);
    add_stack(3, {10, 99});
    EXPECT_EQ(labels(3), (std::vector<std::string>{"main"}));
    EXPECT_EQ(trace_.unreadable, 1U);
}

TEST_F(Interned, StacksHaveALimit) {
    add(function_names, named(1, "main"));
    add_frame(10, 1, 0);
    add_stack(1, std::vector<std::uint64_t>(4098, 10), true);
    EXPECT_EQ(labels(1).size(), 4096U);
    EXPECT_EQ(trace_.unreadable, 2U);
}

// What is referred to may follow in the same message.
TEST_F(Interned, TheOrderWithinAMessageIsFree) {
    const std::string message = message_of([](pbf_writer& data) {
        data.add_message(callstacks, message_of([](pbf_writer& stack) {
                             stack.add_uint64(1, 1);
                             stack.add_uint64(2, 1);
                         }));
        data.add_message(frames, message_of([](pbf_writer& frame) {
                             frame.add_uint64(1, 1);
                             frame.add_uint64(2, 1);
                             frame.add_uint64(3, 1);
                         }));
        data.add_message(mappings, message_of([](pbf_writer& mapping) {
                             mapping.add_uint64(1, 1);
                             mapping.add_uint64(7, 1);
                         }));
        data.add_message(mapping_paths, named(1, "/usr/bin/app"));
        data.add_message(function_names, named(1, "main"));
    });
    interning_.add(message, trace_);
    EXPECT_EQ(labels(1), (std::vector<std::string>{"main"}));
    EXPECT_EQ(name(trace_.frames.at(0).module), "/usr/bin/app");
    EXPECT_EQ(trace_.unreadable, 0U);
}

TEST(RawTraceTest, StoresNamesAndLocksOnce) {
    RawTrace trace;
    EXPECT_EQ(trace.intern(""), 0U);
    EXPECT_EQ(trace.intern("one"), 1U);
    EXPECT_EQ(trace.intern("two"), 2U);
    EXPECT_EQ(trace.intern("one"), 1U);
    EXPECT_EQ(trace.names, (std::vector<std::string>{"", "one", "two"}));
    EXPECT_EQ(trace.name_bytes, 12U);
    EXPECT_EQ(trace.lock_of(77), 1U);
    EXPECT_EQ(trace.lock_of(78), 2U);
    EXPECT_EQ(trace.lock_of(77), 1U);
}

TEST(RawTraceTest, HasALimit) {
    RawTrace trace;
    trace.records = record_limit;
    trace.name_bytes = name_bytes_limit;
    EXPECT_FALSE(trace.too_large());
    ++trace.records;
    EXPECT_TRUE(trace.too_large());
    --trace.records;
    ++trace.name_bytes;
    EXPECT_TRUE(trace.too_large());
}

}  // namespace
}  // namespace lagtrap::analysis::interning_test
