// Each field of a batch of runs by its number and encoding, and the limits of reader and writer.
#include <zstd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "core/digest.hpp"
#include "trace/run_batches/run_batch.hpp"
#include "trace/run_batches/run_batch_limits.hpp"

namespace lagtrap::trace::run_batch_reader_test {
namespace {

using protozero::pbf_writer;
using testing::HasSubstr;

const std::string batch_id = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";

std::string packed(const std::string& message) {
    std::string bytes(ZSTD_compressBound(message.size()), '\0');
    bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), message.data(), message.size(), 1));
    return bytes;
}

// A batch with an id, the texts "a" (1), "bb" (2) and "ccc" (3), and what `add` adds.
template <typename Add>
Result<RunBatch> read_with(Add add) {
    std::string message;
    pbf_writer writer(message);
    writer.add_string(1, batch_id);
    for (const char* text : {"a", "bb", "ccc"}) writer.add_string(9, text);
    add(writer);
    return read_run_batch(packed(message));
}

template <typename Add>
std::string problem_with(Add add) {
    const auto batch = read_with(add);
    return batch ? "" : batch.error().message;
}

// The run of a batch that has these fields in addition to its event and weight.
template <typename Add>
RecordedRun run_with(Add add) {
    const auto batch = read_with([&](pbf_writer& writer) {
        for (int i = 0; i < 2; ++i) writer.add_message(10, std::string());  // two stacks
        pbf_writer run(writer, 11);
        run.add_uint64(1, 1);
        run.add_uint64(17, 1);
        add(run);
    });
    EXPECT_TRUE(batch) << batch.error().message;
    return batch ? batch->runs.at(0) : RecordedRun();
}

TEST(RunBatchFields, OfTheHeadHaveTheirNumbers) {
    const auto batch = read_with([](pbf_writer& writer) {
        writer.add_string(2, "host");
        writer.add_string(3, "boot");
        writer.add_string(4, "hint");
        writer.add_string(5, "1.2");
        writer.add_uint64(6, 60);
        writer.add_uint64(7, 70);
        writer.add_uint64(8, 80);
    });
    ASSERT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(batch->batch_id, batch_id);
    EXPECT_EQ(batch->host, "host");
    EXPECT_EQ(batch->boot_id, "boot");
    EXPECT_EQ(batch->session_hint, "hint");
    EXPECT_EQ(batch->version, "1.2");
    EXPECT_EQ(batch->made_realtime_ns, 60U);
    EXPECT_EQ(batch->runs_sampled_away, 70U);
    EXPECT_EQ(batch->runs_lost, 80U);
    EXPECT_FALSE(batch->objects);
}

TEST(RunBatchFields, OfARunHaveTheirNumbers) {
    const RecordedRun run = run_with([](pbf_writer& writer) {
        writer.add_uint64(2, 1ULL << 60);
        writer.add_uint64(3, 300);
        writer.add_uint64(4, 400);
        writer.add_uint64(5, ~0ULL);
        writer.add_uint64(6, 6);
        writer.add_uint64(7, 7);
        writer.add_uint64(8, 0xffffffff);
        writer.add_uint64(9, 1);
        writer.add_uint64(10, 2);
        writer.add_uint64(11, 3);
        writer.add_uint64(12, 1);
        writer.add_uint64(13, 2);
        writer.add_uint64(14, 2);
        writer.add_uint64(15, 1);
        writer.add_uint64(18, 1);
        writer.add_uint64(19, 2);
        writer.add_uint64(21, 9);
        writer.add_uint64(23, 3);
        pbf_writer stage(writer, 20);
        stage.add_uint64(1, 2);
        stage.add_uint64(2, 33);
        stage.add_uint64(3, 44);
        stage.add_uint64(4, 1);
    });
    EXPECT_EQ(run.event, "a");
    EXPECT_EQ(run.begin_realtime_ns, 1ULL << 60);
    EXPECT_EQ(run.duration_ns, 300U);
    EXPECT_EQ(run.threshold_ns, 400U);
    EXPECT_EQ(run.key, ~0ULL);
    EXPECT_EQ(run.pid, 6U);
    EXPECT_EQ(run.begin_tid, 7U);
    EXPECT_EQ(run.end_tid, 0xffffffffU);
    EXPECT_EQ(run.thread, "a");
    EXPECT_EQ(run.process, "bb");
    EXPECT_EQ(run.executable, "ccc");
    EXPECT_EQ(run.build_id, "a");
    EXPECT_EQ(run.user, "bb");
    EXPECT_EQ(run.unit, "ccc");
    EXPECT_EQ(run.start, StartKind::Warm);
    EXPECT_TRUE(run.delay);
    EXPECT_FALSE(run.aborted || run.without_stages);
    EXPECT_EQ(run.begin_stack, 1U);
    EXPECT_EQ(run.end_stack, 2U);
    EXPECT_EQ(run.dirty_reasons, 9U);
    EXPECT_FALSE(run.times);
    EXPECT_EQ(run.stages, (std::vector<RunStage>{{"bb", 33, 44, 1}}));
}

TEST(RunBatchFields, FlagsAreTheirOwn) {
    const auto with = [](std::uint32_t field, std::uint64_t value) {
        const RecordedRun run =
            run_with([&](pbf_writer& writer) { writer.add_uint64(field, value); });
        return std::string(run.delay ? "delay " : "") + (run.aborted ? "aborted " : "") +
               (run.without_stages ? "without-stages " : "");
    };
    EXPECT_EQ(with(15, 1), "delay ");
    EXPECT_EQ(with(16, 2), "aborted ");
    EXPECT_EQ(with(24, 1), "without-stages ");
    EXPECT_EQ(with(15, 0), "");
    EXPECT_EQ(run_with([](pbf_writer& writer) { writer.add_uint64(14, 1); }).start,
              StartKind::Cold);
    EXPECT_EQ(run_with([](pbf_writer& writer) { writer.add_uint64(14, 0); }).start,
              StartKind::Unknown);
}

TEST(RunBatchFields, OfTimesHaveTheirNumbers) {
    const RunTimes times = *run_with([](pbf_writer& writer) {
                                writer.add_uint64(3, 1000);
                                pbf_writer parts(writer, 22);
                                parts.add_uint64(1, 1);
                                parts.add_uint64(2, 20);
                                parts.add_uint64(3, 3);
                                parts.add_uint64(4, 40);
                                for (std::uint32_t i = 0; i < LAGTRAP_WAIT_CLASSES; ++i)
                                    parts.add_uint64(16 + i, 5 + i);
                                parts.add_uint64(15, 700);
                            }).times;
    EXPECT_EQ(times.parts.on_cpu_ns, 1U);
    EXPECT_EQ(times.parts.runnable_ns, 20U);
    EXPECT_EQ(times.parts.throttled_ns, 3U);
    EXPECT_EQ(times.handed_over_ns, 40U);
    for (std::uint32_t i = 0; i < LAGTRAP_WAIT_CLASSES; ++i)
        EXPECT_EQ(times.parts.blocked_ns[i], 5 + i);
}

TEST(RunBatchFields, OfFramesAndObjectsHaveTheirNumbers) {
    const auto batch = read_with([](pbf_writer& writer) {
        {
            pbf_writer stack(writer, 10);
            pbf_writer frame(stack, 1);
            frame.add_uint64(1, 1);
            frame.add_uint64(2, 2);
            frame.add_uint64(3, 1ULL << 40);
            frame.add_uint64(4, 3);
            frame.add_uint64(5, 1);
            frame.add_uint64(6, 66);
        }
        pbf_writer part(writer, 12);
        part.add_string(1, batch_id);
        part.add_uint64(2, 22);
        part.add_uint64(3, 33);
        part.add_string(4, "shop");
        part.add_uint64(5, 55);
        part.add_uint64(6, 1);
        part.add_string(7, "{}\n");
    });
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_EQ(batch->stacks.size(), 1U);
    EXPECT_EQ(batch->stacks[0], (RunStack{{"a", "bb", 1ULL << 40, "ccc", "a", 66}}));
    EXPECT_EQ(batch->objects, (ObjectsPart{batch_id, 22, 33, "shop", 55, true, "{}\n"}));
}

// As a later version may write them, anywhere.
TEST(RunBatchFields, UnknownOnesAreSkipped) {
    EXPECT_EQ(problem_with([](pbf_writer& writer) {
                  writer.add_string(99, "x");
                  {
                      pbf_writer stack(writer, 10);
                      stack.add_uint64(99, 1);
                      pbf_writer frame(stack, 1);
                      frame.add_fixed64(99, 1);
                  }
                  {
                      pbf_writer run(writer, 11);
                      run.add_uint64(1, 1);
                      run.add_uint64(17, 1);
                      run.add_string(99, "x");
                      {
                          pbf_writer times(run, 22);
                          times.add_string(99, "x");
                      }
                      pbf_writer stage(run, 20);
                      stage.add_string(99, "x");
                  }
                  pbf_writer part(writer, 12);
                  part.add_string(1, batch_id);
                  part.add_uint64(2, 1);
                  part.add_string(99, "x");
              }),
              "");
}

TEST(RunBatchFields, HaveOneEncoding) {
    const std::string wrong = "batch of runs: field ";
    for (const std::uint32_t text : {1U, 2U, 3U, 4U, 5U, 9U})
        EXPECT_EQ(problem_with([&](pbf_writer& writer) { writer.add_uint64(text, 1); }),
                  wrong + std::to_string(text) + " is encoded in another way");
    for (const std::uint32_t number : {6U, 7U, 8U})
        EXPECT_EQ(problem_with([&](pbf_writer& writer) { writer.add_string(number, "1"); }),
                  wrong + std::to_string(number) + " is encoded in another way");
    for (const std::uint32_t message : {10U, 11U, 12U})
        EXPECT_EQ(problem_with([&](pbf_writer& writer) { writer.add_uint64(message, 1); }),
                  wrong + std::to_string(message) + " is encoded in another way");
    for (std::uint32_t field = 1; field <= 24; ++field) {
        const bool message = field == 20 || field == 22;
        EXPECT_EQ(problem_with([&](pbf_writer& writer) {
                      pbf_writer run(writer, 11);
                      message ? run.add_uint64(field, 1) : run.add_string(field, "1");
                  }),
                  wrong + std::to_string(field) + " is encoded in another way");
    }
    EXPECT_EQ(problem_with([](pbf_writer& writer) {
                  pbf_writer part(writer, 12);
                  part.add_uint64(7, 1);
              }),
              wrong + "7 is encoded in another way");
}

TEST(RunBatchFields, NumbersHave32BitsWhereTheirTypeHas) {
    const auto problem_in = [](std::uint32_t outer, std::uint32_t field) {
        return problem_with([&](pbf_writer& writer) {
            pbf_writer part(writer, outer);
            part.add_uint64(field, 1ULL << 32);
        });
    };
    const std::string refused = "batch of runs: a number beyond 32 bits: 4294967296";
    for (const std::uint32_t field : {6U, 7U, 8U, 17U, 18U, 19U, 21U})
        EXPECT_EQ(problem_in(11, field), refused) << field;
    for (const std::uint32_t field : {2U, 3U}) EXPECT_EQ(problem_in(12, field), refused) << field;
}

TEST(RunBatchFields, TextsAreThoseOfTheBatch) {
    const auto process = [](std::uint64_t number) {
        return problem_with([&](pbf_writer& writer) {
            pbf_writer run(writer, 11);
            run.add_uint64(1, 1);
            run.add_uint64(17, 1);
            run.add_uint64(10, number);
        });
    };
    EXPECT_EQ(process(0), "");
    EXPECT_EQ(process(3), "");
    EXPECT_EQ(process(4), "batch of runs: text 4 of 3 is named");
    // A text may come after what refers to it.
    EXPECT_EQ(problem_with([](pbf_writer& writer) {
                  {
                      pbf_writer run(writer, 11);
                      run.add_uint64(1, 4);
                      run.add_uint64(17, 1);
                  }
                  writer.add_string(9, "late");
              }),
              "");
    EXPECT_EQ(
        problem_with([](pbf_writer& writer) { writer.add_string(2, std::string(4096, 'x')); }), "");
    EXPECT_THAT(
        problem_with([](pbf_writer& writer) { writer.add_string(2, std::string(4097, 'x')); }),
        HasSubstr("4097 bytes in a text; at most 4096"));
    EXPECT_EQ(problem_with([](pbf_writer& writer) { writer.add_string(2, "a\n"); }),
              "batch of runs: a text that is not printable: \"a\\x0a\"");
}

TEST(RunBatchFields, KindsOfStartAreKnown) {
    EXPECT_EQ(problem_with([](pbf_writer& writer) {
                  pbf_writer run(writer, 11);
                  run.add_uint64(14, 3);
              }),
              "batch of runs: kind of start 3; 0 (unknown), 1 (cold) and 2 (warm) are known");
}

TEST(RunBatchFields, ARunWithoutAWeightIsRefused) {
    EXPECT_THAT(problem_with([](pbf_writer& writer) {
                    pbf_writer run(writer, 11);
                    run.add_uint64(1, 1);
                }),
                HasSubstr("weight 0"));
}

TEST(RunBatchFields, TheBatchHasAnId) {
    std::string message;
    pbf_writer(message).add_string(2, "host");
    EXPECT_EQ(read_run_batch(packed(message)).error().message,
              "batch of runs: the batch's id \"\" is no UUID");
}

TEST(RunBatchFields, AFrameSaysHowLargeItIs) {
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    std::string bytes(1000, '\0');
    ZSTD_outBuffer output{bytes.data(), bytes.size(), 0};
    ZSTD_inBuffer input{"abc", 3, 0};
    ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush);  // size not known beforehand
    ZSTD_compressStream2(context, &output, &input, ZSTD_e_end);
    ZSTD_freeCCtx(context);
    bytes.resize(output.pos);
    EXPECT_EQ(read_run_batch(bytes).error().message,
              "a batch of runs that does not say how large it is unpacked");
    std::string damaged = packed(std::string(10'000, 'a') + std::string(10'000, 'b'));
    damaged[damaged.size() - 2] = static_cast<char>(damaged[damaged.size() - 2] ^ 0x55);
    EXPECT_THAT(read_run_batch(damaged).error().message, HasSubstr("batch of runs"));
    EXPECT_THAT(read_run_batch(packed(std::string("\x0a\xff", 2))).error().message,
                testing::StartsWith("damaged batch of runs: "));
}

// A batch with this many of something, up to its limit.
RunBatch small_batch() {
    RunBatch batch;
    batch.batch_id = batch_id;
    RecordedRun run;
    run.event = "e";
    run.duration_ns = 10;
    batch.runs = {run};
    return batch;
}

// The writer's complaint; the reader accepts what it wrote.
std::string complaint(const RunBatch& batch) {
    const auto bytes = write_run_batch(batch);
    if (!bytes) return bytes.error().message;
    const auto read = read_run_batch(*bytes);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read && *read == batch);
    return "";
}

TEST(RunBatchLimitsOfWriter, CountsAreAllowedUpToTheirLimits) {
    RunBatch batch = small_batch();
    batch.stacks.assign(20'000, {});
    EXPECT_EQ(complaint(batch), "");
    batch.stacks.emplace_back();
    EXPECT_THAT(complaint(batch), HasSubstr("20001 stacks; at most 20000"));
    batch = small_batch();
    batch.stacks = {RunStack(1024)};
    EXPECT_EQ(complaint(batch), "");
    batch.stacks = {RunStack(1025)};
    EXPECT_THAT(complaint(batch), HasSubstr("1025 frames in a stack; at most 1024"));
    batch.stacks.assign(200, RunStack(1000));
    EXPECT_EQ(complaint(batch), "");
    batch.stacks.emplace_back(1);
    EXPECT_THAT(complaint(batch), HasSubstr("200001 frames; at most 200000"));
    batch = small_batch();
    batch.runs[0].stages.assign(64, RunStage{"s", 1, 0, 0});
    EXPECT_EQ(complaint(batch), "");
    batch.runs.assign(6250, batch.runs[0]);
    EXPECT_EQ(complaint(batch), "");
    batch.runs.push_back(small_batch().runs[0]);
    batch.runs.back().stages.resize(1);
    EXPECT_THAT(complaint(batch), HasSubstr("400001 stages; at most 400000"));
    batch = small_batch();
    batch.runs[0].stages.resize(65);
    EXPECT_THAT(complaint(batch), HasSubstr("65 stages in a run; at most 64"));
}

TEST(RunBatchLimitsOfWriter, TextsAreAllowedUpToTheirLimits) {
    RunBatch batch = small_batch();
    const auto fill = [&](std::size_t texts) {
        batch.stacks.clear();
        for (std::size_t i = 0; i < texts; ++i) {
            if (i % 1000 == 0) batch.stacks.emplace_back();
            batch.stacks.back().emplace_back().function = std::to_string(i);
        }
    };
    fill(99'999);  // and the event's name
    EXPECT_EQ(complaint(batch), "");
    fill(100'000);
    EXPECT_THAT(complaint(batch), HasSubstr("100001 texts; at most 100000"));
    // Texts count as often as they are used.
    batch = small_batch();
    batch.runs[0].event = std::string(4096, 'x');
    RunStack stack(1000);
    for (RunFrame& frame : stack) frame.function = batch.runs[0].event;
    batch.stacks.assign(8, stack);
    batch.stacks.emplace_back(stack.begin(), stack.begin() + 191);  // 8192 texts with the event's
    EXPECT_EQ(complaint(batch), "");
    batch.runs[0].process = "x";
    EXPECT_THAT(complaint(batch), HasSubstr("33554433 bytes of texts; at most 33554432"));
}

TEST(RunBatchLimitsOfWriter, TheMessageHasALimit) {
    RunBatch batch = small_batch();
    batch.objects.emplace();
    batch.objects->watch_id = batch_id;
    batch.objects->number = 1;
    const std::string line = "{\"a\":\"" + std::string(1000, 'x') + "\"}\n";
    for (std::size_t i = 0; i < 8000; ++i) batch.objects->lines += line;
    EXPECT_EQ(complaint(batch), "");
    const std::string text(4096, 't');
    for (std::size_t i = 0; i < 2200; ++i)
        batch.stacks.push_back({{text.substr(4) + std::to_string(1000 + i), "", 0, "", "", 0}});
    EXPECT_THAT(complaint(batch), HasSubstr(" bytes; at most 16777216"));
}

TEST(RunBatchLimitsOfWriter, TextsAreCutAndCountedOnce) {
    RunBatch batch = small_batch();
    batch.runs[0].process = std::string(5000, 'p');
    batch.runs[0].thread = std::string(5000, 'p');
    batch.host = std::string(5000, 'h');
    const auto bytes = write_run_batch(batch);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto read = read_run_batch(*bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->runs[0].process, std::string(4096, 'p'));
    EXPECT_EQ(read->runs[0].thread, read->runs[0].process);
    EXPECT_EQ(read->host, std::string(4096, 'h'));
}

}  // namespace
}  // namespace lagtrap::trace::run_batch_reader_test
