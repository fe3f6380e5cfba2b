#include "trace/logs/log.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/logs/log_format.hpp"
#include "trace/logs/record_check.hpp"

namespace lagtrap::trace::log_test {
namespace {

const std::string session_id = "0f8fad5b-d9cb-469f-a165-70867728950e";

lagtrap_sample sample_at(std::uint64_t at_ns) {
    lagtrap_sample sample{};
    sample.header = {sizeof(sample), LAGTRAP_RECORD_SAMPLE, 1, at_ns};
    sample.tid = static_cast<std::uint32_t>(at_ns);
    return sample;
}

std::vector<char> mapping_record(const std::string& path) {
    lagtrap_mapping mapping{};
    mapping.header = {static_cast<__u32>(sizeof(mapping) + path.size()), LAGTRAP_RECORD_MAPPING, 0,
                      5};
    mapping.path_bytes = static_cast<__u16>(path.size());
    std::vector<char> bytes(mapping.header.size_bytes);
    std::memcpy(bytes.data(), &mapping, sizeof(mapping));
    std::memcpy(bytes.data() + sizeof(mapping), path.data(), path.size());
    return bytes;
}

const lagtrap_record* as_record(const void* bytes) {
    return static_cast<const lagtrap_record*>(bytes);
}

// Time stamps of all records in a log; stores the reader's verdict in `summary`.
std::vector<std::uint64_t> times_in(const std::filesystem::path& path,
                                    LogSummary* summary = nullptr) {
    std::vector<std::uint64_t> times;
    auto reader = LogReader::open(path);
    if (!reader) return times;
    for (;;) {
        auto record = reader->next();
        if (!record || *record == nullptr) break;
        times.push_back((*record)->at_ns);
    }
    if (summary != nullptr) *summary = reader->summary();
    return times;
}

// Three blocks of two samples each, with time stamps 1 to 6.
std::string small_log(const std::filesystem::path& directory) {
    auto writer = LogWriter::create(directory, LogKind::Kernel, session_id, {1, 2, 3});
    EXPECT_TRUE(writer.ok());
    for (std::uint64_t at_ns = 1; at_ns <= 6; ++at_ns) {
        const auto sample = sample_at(at_ns);
        EXPECT_TRUE(writer->append(&sample.header));
        if (at_ns % 2 == 0) {
            EXPECT_TRUE(writer->flush());
        }
    }
    return read_file(directory / "kernel.log", 1 << 20).value();
}

void replace(const std::filesystem::path& path, std::string_view content) {
    std::ofstream(path, std::ios::trunc | std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
}

TEST(Log, GivesBackWhatWasWritten) {
    TemporaryDirectory directory;
    const std::string path_text = "/usr/lib/odd length";
    const auto mapping = mapping_record(path_text);
    {
        auto writer =
            LogWriter::create(directory.path(), LogKind::Rundown, session_id, {11, 22, 33});
        ASSERT_TRUE(writer.ok());
        ASSERT_TRUE(writer->append(as_record(mapping.data())));
        for (std::uint64_t at_ns = 6; at_ns < 20006; ++at_ns) {
            const auto sample = sample_at(at_ns);
            ASSERT_TRUE(writer->append(&sample.header));
        }
        ASSERT_TRUE(writer->flush());
        EXPECT_EQ(writer->size_bytes(),
                  std::filesystem::file_size(directory.path() / "rundown.log"));
    }
    auto reader = LogReader::open(directory.path() / "rundown.log");
    ASSERT_TRUE(reader.ok());
    auto first = reader->next();
    ASSERT_TRUE(first.ok() && *first != nullptr);
    ASSERT_EQ((*first)->type, LAGTRAP_RECORD_MAPPING);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(*first) + sizeof(lagtrap_mapping),
                          path_text.size()),
              path_text);
    for (std::uint64_t at_ns = 6; at_ns < 20006; ++at_ns) {
        auto record = reader->next();
        ASSERT_TRUE(record.ok() && *record != nullptr);
        ASSERT_EQ((*record)->at_ns, at_ns);
        ASSERT_EQ(reinterpret_cast<const lagtrap_sample*>(*record)->tid, at_ns);
    }
    auto end = reader->next();
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end, nullptr);
    EXPECT_FALSE(reader->summary().partial);
    EXPECT_EQ(reader->summary().kind, LogKind::Rundown);
    EXPECT_EQ(reader->summary().records, 20001U);
    EXPECT_EQ(reader->summary().session_id, session_id);
    EXPECT_EQ(reader->summary().clocks.boottime_ns, 22U);
}

TEST(Log, RefusesToOverwrite) {
    TemporaryDirectory directory;
    small_log(directory.path());
    EXPECT_FALSE(LogWriter::create(directory.path(), LogKind::Kernel, session_id, {}).ok());
}

TEST(Log, CutAnywhereGivesTheWholeBlocksBefore) {
    TemporaryDirectory directory;
    const std::string whole = small_log(directory.path());
    const auto path = directory.path() / "kernel.log";
    const std::size_t block = sizeof(LogBlockHeader) + 2 * sizeof(lagtrap_sample);
    ASSERT_EQ(whole.size(), sizeof(LogFileHeader) + 3 * block);
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        replace(path, std::string_view(whole).substr(0, length));
        LogSummary summary;
        const auto times = times_in(path, &summary);
        if (length < sizeof(LogFileHeader)) {
            EXPECT_FALSE(LogReader::open(path).ok()) << length;
            continue;
        }
        const std::size_t blocks = (length - sizeof(LogFileHeader)) / block;
        EXPECT_EQ(times.size(), 2 * blocks) << length;
        EXPECT_EQ(summary.partial, (length - sizeof(LogFileHeader)) % block != 0) << length;
        for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], i + 1);
    }
}

TEST(Log, AFlippedBitInAnyByteIsNoticed) {
    TemporaryDirectory directory;
    const std::string whole = small_log(directory.path());
    const auto path = directory.path() / "kernel.log";
    const std::size_t block = sizeof(LogBlockHeader) + 2 * sizeof(lagtrap_sample);
    for (std::size_t byte = 0; byte < whole.size(); ++byte) {
        std::string damaged = whole;
        damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
        replace(path, damaged);
        LogSummary summary;
        const auto times = times_in(path, &summary);
        if (byte < sizeof(LogFileHeader)) {
            ASSERT_FALSE(LogReader::open(path).ok()) << byte;
            continue;
        }
        const std::size_t blocks_before = (byte - sizeof(LogFileHeader)) / block;
        ASSERT_EQ(times.size(), 2 * blocks_before) << byte;
        ASSERT_TRUE(summary.partial) << byte;
    }
}

TEST(Log, RecordsThatSayMoreThanTheyHoldEndTheLog) {
    TemporaryDirectory directory;
    const auto path = directory.path() / "user.log";
    struct Case {
        std::vector<char> bytes;
        const char* what;
    };
    auto stack = [](std::uint16_t frames, std::size_t size) {
        lagtrap_stack record{};
        record.header = {static_cast<__u32>(size), LAGTRAP_RECORD_STACK, 0, 1};
        record.frame_count = frames;
        std::vector<char> bytes(size);
        std::memcpy(bytes.data(), &record, sizeof(record));
        return bytes;
    };
    auto mapping = mapping_record("/bin/true");
    reinterpret_cast<lagtrap_mapping*>(mapping.data())->path_bytes = 200;
    auto build_id = mapping_record("/bin/true");
    reinterpret_cast<lagtrap_mapping*>(build_id.data())->build_id_bytes = 25;
    lagtrap_process process{};
    process.header = {sizeof(process), LAGTRAP_RECORD_PROCESS, 0, 1};
    process.text_bytes = 1;
    std::vector<char> process_bytes(sizeof(process));
    std::memcpy(process_bytes.data(), &process, sizeof(process));
    for (const auto& [bytes, what] :
         {Case{stack(3, sizeof(lagtrap_stack) + 16), "two frames where three are announced"},
          Case{stack(200, sizeof(lagtrap_stack) + 1600), "more frames than a stack may have"},
          Case{mapping, "path beyond the record"}, Case{build_id, "build id beyond its field"},
          Case{process_bytes, "text beyond the record"}}) {
        std::filesystem::remove(path);
        {
            auto writer = LogWriter::create(directory.path(), LogKind::User, session_id, {});
            const auto before = sample_at(7);
            const auto after = sample_at(9);
            ASSERT_TRUE(writer->append(&before.header));
            ASSERT_TRUE(writer->append(as_record(bytes.data())));
            ASSERT_TRUE(writer->append(&after.header));
            ASSERT_TRUE(writer->flush());
        }
        LogSummary summary;
        EXPECT_EQ(times_in(path, &summary), std::vector<std::uint64_t>{7}) << what;
        EXPECT_TRUE(summary.partial) << what;
    }
}

TEST(Log, CopiesOfStacksAreRootsAloneAndHoldWhatTheySay) {
    const TemporaryDirectory directory;
    lagtrap_stack_copy copy{};
    copy.header = {sizeof(copy), LAGTRAP_RECORD_STACK_COPY, 0, 1};
    EXPECT_EQ(check_record(&copy.header, sizeof(copy)), RecordCheck::Whole);
    copy.copied_bytes = 8;
    EXPECT_EQ(check_record(&copy.header, sizeof(copy)), RecordCheck::Damaged);
    copy.copied_bytes = 0;
    copy.return_count = LAGTRAP_COPIED_RETURNS + 1;
    EXPECT_EQ(check_record(&copy.header, sizeof(copy)), RecordCheck::Damaged);
    std::vector<std::uint64_t> large((sizeof(copy) + LAGTRAP_COPIED_STACK_BYTES) / 8 + 1);
    copy.return_count = 0;
    copy.copied_bytes = LAGTRAP_COPIED_STACK_BYTES + 8;
    copy.header.size_bytes = static_cast<__u32>(large.size() * 8);
    std::memcpy(large.data(), &copy, sizeof(copy));
    EXPECT_EQ(check_record(as_record(large.data()), large.size() * 8), RecordCheck::Damaged);

    ASSERT_TRUE(LogWriter::create(directory.path(), LogKind::User, session_id, {1, 2, 3}));
    struct stat facts {};
    ASSERT_EQ(::stat((directory.path() / "user.log").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST(Log, UnknownTypesAreSkipped) {
    TemporaryDirectory directory;
    {
        auto writer = LogWriter::create(directory.path(), LogKind::User, session_id, {});
        const lagtrap_record unknown{sizeof(lagtrap_record), 999, 0, 1};
        const auto known = sample_at(2);
        ASSERT_TRUE(writer->append(&unknown));
        ASSERT_TRUE(writer->append(&known.header));
        ASSERT_TRUE(writer->flush());
    }
    LogSummary summary;
    EXPECT_EQ(times_in(directory.path() / "user.log", &summary), std::vector<std::uint64_t>{2});
    EXPECT_FALSE(summary.partial);
}

TEST(Log, HasTheClocksAndTheNameOfItsKind) {
    const TemporaryDirectory directory;
    const std::pair<LogKind, const char*> names[] = {{LogKind::User, "user.log"},
                                                     {LogKind::Kernel, "kernel.log"},
                                                     {LogKind::Rundown, "rundown.log"}};
    for (const auto& [kind, name] : names) {
        EXPECT_STREQ(log_file_name(kind), name);
        ASSERT_TRUE(LogWriter::create(directory.path(), kind, session_id, {11, 22, 33}));
        const auto reader = LogReader::open(directory.path() / name);
        ASSERT_TRUE(reader) << reader.error().message;
        const LogSummary& summary = reader->summary();
        EXPECT_EQ(summary.kind, kind);
        EXPECT_EQ(summary.clocks.monotonic_ns, 11U);
        EXPECT_EQ(summary.clocks.boottime_ns, 22U);
        EXPECT_EQ(summary.clocks.realtime_ns, 33U);
        EXPECT_EQ(summary.bytes, sizeof(LogFileHeader));
        EXPECT_EQ(summary.session_id, session_id);
        struct stat facts {};
        ASSERT_EQ(::stat((directory.path() / name).c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, kind == LogKind::User ? 0600U : 0640U) << name;
    }
}

TEST(Log, CountsWhatWasReadAndWritten) {
    const TemporaryDirectory directory;
    auto writer = LogWriter::create(directory.path(), LogKind::Kernel, session_id, {});
    ASSERT_TRUE(writer);
    EXPECT_EQ(writer->size_bytes(), sizeof(LogFileHeader));
    ASSERT_TRUE(writer->flush()) << "there is nothing to write";
    EXPECT_EQ(writer->size_bytes(), sizeof(LogFileHeader));
    const auto sample = sample_at(1);
    ASSERT_TRUE(writer->append(&sample.header));
    EXPECT_EQ(writer->size_bytes(), sizeof(LogFileHeader) + sizeof(sample)) << "still collected";
    ASSERT_TRUE(writer->flush());
    LogSummary summary;
    times_in(directory.path() / "kernel.log", &summary);
    EXPECT_EQ(summary.records, 1U);
    EXPECT_EQ(summary.bytes, writer->size_bytes());
    EXPECT_EQ(summary.bytes, std::filesystem::file_size(directory.path() / "kernel.log"));
}

// The header of a small log with a change, and then the right checksum.
template <typename Change>
std::string problem_with_header(Change change) {
    const TemporaryDirectory directory;
    std::string bytes = small_log(directory.path());
    LogFileHeader header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    header.checksum = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(&header), offsetof(LogFileHeader, checksum)));
    std::memcpy(bytes.data(), &header, sizeof(header));
    const auto path = directory.path() / "kernel.log";
    replace(path, bytes);
    const auto reader = LogReader::open(path);
    return reader ? "" : reader.error().message.substr(path.string().size());
}

TEST(Log, SaysWhatIsWrongWithItsHeader) {
    EXPECT_EQ(problem_with_header([](LogFileHeader&) {}), "");
    EXPECT_EQ(problem_with_header([](LogFileHeader& header) { header.magic[0] = 'x'; }),
              ": not a lagtrap log (its first bytes are others)");
    EXPECT_EQ(problem_with_header([](LogFileHeader& header) { header.version = 2; }),
              ": log of version 2; this program reads version 1");
    for (const std::uint32_t kind : {0U, 4U})
        EXPECT_EQ(problem_with_header([&](LogFileHeader& header) { header.kind = kind; }),
                  ": log of kind " + std::to_string(kind) +
                      "; allowed are 1 (user), 2 (kernel) and 3 (rundown)");
    for (const std::uint32_t kind : {1U, 3U})
        EXPECT_EQ(problem_with_header([&](LogFileHeader& header) { header.kind = kind; }), "");
    EXPECT_EQ(problem_with_header([](LogFileHeader& header) { header.session_id[0] = '\n'; }),
              ": the log's session id is \"\\x0af8fad5b-d9cb-469f-a165-70867728950e\", not a UUID");
    const TemporaryDirectory directory;
    std::string bytes = small_log(directory.path());
    bytes[20] ^= 1;
    replace(directory.path() / "kernel.log", bytes);
    const auto damaged = LogReader::open(directory.path() / "kernel.log");
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(damaged.error().message, (directory.path() / "kernel.log").string() +
                                           ": the log's header is damaged (checksum differs)");
    const auto other = LogWriter::create(directory.path(), LogKind::User, "../x\n", {});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, "session id \"../x\\x0a\" is not a UUID");
}

TEST(Log, OversizedRecordIsRefused) {
    TemporaryDirectory directory;
    auto writer = LogWriter::create(directory.path(), LogKind::User, session_id, {});
    lagtrap_record record{log_block_bytes + 1, LAGTRAP_RECORD_RUN, 0, 1};
    const auto large = writer->append(&record);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().message, "record of 262145 bytes; allowed are 16 to 262144");
    record.size_bytes = 15;
    EXPECT_FALSE(writer->append(&record));
    record.size_bytes = 16;
    EXPECT_TRUE(writer->append(&record));
    // As large as a block, so that the other one is written first.
    std::vector<std::uint64_t> largest(log_block_bytes / 8);
    auto* const whole = reinterpret_cast<lagtrap_record*>(largest.data());
    whole->size_bytes = log_block_bytes;
    whole->type = LAGTRAP_RECORD_SAMPLE;
    EXPECT_TRUE(writer->append(whole));
    EXPECT_EQ(std::filesystem::file_size(directory.path() / "user.log"),
              sizeof(LogFileHeader) + sizeof(LogBlockHeader) + 16);
}

TEST(Log, GoesOnAfterAFailedWrite) {
    TemporaryDirectory directory;
    auto writer = LogWriter::create(directory.path(), LogKind::Kernel, session_id, {});
    const auto first = sample_at(1);
    const auto second = sample_at(2);
    ASSERT_TRUE(writer->append(&first.header));
    ASSERT_TRUE(writer->flush());

    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    // Room for part of the next block's header: the write is torn, as on a full disk.
    rlimit tight = before;
    tight.rlim_cur = writer->size_bytes() + sizeof(LogBlockHeader) + 10 + sizeof(LogBlockHeader);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
    ASSERT_TRUE(writer->append(&second.header));
    const auto flushed = writer->flush();
    ASSERT_FALSE(flushed);
    EXPECT_TRUE(flushed.error().message.starts_with("write log: ")) << flushed.error().message;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, old_handler);

    LogSummary summary;
    EXPECT_EQ(times_in(directory.path() / "kernel.log", &summary), std::vector<std::uint64_t>{1});
    EXPECT_FALSE(summary.partial);
    ASSERT_TRUE(writer->flush());
    EXPECT_EQ(times_in(directory.path() / "kernel.log", &summary),
              (std::vector<std::uint64_t>{1, 2}));
}

TEST(Log, OnlyPlainFilesAreOpened) {
    TemporaryDirectory directory;
    const auto fifo = directory.path() / "user.log";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_FALSE(LogReader::open(fifo).ok());
    std::filesystem::create_symlink("/etc/hostname", directory.path() / "kernel.log");
    EXPECT_FALSE(LogReader::open(directory.path() / "kernel.log").ok());
}

}  // namespace
}  // namespace lagtrap::trace::log_test
