#include "trace/run_batches/run_batch.hpp"

#include <zstd.h>

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "core/digest.hpp"
#include "trace/run_batches/run_batch_fields.hpp"

namespace lagtrap::trace::run_batch_test {
namespace {

namespace fields = run_batch_fields;
using testing::HasSubstr;

RecordedRun sample_run() {
    RecordedRun run;
    run.event = "query";
    run.begin_realtime_ns = 1'700'000'000'123'456'789;
    run.duration_ns = 5'000'000;
    run.threshold_ns = 4'000'000;
    run.key = ~0ULL;
    run.pid = 100;
    run.begin_tid = 101;
    run.end_tid = 102;
    run.thread = "worker";
    run.process = "postgres";
    run.executable = "/usr/lib/postgresql/15/bin/postgres";
    run.build_id = "0123456789abcdef";
    run.user = "shop";
    run.unit = "postgresql@15-main.service";
    run.start = StartKind::Warm;
    run.delay = true;
    run.aborted = run.without_stages = true;
    run.weight = 7;
    run.begin_stack = 1;
    run.end_stack = 2;
    run.stages = {{"parse", 0, 101, 0}, {"plan", 20'000, 101, 2}, {"run", 5'000'000, 102, 1}};
    run.dirty_reasons = DirtySuspended | DirtyAborted;
    RunTimes& times = run.times.emplace();
    times.parts.on_cpu_ns = 1'000'000;
    times.parts.runnable_ns = 900'000;
    times.parts.throttled_ns = 300'000;
    times.parts.blocked_ns[LAGTRAP_WAIT_OTHER] = 7;
    times.parts.blocked_ns[LAGTRAP_WAIT_STOPPED] = 100'000;
    times.handed_over_ns = 2'999'993;
    return run;
}

RunBatch sample_batch() {
    RunBatch batch;
    batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    batch.host = "machine";
    batch.boot_id = "11111111-2222-3333-4444-555555555555";
    batch.session_hint = "hint";
    batch.version = "1.2.3";
    batch.made_realtime_ns = 1'700'000'001'000'000'000;
    batch.stacks = {
        {{"/bin/x", "aa", 0x1234, "inner", "/src/x.c", 12}, {"/bin/x", "aa", 0x99, "main", "", 0}},
        {}};
    batch.runs = {sample_run(), sample_run()};
    batch.runs[1].weight = 1;
    batch.runs[1].stages.clear();
    batch.runs[1].times.reset();
    batch.runs_sampled_away = 6;
    batch.runs_lost = 3;
    return batch;
}

std::string packed(const std::string& message) {
    std::string bytes(ZSTD_compressBound(message.size()), '\0');
    bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), message.data(), message.size(), 1));
    return bytes;
}

std::string unpacked(const std::string& bytes) {
    std::string message(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
    message.resize(ZSTD_decompress(message.data(), message.size(), bytes.data(), bytes.size()));
    return message;
}

// A message that is valid except for what `add` adds.
template <typename Add>
std::string message_with(Add add) {
    std::string message = unpacked(*write_run_batch(sample_batch()));
    protozero::pbf_writer writer(message);
    add(writer);
    return packed(message);
}

std::string refusal(const Result<RunBatch>& batch) {
    return batch ? "not refused" : batch.error().message;
}

TEST(RunBatch, ComesBackAsItWas) {
    const RunBatch batch = sample_batch();
    const auto bytes = write_run_batch(batch);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, *write_run_batch(batch)) << "the same batch gives other bytes";
    const auto read = read_run_batch(*bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(*read == batch);
    EXPECT_EQ(read->runs.at(0).stages.at(2).at_ns, 5'000'000U);
    EXPECT_EQ(read->stacks.at(0).at(0).file, "/src/x.c");
}

TEST(RunBatch, EachFlagOfARunIsItsOwn) {
    for (bool RecordedRun::*const flag :
         {&RecordedRun::delay, &RecordedRun::aborted, &RecordedRun::without_stages}) {
        RunBatch batch = sample_batch();
        batch.runs.resize(1);
        RecordedRun& run = batch.runs[0];
        run.delay = run.aborted = run.without_stages = false;
        run.*flag = true;
        EXPECT_TRUE(*read_run_batch(*write_run_batch(batch)) == batch);
    }
    for (const StartKind start : {StartKind::Unknown, StartKind::Cold, StartKind::Warm}) {
        RunBatch batch = sample_batch();
        batch.runs[0].start = start;
        EXPECT_EQ(read_run_batch(*write_run_batch(batch))->runs[0].start, start);
    }
}

// Classes of waits and fields that a later version may have.
TEST(RunBatch, WaitsOfUnknownClassesAreOfNoClass) {
    const auto batch = read_run_batch(message_with([](auto& writer) {
        protozero::pbf_writer run(writer, fields::batch::run);
        run.add_uint64(fields::run::event, 1);
        run.add_uint64(fields::run::weight, 1);
        run.add_uint64(fields::run::duration_ns, 100);
        protozero::pbf_writer times(run, fields::run::times);
        times.add_uint64(fields::times::blocked_ns + LAGTRAP_WAIT_DISK, 5);
        times.add_uint64(fields::times::blocked_ns + LAGTRAP_WAIT_CLASSES, 20);
        times.add_uint64(fields::times::blocked_last, 30);
        times.add_uint64(fields::times::blocked_last + 1, 40);
        times.add_uint64(9, 40);
    }));
    ASSERT_TRUE(batch) << batch.error().message;
    const TimeParts& parts = batch->runs.back().times.value().parts;
    EXPECT_EQ(parts.blocked_ns[LAGTRAP_WAIT_DISK], 5U);
    EXPECT_EQ(parts.blocked_ns[LAGTRAP_WAIT_OTHER], 50U);
    EXPECT_EQ(parts.total_ns(), 55U);
}

// A marker's clock may be read before a preemption that is counted on the marker's other side.
TEST(TimeParts, NoneIsBelowZero) {
    lagtrap_time_parts record{};
    record.on_cpu_ns = 1000;
    record.runnable_ns = 0 - 30ULL;
    record.blocked_ns[LAGTRAP_WAIT_LOCK] = 500;
    EXPECT_EQ(time_parts(record).runnable_ns, 0U);
    EXPECT_EQ(time_parts(record).on_cpu_ns, 970U);
    EXPECT_EQ(time_parts(record).total_ns(), 1470U);
}

TEST(RunBatch, MakesTextsPrintable) {
    RunBatch batch = sample_batch();
    batch.runs[0].thread = std::string("evil\n\x1b[2J\0\xff", 11);
    batch.runs[0].process = std::string(5000, 'x') + "\xc3\xa4";
    // the limit falls within the character
    batch.runs[1].process = std::string(4095, 'x') + "\xc3\xa4";
    // takes five bytes in a batch, so the limit falls within the last character
    batch.runs[1].thread = "\1x";
    for (int i = 0; i < 2047; ++i) batch.runs[1].thread += "\xc3\xa4";
    const auto read = read_run_batch(*write_run_batch(batch));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->runs[0].thread, "evil\\x0a\\x1b[2J\\x00\\xff");
    EXPECT_EQ(read->runs[0].process, std::string(4096, 'x'));
    EXPECT_LE(read->runs[1].process.size(), 4096U);
    EXPECT_TRUE(read->runs[1].process.starts_with(std::string(4095, 'x')));
    EXPECT_EQ(read->runs[1].thread.size(), 4095U);
    EXPECT_TRUE(read->runs[1].thread.ends_with("\xc3\xa4"));
}

TEST(RunBatch, HoldsTheGreatestNumberOfRuns) {
    RunBatch batch = sample_batch();
    batch.runs.assign(run_batch_runs_limit, sample_run());
    for (std::size_t i = 0; i < batch.runs.size(); ++i)
        batch.runs[i].begin_realtime_ns += i * 1'000'003;
    const auto bytes = write_run_batch(batch);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(*read_run_batch(*bytes) == batch);
    batch.runs.push_back(sample_run());
    EXPECT_THAT(write_run_batch(batch).error().message, HasSubstr("20001 runs; at most 20000"));
    EXPECT_EQ(write_run_batch(batch).error().kind, ErrorKind::TooLarge);
}

TEST(RunBatch, IsNotWrittenBeyondItsSize) {
    RunBatch batch = sample_batch();
    std::mt19937_64 random(7);
    batch.runs.clear();
    for (int i = 0; i < 12'000; ++i) {
        RecordedRun run = sample_run();
        run.thread.clear();
        for (int digit = 0; digit < 12; ++digit)
            run.thread += sha256_of(std::to_string(random())).substr(0, 16);
        batch.runs.push_back(std::move(run));
    }
    const auto bytes = write_run_batch(batch);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(bytes.error().message, HasSubstr("compressed bytes; at most 1048576"));
}

TEST(RunBatch, WriterRefusesWhatTheReaderWould) {
    const auto refused = [](auto change) {
        RunBatch batch = sample_batch();
        change(batch);
        const auto bytes = write_run_batch(batch);
        return bytes ? std::string("not refused") : bytes.error().message;
    };
    EXPECT_THAT(refused([](auto& b) { b.batch_id = "../../etc"; }), HasSubstr("no UUID"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].weight = 0; }), HasSubstr("weight 0"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].event.clear(); }), HasSubstr("name of its event"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].begin_stack = 3; }), HasSubstr("stack 3 of 2"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].stages[1].stack = 9; }), HasSubstr("stack 9 of 2"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].stages[2].at_ns = 5'000'001; }),
                HasSubstr("not inside"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].stages[0].at_ns = 30'000; }),
                HasSubstr("not in order"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].dirty_reasons = 64; }), HasSubstr("bits 64"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].duration_ns = ~0ULL; }), HasSubstr("400 days"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].times->handed_over_ns += 1; }),
                HasSubstr("more than its 5000000 ns"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].times->parts.on_cpu_ns = ~0ULL; }),
                HasSubstr("add up to more"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].times->parts.throttled_ns = 900'001; }),
                HasSubstr("add up to more"));
    EXPECT_THAT(refused([](auto& b) { b.stacks[0].resize(1025); }), HasSubstr("1025 frames"));
    EXPECT_THAT(refused([](auto& b) { b.runs[0].stages.resize(65); }), HasSubstr("65 stages"));
}

TEST(RunBatch, ReaderRefusesBrokenFrames) {
    const std::string good = *write_run_batch(sample_batch());
    EXPECT_THAT(refusal(read_run_batch("")), HasSubstr("no whole zstd frame"));
    EXPECT_THAT(refusal(read_run_batch("neither zstd nor a batch")),
                HasSubstr("no whole zstd frame"));
    EXPECT_THAT(refusal(read_run_batch(good.substr(0, good.size() - 1))),
                HasSubstr("no whole zstd frame"));
    EXPECT_THAT(refusal(read_run_batch(good + "x")), HasSubstr("bytes after"));
    EXPECT_THAT(refusal(read_run_batch(good + good)), HasSubstr("bytes after"));
    EXPECT_THAT(refusal(read_run_batch(std::string(run_batch_limit_bytes + 1, 'x'))),
                HasSubstr("at most 1048576"));
}

TEST(RunBatch, ReaderRefusesABombWithoutUnpackingIt) {
    const std::string bomb = packed(std::string(run_batch_unpacked_limit_bytes + 1, '\0'));
    ASSERT_LT(bomb.size(), run_batch_limit_bytes);
    EXPECT_THAT(refusal(read_run_batch(bomb)), HasSubstr("at most 16777216"));
}

TEST(RunBatch, ReaderChecksEveryIndexAndRange) {
    const auto with_run = [](auto fill) {
        return refusal(read_run_batch(message_with([&](auto& writer) {
            protozero::pbf_writer run(writer, fields::batch::run);
            run.add_uint64(fields::run::event, 1);
            run.add_uint64(fields::run::weight, 1);
            fill(run);
        })));
    };
    EXPECT_EQ(with_run([](auto&) {}), "not refused");
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::process, 9999); }),
                HasSubstr("text 9999"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::weight, 0); }),
                HasSubstr("weight 0"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::weight, 1ULL << 32); }),
                HasSubstr("32 bits"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::start, 3); }),
                HasSubstr("kind of start 3"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::end_stack, 5); }),
                HasSubstr("stack 5 of 2"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::dirty_reasons, 128); }),
                HasSubstr("bits 128"));
    EXPECT_THAT(with_run([](auto& run) { run.add_string(fields::run::pid, "text"); }),
                HasSubstr("another way"));
    EXPECT_THAT(with_run([](auto& run) { run.add_uint64(fields::run::stage, 1); }),
                HasSubstr("another way"));
    EXPECT_EQ(with_run([](auto& run) { run.add_uint64(4000, 1); }), "not refused")
        << "fields to come are passed over";
    const auto with_times = [&](auto fill) {
        return with_run([&](auto& run) {
            run.add_uint64(fields::run::duration_ns, 100);
            protozero::pbf_writer times(run, fields::run::times);
            fill(times);
        });
    };
    EXPECT_EQ(with_times([](auto&) {}), "not refused");
    EXPECT_THAT(with_times([](auto& times) { times.add_uint64(fields::times::on_cpu_ns, 101); }),
                HasSubstr("add up"));
    EXPECT_THAT(with_times([](auto& times) {
                    times.add_uint64(fields::times::blocked_ns, ~0ULL);
                    times.add_uint64(fields::times::blocked_last, 2);
                }),
                HasSubstr("add up"))
        << "sums do not wrap";
    EXPECT_THAT(with_times([](auto& times) { times.add_string(fields::times::runnable_ns, "x"); }),
                HasSubstr("another way"));
    EXPECT_THAT(refusal(read_run_batch(
                    message_with([](auto& w) { w.add_string(fields::batch::text, "a\x1b"); }))),
                HasSubstr("not printable"));
    EXPECT_THAT(refusal(read_run_batch(
                    message_with([](auto& w) { w.add_string(fields::batch::id, "x"); }))),
                HasSubstr("no UUID"));
}

TEST(RunBatch, ReaderBoundsWhatAFewBytesUnpackTo) {
    const auto many = [](auto add, int times) {
        return refusal(read_run_batch(message_with([&](auto& writer) {
            for (int i = 0; i < times; ++i) add(writer);
        })));
    };
    EXPECT_THAT(many([](auto& w) { w.add_message(fields::batch::stack, std::string()); }, 20'001),
                HasSubstr("stacks; at most"));
    EXPECT_THAT(many([](auto& w) { w.add_string(fields::batch::text, "t"); }, 100'001),
                HasSubstr("texts; at most"));
    std::string frames;
    for (int i = 0; i < 1000; ++i)
        protozero::pbf_writer(frames).add_message(fields::stack::frame, std::string());
    EXPECT_THAT(many([&](auto& w) { w.add_message(fields::batch::stack, frames); }, 201),
                HasSubstr("frames; at most"));
    // Text 1 is long, and every frame refers to it.
    std::string frame;
    protozero::pbf_writer(frame).add_uint64(fields::frame::function, 1);
    std::string long_frames;
    for (int i = 0; i < 1000; ++i)
        protozero::pbf_writer(long_frames).add_message(fields::stack::frame, frame);
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_string(fields::batch::text, std::string(4096, 'x'));
    for (int i = 0; i < 20; ++i) writer.add_message(fields::batch::stack, long_frames);
    EXPECT_THAT(refusal(read_run_batch(packed(message))), HasSubstr("bytes of texts; at most"));
}

TEST(RunBatch, BearsAnyBytes) {
    const std::string message = unpacked(*write_run_batch(sample_batch()));
    std::mt19937_64 random(11);
    int read_well = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes =
            message.substr(0, round % 4 == 0 ? random() % message.size() : message.size());
        for (std::uint64_t change = random() % 6; change > 0 && !bytes.empty(); --change)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        const auto batch = read_run_batch(packed(bytes));
        if (!batch) continue;
        ++read_well;
        const auto again = write_run_batch(*batch);
        ASSERT_TRUE(again) << again.error().message;
        ASSERT_TRUE(*read_run_batch(*again) == *batch);
    }
    EXPECT_GT(read_well, 100);
}

ObjectsPart sample_part() {
    ObjectsPart part;
    part.watch_id = "1b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    part.number = 3;
    part.pid = 7;
    part.process = "shop";
    part.lost_lines = 2;
    part.last = true;
    part.lines = "{\"a\":1}\n{\"b\":\"\u00e4\"}\n";
    return part;
}

TEST(RunBatch, APartAboutObjectsComesBackAsItWas) {
    RunBatch batch;
    batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    batch.objects = sample_part();
    const auto bytes = write_run_batch(batch);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto back = read_run_batch(*bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, batch);
}

TEST(RunBatch, PartsAboutObjectsThatNobodyCouldReadAreRefused) {
    const auto refused = [](const auto& change) {
        RunBatch batch;
        batch.batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
        change(batch.objects.emplace(sample_part()));
        const auto bytes = write_run_batch(batch);
        return bytes ? std::string() : bytes.error().message;
    };
    EXPECT_THAT(refused([](ObjectsPart& part) { part.watch_id = "x"; }), HasSubstr("is no UUID"));
    EXPECT_THAT(refused([](ObjectsPart& part) { part.number = 0; }), HasSubstr("count from 1"));
    EXPECT_THAT(refused([](ObjectsPart& part) { part.lines = "{}"; }), HasSubstr("has no end"));
    EXPECT_THAT(refused([](ObjectsPart& part) { part.lines = "[]\n"; }), HasSubstr("no object"));
    EXPECT_THAT(refused([](ObjectsPart& part) { part.lines = "{}\n\n"; }), HasSubstr("no object"));
    EXPECT_THAT(refused([](ObjectsPart& part) { part.lines = "{\x1b[2J}\n"; }),
                HasSubstr("not printable"));
    EXPECT_THAT(refused([](ObjectsPart& part) {
                    part.lines = std::string(objects_part_limit_bytes + 1, '{');
                }),
                HasSubstr("bytes of lines"));
}

}  // namespace
}  // namespace lagtrap::trace::run_batch_test
