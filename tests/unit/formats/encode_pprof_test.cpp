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

}  // namespace
}  // namespace lagtrap::formats::encode_pprof_test
