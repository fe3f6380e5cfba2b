#include "analysis/open_delay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::analysis::open_delay_test {
namespace {

using trace::RecordingEnd;

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t ms = 1'000 * us;
constexpr std::uint64_t s = 1'000 * ms;
const std::string stopped = "the run had not ended when the recording stopped after 3.00 s";
const std::string gone = "none: the run's thread or process ended, or an exception left it";

struct Given {
    RecordingEnd end = RecordingEnd::Length;
    std::uint64_t length_ns = 3 * s, limit_ns = 3 * s;
    bool open = true, first = true, abandoned = false;
};

std::string note_of(const Given& given) {
    Recording recording;
    recording.system.end = given.end;
    recording.system.length_ns = 3 * s;
    recording.system.trace_length_ns = given.length_ns;
    recording.system.trace_length_limit_ns = given.limit_ns;
    Run other;
    other.id = 6;
    other.abandoned = true;
    Run own;
    own.id = 7;
    own.abandoned = given.abandoned;
    recording.runs = {other, own};
    trace::Delay delay;
    delay.run_id = 7;
    delay.open = given.open;
    delay.first = given.first;
    return open_delay_note(recording, delay);
}

TEST(OpenDelayNote, AdvisesATraceLengthThatIsFourTimesTheLimit) {
    struct Case {
        std::uint64_t length_ns, limit_ns;
        std::string advice;
    };
    for (const Case& one : {Case{3 * s, 3 * s, "; trace-length=\"3s..12s\" may show its end"},
                            Case{300 * ms, 4 * s, "; trace-length=\"300ms..16s\" may show its end"},
                            Case{1500 * us, 375 * ms + 250 * us,
                                 "; trace-length=\"1500us..1501ms\" may show its end"},
                            Case{1 * s, 149 * s, "; trace-length=\"1s..596s\" may show its end"},
                            Case{1 * s, 151 * s, "; trace-length=\"1s..600s\" may show its end"},
                            Case{1 * s, 599 * s, "; trace-length=\"1s..600s\" may show its end"},
                            Case{1 * s, 600 * s, ""}, Case{1 * s, 700 * s, ""}, Case{0, 3 * s, ""},
                            Case{1 * s, 0, ""}})
        EXPECT_EQ(note_of({.length_ns = one.length_ns, .limit_ns = one.limit_ns}),
                  stopped + one.advice);
    EXPECT_EQ(note_of({.end = RecordingEnd::Limit}), note_of({.end = RecordingEnd::Length}));
}

TEST(OpenDelayNote, SaysWhyTheEndIsMissing) {
    EXPECT_EQ(note_of({.end = RecordingEnd::Size}),
              stopped + ", at its size limit (capture-size-limit)");
    EXPECT_EQ(note_of({.abandoned = true}), gone);
    EXPECT_EQ(note_of({.first = false, .abandoned = true}), gone);
    EXPECT_EQ(note_of({.end = RecordingEnd::RunGone}), gone);
    EXPECT_EQ(note_of({.end = RecordingEnd::RunGone, .first = false}), "")
        << "another run was gone";
    EXPECT_EQ(note_of({.first = false}), "");
    EXPECT_EQ(note_of({.open = false}), "");
    EXPECT_EQ(note_of({.open = false, .abandoned = true}), "");
    EXPECT_EQ(note_of({.end = RecordingEnd{}, .first = true}), note_of({.end = RecordingEnd{}}));
}

}  // namespace
}  // namespace lagtrap::analysis::open_delay_test
