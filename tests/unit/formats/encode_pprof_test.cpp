// pprof's profiles, decoded again.
#include <zlib.h>

#include <map>
#include <set>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "formats/encoders.hpp"

namespace lagtrap::formats::encode_pprof_test {
namespace {

// Field numbers of pprof's profile.proto.
constexpr protozero::pbf_tag_type profile_sample = 2, profile_mapping = 3, profile_location = 4,
                                  profile_function = 5;
constexpr protozero::pbf_tag_type profile_text = 6, sample_label = 3;
constexpr protozero::pbf_tag_type label_key = 1, label_text = 2, label_number = 3;

std::string unpacked(const std::string& file) {
    std::string bytes(1 << 20, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
    stream.avail_in = static_cast<uInt>(file.size());
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_out = static_cast<uInt>(bytes.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes.resize(stream.total_out);
    inflateEnd(&stream);
    return bytes;
}

using Labels = std::map<std::string, std::string>;

// The labels of each sample.
std::vector<Labels> labels_in(const std::string& file) {
    const std::string bytes = unpacked(file);
    std::vector<std::string> texts;
    for (protozero::pbf_reader profile(bytes); profile.next(profile_text);)
        texts.push_back(profile.get_string());
    std::vector<Labels> all;
    for (protozero::pbf_reader profile(bytes); profile.next(profile_sample);) {
        Labels& labels = all.emplace_back();
        for (protozero::pbf_reader sample = profile.get_message(); sample.next(sample_label);) {
            std::string key, value;
            for (protozero::pbf_reader label = sample.get_message(); label.next();) {
                const auto number = label.get_int64();
                if (label.tag() == label_key) key = texts.at(static_cast<std::size_t>(number));
                if (label.tag() == label_text) value = texts.at(static_cast<std::size_t>(number));
                if (label.tag() == label_number) value = std::to_string(number);
            }
            labels[key] = value;
        }
    }
    return all;
}

ProfiledThread thread_of(std::uint32_t pid, std::uint32_t tid, const std::string& process,
                         const std::string& name) {
    Piece piece;
    piece.length_ns = piece.weight_ns = 1'000'000;
    piece.stack = piece.leaf = 1;
    piece.kind = analysis::TimeKind::OnCpu;
    return {pid, tid, process, name, {piece}};
}

TEST(Pprof, SamplesNameTheirThreadProcessAndState) {
    StackProfile profile;
    profile.places = {{.function = "main", .module = "/usr/bin/app"}};
    profile.nodes.push_back({0, 0});
    profile.threads = {thread_of(10, 11, "app", "worker"), thread_of(20, 21, "other", "reader")};
    EXPECT_EQ(labels_in(encode_pprof(profile)), (std::vector<Labels>{
                                                    {{"process", "app"},
                                                     {"thread", "worker"},
                                                     {"pid", "10"},
                                                     {"tid", "11"},
                                                     {"state", "on CPU"}},
                                                    {{"process", "other"},
                                                     {"thread", "reader"},
                                                     {"pid", "20"},
                                                     {"tid", "21"},
                                                     {"state", "on CPU"}},
                                                }));
}

// The functions of a profile, with the files of their modules.
std::multiset<std::pair<std::string, std::string>> functions_in(const std::string& file) {
    const std::string bytes = unpacked(file);
    std::vector<std::string> texts;
    for (protozero::pbf_reader profile(bytes); profile.next(profile_text);)
        texts.push_back(profile.get_string());
    const auto numbers_of = [](protozero::pbf_reader message) {
        std::map<protozero::pbf_tag_type, std::uint64_t> numbers;
        while (message.next()) {
            if (message.wire_type() == protozero::pbf_wire_type::varint)
                numbers[message.tag()] = message.get_uint64();
            else
                message.skip();
        }
        return numbers;
    };
    std::map<std::uint64_t, std::string> names, modules;
    for (protozero::pbf_reader profile(bytes); profile.next(profile_mapping);) {
        auto mapping = numbers_of(profile.get_message());
        modules[mapping[1]] = texts.at(mapping[5]);
    }
    for (protozero::pbf_reader profile(bytes); profile.next(profile_function);) {
        auto function = numbers_of(profile.get_message());
        names[function[1]] = texts.at(function[2]);
    }
    std::map<std::uint64_t, std::string> module_of;
    for (protozero::pbf_reader profile(bytes); profile.next(profile_location);) {
        protozero::pbf_reader location = profile.get_message();
        std::uint64_t mapping = 0, function = 0;
        while (location.next()) {
            if (location.tag() == 2)
                mapping = location.get_uint64();
            else if (location.tag() == 4)
                function = numbers_of(location.get_message())[1];
            else
                location.skip();
        }
        module_of[function] = modules[mapping];
    }
    std::multiset<std::pair<std::string, std::string>> functions;
    for (const auto& [number, name] : names) functions.emplace(name, module_of[number]);
    return functions;
}

TEST(Pprof, FunctionsOfTwoFilesWithTheSameNameAreTwo) {
    StackProfile profile;
    profile.places = {{.function = "init", .module = "/usr/bin/app"},
                      {.function = "init", .module = "/usr/lib/libz.so"},
                      {.function = "init", .module = "/usr/bin/app", .offset = 16}};
    for (std::uint32_t place = 0; place < 3; ++place) profile.nodes.push_back({0, place});
    profile.threads = {thread_of(10, 11, "app", "worker")};
    EXPECT_EQ(functions_in(encode_pprof(profile)),
              (std::multiset<std::pair<std::string, std::string>>{{"init", "/usr/bin/app"},
                                                                  {"init", "/usr/lib/libz.so"}}));
}

// What a profile says of itself: its numbers by field, its texts, and its samples.
class Profile {
  public:
    explicit Profile(const StackProfile& profile) : bytes_(unpacked(encode_pprof(profile))) {
        for (protozero::pbf_reader reader(bytes_); reader.next(profile_text);)
            texts_.push_back(reader.get_string());
    }
    [[nodiscard]] std::int64_t number(protozero::pbf_tag_type field) const {
        protozero::pbf_reader reader(bytes_);
        return reader.next(field) ? reader.get_int64() : -1;
    }
    [[nodiscard]] std::string text(protozero::pbf_tag_type field) const {
        return texts_.at(static_cast<std::size_t>(number(field)));
    }
    [[nodiscard]] std::vector<std::string> texts(protozero::pbf_tag_type field) const {
        std::vector<std::string> found;
        for (protozero::pbf_reader reader(bytes_); reader.next(field);)
            found.push_back(texts_.at(static_cast<std::size_t>(reader.get_int64())));
        return found;
    }
    // "cpu/nanoseconds" for each value type.
    [[nodiscard]] std::vector<std::string> types(protozero::pbf_tag_type field) const {
        std::vector<std::string> found;
        for (protozero::pbf_reader reader(bytes_); reader.next(field);) {
            protozero::pbf_reader type = reader.get_message();
            std::string words;
            while (type.next())
                words += (words.empty() ? "" : "/") +
                         texts_.at(static_cast<std::size_t>(type.get_int64()));
            found.push_back(words);
        }
        return found;
    }
    // The numbers of each message of this field; those of a message within it are left out.
    [[nodiscard]] std::vector<std::map<protozero::pbf_tag_type, std::int64_t>> messages(
        protozero::pbf_tag_type field) const {
        std::vector<std::map<protozero::pbf_tag_type, std::int64_t>> found;
        for (protozero::pbf_reader reader(bytes_); reader.next(field);) {
            auto& numbers = found.emplace_back();
            for (protozero::pbf_reader message = reader.get_message(); message.next();) {
                if (message.wire_type() == protozero::pbf_wire_type::varint)
                    numbers[message.tag()] = message.get_int64();
                else
                    message.skip();
            }
        }
        return found;
    }
    // The packed numbers of a field of each sample.
    [[nodiscard]] std::vector<std::vector<std::int64_t>> samples(
        protozero::pbf_tag_type field) const {
        std::vector<std::vector<std::int64_t>> found;
        for (protozero::pbf_reader reader(bytes_); reader.next(profile_sample);) {
            protozero::pbf_reader sample = reader.get_message();
            if (!sample.next(field)) continue;
            const auto range = sample.get_packed_int64();
            found.emplace_back(range.begin(), range.end());
        }
        return found;
    }
    [[nodiscard]] const std::string& text_at(std::int64_t place) const {
        return texts_.at(static_cast<std::size_t>(place));
    }

  private:
    std::string bytes_;
    std::vector<std::string> texts_;
};

// A piece of each kind, of 1, 2, 3 and 4 ns.
StackProfile of_each_kind(TimeChoice time) {
    using analysis::TimeKind;
    StackProfile profile;
    profile.time = time;
    profile.places = {{.function = "main", .module = "/usr/bin/app"}};
    profile.nodes.push_back({0, 0});
    profile.threads = {thread_of(10, 11, "app", "worker")};
    profile.threads[0].pieces.clear();
    std::uint64_t weight_ns = 0;
    for (const TimeKind kind :
         {TimeKind::Unknown, TimeKind::OnCpu, TimeKind::Runnable, TimeKind::Blocked}) {
        Piece piece;
        piece.kind = kind;
        piece.weight_ns = ++weight_ns;
        piece.stack = piece.leaf = 1;
        profile.threads[0].pieces.push_back(piece);
    }
    return profile;
}

using Values = std::vector<std::vector<std::int64_t>>;
using Texts = std::vector<std::string>;
constexpr protozero::pbf_tag_type sample_type = 1, time_field = 9, duration = 10, period_type = 11,
                                  period = 12, comment = 13, default_type = 14, sample_location = 1,
                                  sample_value = 2;

TEST(Pprof, EachChoiceOfTimeHasItsValues) {
    const Profile all(of_each_kind(TimeChoice::All));
    EXPECT_EQ(all.types(sample_type),
              (Texts{"time/nanoseconds", "cpu/nanoseconds", "runnable/nanoseconds",
                     "blocked/nanoseconds", "unknown/nanoseconds"}));
    EXPECT_EQ(all.samples(sample_value),
              (Values{{1, 0, 0, 0, 1}, {2, 2, 0, 0, 0}, {3, 0, 3, 0, 0}, {4, 0, 0, 4, 0}}));
    EXPECT_EQ(all.text(default_type), "time");
    const Profile off(of_each_kind(TimeChoice::OffCpu));
    EXPECT_EQ(off.types(sample_type),
              (Texts{"time/nanoseconds", "runnable/nanoseconds", "blocked/nanoseconds"}));
    EXPECT_EQ(off.samples(sample_value), (Values{{1, 0, 0}, {2, 0, 0}, {3, 3, 0}, {4, 0, 4}}));
    const Profile on(of_each_kind(TimeChoice::OnCpu));
    EXPECT_EQ(on.types(sample_type), (Texts{"cpu/nanoseconds"}));
    EXPECT_EQ(on.text(default_type), "cpu");
    EXPECT_EQ(on.samples(sample_value), (Values{{0}, {2}, {0}, {0}}));
}

TEST(Pprof, SaysWhenHowLongAndOfWhat) {
    StackProfile profile = of_each_kind(TimeChoice::All);
    profile.realtime_ns = 1'700'000'000'000'000'123;
    profile.length_ns = 77;
    profile.sample_interval_ns = 2'000'000;
    profile.title = "query, delay 1";
    profile.system = "Debian";
    const Profile read(profile);
    EXPECT_EQ(read.number(time_field), 1'700'000'000'000'000'123);
    EXPECT_EQ(read.number(duration), 77);
    EXPECT_EQ(read.number(period), 2'000'000);
    EXPECT_EQ(read.types(period_type), (Texts{"cpu/nanoseconds"}));
    EXPECT_EQ(read.texts(comment), (Texts{"query, delay 1", "Debian"}));
    EXPECT_EQ(read.text_at(0), "");
    profile.host = "db1";
    EXPECT_EQ(Profile(profile).texts(comment), (Texts{"query, delay 1", "db1", "Debian"}));
}

TEST(Pprof, PiecesOfOneStackAndStateAreOneSample) {
    StackProfile profile = of_each_kind(TimeChoice::OnCpu);
    profile.texts = {"", "disk"};
    auto& pieces = profile.threads[0].pieces;
    Piece on_cpu = pieces[1], blocked = pieces[3], nothing = pieces[2];
    blocked.reason = 1;
    nothing.weight_ns = 0;
    pieces = {on_cpu, on_cpu, blocked, pieces[3], nothing};
    EXPECT_EQ(Profile(profile).samples(sample_value), (Values{{4}, {0}, {0}}));
}

TEST(Pprof, AStackIsListedFromItsInnermostCall) {
    StackProfile profile;
    profile.places = {
        {.function = "main"}, {.function = "work"}, {.function = "waits for a CPU", .state = true}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {2, 2}, {0, 2}};
    profile.threads = {thread_of(10, 11, "app", "worker"), thread_of(10, 12, "app", "idle")};
    Piece& known = profile.threads[0].pieces[0];
    known.stack = 2;
    known.leaf = 3;
    Piece& unknown = profile.threads[1].pieces[0];
    unknown.stack = 0;
    unknown.leaf = 4;
    EXPECT_EQ(Profile(profile).samples(sample_location), (Values{{2, 1}, {3}}));
}

TEST(Pprof, PlacesHaveTheirFileAddressAndLine) {
    StackProfile profile = of_each_kind(TimeChoice::All);
    profile.places = {
        {.function = "a",
         .module = "/usr/bin/app",
         .build_id = "abcd",
         .source = "/src/a.c",
         .line = 17,
         .offset = 0x1000},
        {.function = "b", .module = "/usr/bin/app", .build_id = "abcd", .offset = 0x2000},
        {.function = "c", .module = "/usr/lib/libz.so", .offset = UINT64_MAX},
        {.function = "blocked", .state = true}};
    const Profile read(profile);
    const auto mappings = read.messages(profile_mapping);
    ASSERT_EQ(mappings.size(), 2U);
    EXPECT_EQ(read.text_at(mappings[0].at(5)), "/usr/bin/app");
    EXPECT_EQ(read.text_at(mappings[0].at(6)), "abcd");
    EXPECT_EQ(mappings[0].at(2), 0);
    EXPECT_EQ(mappings[0].at(3), 0x2001);
    EXPECT_EQ(mappings[1].at(3), -1) << "the largest address";
    for (const protozero::pbf_tag_type known : {8, 9, 10}) {
        EXPECT_EQ(mappings[0].at(known), 1);
        EXPECT_EQ(mappings[1].at(known), 0);
    }
    for (const auto& mapping : mappings) EXPECT_EQ(mapping.at(7), 1) << "names are resolved";
    const auto locations = read.messages(profile_location);
    ASSERT_EQ(locations.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(locations[i].at(1), static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(locations[0].at(2), 1);
    EXPECT_EQ(locations[1].at(2), 1);
    EXPECT_EQ(locations[2].at(2), 2);
    EXPECT_FALSE(locations[3].contains(2)) << "a state is in no file";
    EXPECT_EQ(locations[1].at(3), 0x2000);
    EXPECT_FALSE(locations[3].contains(3));
    const auto functions = read.messages(profile_function);
    ASSERT_EQ(functions.size(), 4U);
    EXPECT_EQ(read.text_at(functions[0].at(2)), "a");
    EXPECT_EQ(read.text_at(functions[0].at(3)), "a");
    EXPECT_EQ(read.text_at(functions[0].at(4)), "/src/a.c");
}

TEST(Pprof, ALineIsOfItsFunction) {
    StackProfile profile = of_each_kind(TimeChoice::All);
    profile.places = {{.function = "a", .line = 17}, {.function = "a"}, {.function = "b"}};
    const std::string bytes = unpacked(encode_pprof(profile));
    std::vector<std::pair<std::uint64_t, std::int64_t>> lines;
    for (protozero::pbf_reader reader(bytes); reader.next(profile_location);) {
        protozero::pbf_reader location = reader.get_message();
        ASSERT_TRUE(location.next(4));
        auto& [function, line] = lines.emplace_back(0, 0);
        for (protozero::pbf_reader part = location.get_message(); part.next();) {
            if (part.tag() == 1) {
                function = part.get_uint64();
            } else {
                line = part.get_int64();
            }
        }
    }
    EXPECT_EQ(lines,
              (std::vector<std::pair<std::uint64_t, std::int64_t>>{{1, 17}, {1, 0}, {2, 0}}));
}

}  // namespace
}  // namespace lagtrap::formats::encode_pprof_test
