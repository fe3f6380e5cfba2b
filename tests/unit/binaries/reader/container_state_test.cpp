#include "binaries/reader/container_state.hpp"

#include <gmock/gmock.h>

#include "binaries/reader/reader_messages.hpp"

namespace lagtrap::binaries::container_state_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(ContainerState, OfDocker) {
    const auto facts = parse_container_state(
        R"({"ID":"aa","Name":"/shop","Config":{"Image":"team/shop:7","Labels":{"tier":"front",
            "io.kubernetes.pod.name":"shop-1","io.kubernetes.pod.namespace":"prod"}}})",
        ContainerFile::Docker, "aa");
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->name, "shop");
    EXPECT_EQ(facts->image, "team/shop:7");
    EXPECT_EQ(facts->pod, "shop-1");
    EXPECT_EQ(facts->pod_namespace, "prod");
    EXPECT_TRUE(facts->has_labels);
    EXPECT_EQ(facts->labels.at("tier"), "front");
}

TEST(ContainerState, OfContainerd) {
    const auto facts = parse_container_state(
        R"({"annotations":{"io.kubernetes.cri.container-name":"api",
           "io.kubernetes.cri.sandbox-name":"shop-1",
            "io.kubernetes.cri.sandbox-namespace":"prod",
            "io.kubernetes.cri.image-name":"docker.io/team/shop:7"}})",
        ContainerFile::Bundle, "aa");
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->name + facts->pod + facts->pod_namespace, "apishop-1prod");
    EXPECT_EQ(facts->image, "docker.io/team/shop:7");
    EXPECT_FALSE(facts->has_labels);
}

TEST(ContainerState, OfCriO) {
    const auto facts = parse_container_state(
        R"({"annotations":{"io.kubernetes.container.name":"api","io.kubernetes.pod.name":"shop-1",
            "io.kubernetes.cri-o.SandboxID":"bb",
            "io.kubernetes.cri-o.Labels":"{\"app\":\"shop\"}"}})",
        ContainerFile::Bundle, "aa");
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->sandbox, "bb");
    EXPECT_TRUE(facts->has_labels);
    EXPECT_THAT(facts->labels, ElementsAre(Pair("app", "shop")));
}

TEST(ContainerState, OfPodman) {
    constexpr const char* list =
        R"([{"id":"aa","names":["one"],"metadata":"{\"image-name\":\"team/one:1\"}"},
                                     {"id":"bb","names":["two"]}, 7, {"names":["three"]}])";
    const auto one = parse_container_state(list, ContainerFile::Storage, "aa");
    ASSERT_TRUE(one);
    EXPECT_EQ(one->name, "one");
    EXPECT_EQ(one->image, "team/one:1");
    EXPECT_EQ(parse_container_state(list, ContainerFile::Storage, "bb")->image, "");
    EXPECT_EQ(parse_container_state(list, ContainerFile::Storage, "cc").error().kind,
              ErrorKind::NotFound);
}

TEST(ContainerState, WhatIsOfAnotherShape) {
    for (const char* content : {"", "{", "7", "[]", "\"text\""})
        for (const auto kind :
             {ContainerFile::Docker, ContainerFile::Bundle, ContainerFile::Storage}) {
            const auto facts = parse_container_state(content, kind, "aa");
            EXPECT_FALSE(facts.ok() && !facts->name.empty()) << content;
        }
    const auto facts = parse_container_state(R"({"Name":7,"Config":{"Image":{},"Labels":[]}})",
                                             ContainerFile::Docker, "aa");
    ASSERT_TRUE(facts);
    EXPECT_THAT(facts->labels, IsEmpty());
    EXPECT_FALSE(parse_container_state(std::string(100'000, '['), ContainerFile::Docker, "aa"));
}

TEST(ContainerState, IsBounded) {
    std::string labels;
    for (int i = 0; i < 1000; ++i)
        labels +=
            (i == 0 ? "\"l" : ",\"l") + std::to_string(i) + "\":\"" + std::string(5000, 'x') + "\"";
    const auto facts = parse_container_state("{\"Config\":{\"Labels\":{" + labels + "}}}",
                                             ContainerFile::Docker, "aa");
    ASSERT_TRUE(facts);
    EXPECT_THAT(facts->labels, SizeIs(container_labels_limit));
    EXPECT_EQ(facts->labels.begin()->second.size(), container_texts_limit);
    EXPECT_TRUE(decode_container(encode_container(*facts)));
}

TEST(ContainerState, SaysWhatIsWrongWithTheFile) {
    const auto problem = [](std::string_view content, ContainerFile kind) {
        const auto facts = parse_container_state(content, kind, "aa");
        return facts ? "none" : facts.error().message;
    };
    EXPECT_EQ(problem("{}", ContainerFile::Storage), "is not a list of containers");
    EXPECT_EQ(problem("[]", ContainerFile::Storage), "has no such container");
    EXPECT_EQ(problem("[]", ContainerFile::Docker), "is not a container description");
    EXPECT_EQ(problem("7", ContainerFile::Bundle), "is not a container description");
    EXPECT_EQ(problem("{}", static_cast<ContainerFile>(99)), "is of an unknown kind");
    EXPECT_THAT(problem("{", ContainerFile::Docker), testing::StartsWith("is not JSON: "));
    const auto nested = [](int depth) {
        return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    EXPECT_EQ(problem(nested(31), ContainerFile::Docker), "none");
    EXPECT_THAT(problem(nested(32), ContainerFile::Docker), testing::StartsWith("is not JSON: "));
}

TEST(ContainerState, TakesTheFirstNameThatThereIs) {
    const auto of_bundle = [](const std::string& notes) {
        return parse_container_state("{\"annotations\":{" + notes + "}}", ContainerFile::Bundle,
                                     "aa")
            .value();
    };
    EXPECT_EQ(of_bundle(R"("nerdctl/name":"three")").name, "three");
    EXPECT_EQ(of_bundle(R"("nerdctl/name":"three","io.kubernetes.container.name":"two")").name,
              "two");
    EXPECT_EQ(of_bundle(R"("io.kubernetes.cri-o.ImageName":"team/shop:7")").image, "team/shop:7");
    EXPECT_FALSE(of_bundle(R"("io.kubernetes.cri-o.Labels":"[]")").has_labels);
    const auto of_docker = [](const std::string& name) {
        return parse_container_state("{\"Name\":\"" + name + "\"}", ContainerFile::Docker, "aa")
            .value()
            .name;
    };
    EXPECT_EQ(of_docker("shop"), "shop");
    EXPECT_EQ(of_docker("/other/shop"), "other/shop");
    EXPECT_EQ(of_docker(""), "");
    const auto of_storage = [](const std::string& fields) {
        return parse_container_state("[{\"id\":\"aa\"," + fields + "}]", ContainerFile::Storage,
                                     "aa")
            .value();
    };
    EXPECT_EQ(of_storage(R"("names":[7,"","two","three"])").name, "two");
    EXPECT_EQ(of_storage(R"("names":"one")").name, "");
    EXPECT_EQ(of_storage(R"("names":[],"metadata":"[]")").image, "");
}

TEST(ContainerState, ToBytesAndBack) {
    ContainerFacts facts{"name", "image", "pod", "space", "sandbox", {{"a", "1"}, {"b", ""}}, true};
    const std::string bytes = encode_container(facts);
    const auto back = decode_container(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->name + back->image + back->pod + back->pod_namespace + back->sandbox,
              "nameimagepodspacesandbox");
    EXPECT_THAT(back->labels, ElementsAre(Pair("a", "1"), Pair("b", "")));
    EXPECT_TRUE(back->has_labels);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_container(bytes.substr(0, size)));
}

}  // namespace
}  // namespace lagtrap::binaries::container_state_test
