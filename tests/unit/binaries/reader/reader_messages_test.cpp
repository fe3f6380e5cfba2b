// What one side writes the other reads, and nothing else.
#include "binaries/reader/reader_messages.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "binaries/elf/elf_image.hpp"
#include "tests/unit/binaries/reader/whole_message.hpp"

namespace lagtrap::binaries::test::reader_messages_test {
namespace {

TEST(ReaderMessages, BuildIdsAreHexadecimal) {
    expect_whole(encode_build_id("0123abcd"), decode_build_id);
    EXPECT_EQ(decode_build_id(encode_build_id("0123abcd")).value(), "0123abcd");
    EXPECT_EQ(decode_build_id(encode_build_id("")).value(), "");
    EXPECT_TRUE(decode_build_id(encode_build_id(std::string(128, 'a'))));
    for (const std::string& odd :
         {std::string("012"), std::string("AB"), std::string("0x"), std::string(130, 'a')})
        EXPECT_FALSE(decode_build_id(encode_build_id(odd))) << odd;
}

TEST(ReaderMessages, ContainersKeepEachFact) {
    ContainerFacts facts;
    facts.name = "web";
    facts.image = "nginx:1";
    facts.pod = "shop-1";
    facts.pod_namespace = "shop";
    facts.sandbox = "abc";
    facts.has_labels = true;
    facts.labels = {{"app", "shop"}, {"tier", "front"}};
    const std::string message = encode_container(facts);
    expect_whole(message, decode_container);
    const ContainerFacts read = decode_container(message).value();
    EXPECT_EQ(read.name, "web");
    EXPECT_EQ(read.image, "nginx:1");
    EXPECT_EQ(read.pod, "shop-1");
    EXPECT_EQ(read.pod_namespace, "shop");
    EXPECT_EQ(read.sandbox, "abc");
    EXPECT_TRUE(read.has_labels);
    EXPECT_EQ(read.labels, facts.labels);
    EXPECT_FALSE(decode_container(encode_container({})).value().has_labels);
    facts.name = std::string(container_texts_limit + 1, 'n');
    EXPECT_FALSE(decode_container(encode_container(facts)));
}

TEST(ReaderMessages, ProgramsKeepEachFact) {
    ProgramFacts facts;
    facts.build_id = "0123";
    facts.exceptions_may_pass = true;
    facts.segments.resize(2);
    facts.needed.names = {"libc.so.6", "libz.so.1"};
    facts.needed.folders = {"/opt/lib"};
    facts.go_refusal = "was made by go1.16\x1b";
    const std::string message = encode_program(facts);
    expect_whole(message, decode_program);
    const ProgramFacts read = decode_program(message).value();
    EXPECT_EQ(read.build_id, "0123");
    EXPECT_TRUE(read.exceptions_may_pass);
    EXPECT_EQ(read.segments.size(), 2U);
    EXPECT_EQ(read.needed.names, facts.needed.names);
    EXPECT_EQ(read.needed.folders, facts.needed.folders);
    EXPECT_EQ(read.go_refusal.find('\x1b'), std::string::npos);
    EXPECT_EQ(read.go_refusal.substr(0, 18), "was made by go1.16");
    facts.build_id = "xy";
    EXPECT_FALSE(decode_program(encode_program(facts)));
    facts.build_id.clear();
    facts.exceptions_may_pass = false;
    EXPECT_FALSE(decode_program(encode_program(facts)).value().exceptions_may_pass);
    facts.segments.resize(max_segments + 1);
    EXPECT_FALSE(decode_program(encode_program(facts)));
}

UsdtProbe probe_of(const std::string& arguments) {
    UsdtProbe probe;
    probe.provider = "shop";
    probe.name = "order";
    probe.address = 0x1000;
    probe.semaphore = 0x2000;
    probe.arguments = arguments;
    probe.places = parse_usdt_arguments(arguments);
    probe.argument_count = static_cast<std::uint32_t>(split_usdt_arguments(arguments).size());
    return probe;
}

TEST(ReaderMessages, ProbesKeepTheirArguments) {
    const std::vector<UsdtProbe> probes{probe_of("-4@%eax 8@-16(%rbp)"), probe_of("")};
    const std::string message = encode_probes(probes);
    expect_whole(message, decode_probes);
    const auto read = decode_probes(message).value();
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].provider, "shop");
    EXPECT_EQ(read[0].name, "order");
    EXPECT_EQ(read[0].address, 0x1000U);
    EXPECT_EQ(read[0].semaphore, 0x2000U);
    EXPECT_EQ(read[0].arguments, "-4@%eax 8@-16(%rbp)");
    EXPECT_EQ(read[0].argument_count, 2U);
    ASSERT_EQ(read[0].places.size(), 2U);
    EXPECT_EQ(std::memcmp(read[0].places.data(), probes[0].places.data(), 2 * sizeof(UsdtArgument)),
              0);
    std::string many;
    for (int i = 0; i < 30; ++i) many += "8@%rax ";
    EXPECT_EQ(decode_probes(encode_probes({probe_of(many)})).value()[0].argument_count, 30U);
    UsdtProbe odd = probes[0];
    odd.argument_count = 3;
    EXPECT_FALSE(decode_probes(encode_probes({odd}))) << "a place is missing";
    odd = probes[0];
    odd.places[1].base = 99;
    EXPECT_FALSE(decode_probes(encode_probes({odd}))) << "there is no such register";
}

TEST(ReaderMessages, FunctionsKeepEachFact) {
    const std::vector<Function> functions{{"main", 1, 2, 3, true}, {"work", 4, 5, 6, false}};
    const std::string message = encode_functions(functions);
    expect_whole(message, decode_functions);
    const auto read = decode_functions(message).value();
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].name, "main");
    EXPECT_EQ(read[0].address, 1U);
    EXPECT_EQ(read[0].size, 2U);
    EXPECT_EQ(read[0].file_offset, 3U);
    EXPECT_TRUE(read[0].dynamic);
    EXPECT_FALSE(read[1].dynamic);
    EXPECT_FALSE(decode_functions(encode_functions({{std::string(max_symbol_bytes + 1, 'x')}})));
}

TEST(ReaderMessages, CodeIsOneInstruction) {
    const std::string code(binaries::code_bytes, '\x90');
    expect_whole(encode_code(code), decode_code);
    EXPECT_EQ(decode_code(encode_code(code)).value(), code);
    EXPECT_FALSE(decode_code(encode_code(code + '\x90')));
}

FunctionExit exit_at(std::uint64_t offset) {
    FunctionExit exit;
    exit.file_offset = offset;
    exit.condition = JumpCondition::EcxZero;
    exit.of_others_too = exit.by_target = true;
    exit.target = {-8, 15, 3, 3, true};
    exit.within[3] = {-5, 7};
    return exit;
}

bool is_accepted(const FunctionExit& exit) { return decode_exits(encode_exits({{exit}})).ok(); }

TEST(ReaderMessages, ExitsAreSoundAndInOrder) {
    const std::string message = encode_exits({{exit_at(1), exit_at(2)}});
    expect_whole(message, decode_exits);
    const FunctionExits read = decode_exits(message).value();
    ASSERT_EQ(read.exits.size(), 2U);
    const FunctionExit& first = read.exits[0];
    EXPECT_EQ(first.file_offset, 1U);
    EXPECT_EQ(first.condition, JumpCondition::EcxZero);
    EXPECT_TRUE(first.of_others_too && first.by_target && first.target.in_memory);
    EXPECT_EQ(first.target.displacement, -8);
    EXPECT_EQ(first.target.base, 15);
    EXPECT_EQ(first.target.index, 3);
    EXPECT_EQ(first.target.scale_shift, 3);
    EXPECT_EQ(first.within[3].begin, -5);
    EXPECT_EQ(first.within[3].end, 7);
    EXPECT_FALSE(decode_exits(encode_exits({{exit_at(2), exit_at(1)}})));
    FunctionExit plain;
    EXPECT_TRUE(is_accepted(plain));
    EXPECT_FALSE(decode_exits(encode_exits({{plain}})).value().exits[0].by_target);
    FunctionExit odd = exit_at(1);
    odd.condition = static_cast<JumpCondition>(19);
    EXPECT_FALSE(is_accepted(odd));
    odd = exit_at(1);
    odd.target.base = 16;
    EXPECT_FALSE(is_accepted(odd));
    odd = exit_at(1);
    odd.target.index = 16;
    EXPECT_FALSE(is_accepted(odd));
    odd.target.index = no_jump_register;
    EXPECT_TRUE(is_accepted(odd));
    odd.target.scale_shift = 4;
    EXPECT_FALSE(is_accepted(odd));
    EXPECT_TRUE(
        decode_exits(encode_exits({std::vector<FunctionExit>(max_return_sites, exit_at(1))})));
    EXPECT_FALSE(
        decode_exits(encode_exits({std::vector<FunctionExit>(max_return_sites + 1, exit_at(1))})));
}

TEST(ReaderMessages, EachFlagIsItsOwn) {
    const auto flags_of = [](const FunctionExit& exit) {
        return std::string(exit.of_others_too ? "others " : "") +
               (exit.by_target ? "target " : "") + (exit.target.in_memory ? "memory " : "");
    };
    for (int flag = 0; flag < 3; ++flag) {
        FunctionExit exit;
        exit.of_others_too = flag == 0;
        exit.by_target = flag == 1;
        exit.target.in_memory = flag == 2;
        const auto read = decode_exits(encode_exits({{exit}}));
        ASSERT_TRUE(read);
        EXPECT_EQ(flags_of(read->exits.at(0)), flags_of(exit));
    }
    for (const bool at_return : {true, false}) {
        FunctionPlaces places;
        places.places = {exit_at(1)};
        places.return_probe = at_return;
        places.arguments_on_stack = !at_return;
        const auto read = decode_places(encode_places({Result<FunctionPlaces>(places)}), 1).value();
        EXPECT_EQ(read[0]->return_probe, at_return);
        EXPECT_EQ(read[0]->arguments_on_stack, !at_return);
    }
}

TEST(ReaderMessages, QuestionsForPlacesAreKept) {
    const std::string message = encode_places_request("app", {{"main", true}, {"ns::work", false}});
    WireReader reader(message);
    EXPECT_EQ(reader.text(100), "app");
    const auto queries = decode_queries(reader);
    EXPECT_TRUE(reader.complete());
    ASSERT_EQ(queries.size(), 2U);
    EXPECT_EQ(queries[0].name, "main");
    EXPECT_TRUE(queries[0].at_return);
    EXPECT_EQ(queries[1].name, "ns::work");
    EXPECT_FALSE(queries[1].at_return);
}

TEST(ReaderMessages, AnswersOfPlacesAreFoundOrErrors) {
    FunctionPlaces found;
    found.places = {exit_at(1)};
    found.return_probe = found.arguments_on_stack = true;
    found.first_code = "\x90";
    found.goid_offset = 152;
    found.frame_offset = max_go_offset;
    std::vector<Result<FunctionPlaces>> answers;
    answers.emplace_back(found);
    answers.emplace_back(make_error(ErrorKind::NotFound, "no such function\x1b"));
    const auto decode = [](const std::string& message) { return decode_places(message, 2); };
    const std::string message = encode_places(answers);
    expect_whole(message, decode);
    const auto read = decode(message).value();
    ASSERT_TRUE(read[0]);
    EXPECT_EQ(read[0]->places.size(), 1U);
    EXPECT_TRUE(read[0]->return_probe && read[0]->arguments_on_stack);
    EXPECT_EQ(read[0]->first_code, "\x90");
    EXPECT_EQ(read[0]->goid_offset, 152U);
    EXPECT_EQ(read[0]->frame_offset, max_go_offset);
    ASSERT_FALSE(read[1]);
    EXPECT_EQ(read[1].error().kind, ErrorKind::NotFound);
    EXPECT_EQ(read[1].error().message.substr(0, 16), "no such function");
    EXPECT_EQ(read[1].error().message.find('\x1b'), std::string::npos);
    EXPECT_FALSE(decode_places(message, 1)) << "an answer for each question";
    EXPECT_FALSE(decode_places(message, 3));
    const auto is_one_accepted = [](const FunctionPlaces& one) {
        return decode_places(encode_places({Result<FunctionPlaces>(one)}), 1).ok();
    };
    FunctionPlaces odd = found;
    odd.goid_offset = max_go_offset + 1;
    EXPECT_FALSE(is_one_accepted(odd));
    odd = found;
    odd.frame_offset = max_go_offset + 1;
    EXPECT_FALSE(is_one_accepted(odd));
    odd = found;
    odd.places.clear();
    EXPECT_FALSE(is_one_accepted(odd));
    // The longest message that is sent.
    const auto long_error = decode_places(encode_places({Result<FunctionPlaces>(make_error(
                                              ErrorKind::Invalid, std::string(5000, 'x')))}),
                                          1);
    EXPECT_EQ(long_error.value()[0].error().message.size(), 4096U);
}

}  // namespace
}  // namespace lagtrap::binaries::test::reader_messages_test
