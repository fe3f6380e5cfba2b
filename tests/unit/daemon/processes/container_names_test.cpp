#include "daemon/processes/container_names.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::container_names_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class ContainerNamesTest : public testing::Test {
  protected:
    void write(const std::string& path, const std::string& content) const {
        const auto file = root_.path() / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }
    void write_docker(const std::string& id, const std::string& name) const {
        write("var/lib/docker/containers/" + id + "/config.v2.json",
              R"({"ID":")" + id + R"(","Name":"/)" + name +
                  R"(","Config":{"Image":"team/shop:7","Labels":{"tier":"front"}}})");
    }

    trace::TemporaryDirectory root_;
    ContainerNames names_{root_.path(), std::chrono::minutes(10)};
    const std::string id_ = std::string(64, 'a');
};

TEST_F(ContainerNamesTest, AreThoseOfTheManagersFile) {
    write_docker(id_, "shop");
    const KnownContainer known = names_.find(id_);
    EXPECT_TRUE(known.found);
    EXPECT_EQ(known.facts.name, "shop");
    EXPECT_EQ(known.facts.image, "team/shop:7");
    EXPECT_THAT(known.facts.labels, ElementsAre(Pair("tier", "front")));
    EXPECT_FALSE(names_.find(std::string(64, 'b')).found);
    EXPECT_EQ(names_.name_of(id_).name, "shop");
    EXPECT_EQ(names_.brief_words_for("/system.slice/docker-" + id_ + ".scope"), "container shop");
    EXPECT_EQ(names_.words_for("/system.slice/docker-" + id_ + ".scope"),
              "container aaaaaaaaaaaa (docker), shop, image team/shop:7");
    write_docker(id_, "renamed");
    EXPECT_EQ(names_.find(id_).facts.name, "shop") << "what is known is not read again";
}

TEST_F(ContainerNamesTest, FilesAreReadForIdsOnly) {
    const std::string longest(128, 'a');
    for (const std::string& id :
         {std::string(64, 'A'), std::string("shop"), std::string("aa/../bb"), longest + "a"})
        write_docker(id, "wrong");
    write_docker(longest, "right");
    write_docker("bb", "right");
    for (const std::string& id : {std::string(64, 'A'), std::string("shop"), longest + "a",
                                  std::string("aa/../bb"), std::string()})
        EXPECT_FALSE(names_.find(id).found) << id;
    EXPECT_TRUE(names_.find(longest).found);
}

TEST_F(ContainerNamesTest, SeveralFilesAddToEachOther) {
    constexpr const char* bundle = R"({"annotations":{"io.kubernetes.cri.container-name":"api",
        "io.kubernetes.cri.sandbox-name":"shop-1","io.kubernetes.cri.sandbox-namespace":"prod",
        "io.kubernetes.cri.image-name":"team/other:1"}})";
    write_docker("aa", "shop");
    write("run/containerd/io.containerd.runtime.v2.task/moby/aa/config.json", bundle);
    const auto facts = names_.find("aa").facts;
    EXPECT_EQ(facts.name, "shop") << "the first file that has one";
    EXPECT_EQ(facts.image, "team/shop:7");
    EXPECT_EQ(facts.pod, "shop-1");
    EXPECT_EQ(facts.pod_namespace, "prod");
    EXPECT_TRUE(facts.has_labels);
    for (const char* space : {"k8s.io", "default"}) {
        const std::string id = space[0] == 'k' ? "ab" : "ac";
        write("run/containerd/io.containerd.runtime.v2.task/" + std::string(space) + "/" + id +
                  "/config.json",
              bundle);
        EXPECT_EQ(names_.find(id).facts.name, "api");
        EXPECT_FALSE(names_.find(id).facts.has_labels);
    }
}

TEST_F(ContainerNamesTest, OfPodmanAreInItsListOfEachDriver) {
    char id = 'a';
    for (const char* driver : {"overlay-containers", "vfs-containers", "btrfs-containers"}) {
        write("var/lib/containers/storage/" + std::string(driver) + "/containers.json",
              R"([{"id":"dd","names":["other"]},{"id":")" + std::string(2, id) +
                  R"(","names":["one"],"metadata":"{\"image-name\":\"team/one:1\"}"}])");
        EXPECT_EQ(names_.find(std::string(2, id)).facts.name, "one") << driver;
        ++id;
    }
}

TEST_F(ContainerNamesTest, LabelsOfThePodAreThoseOfItsSandbox) {
    const std::string storage = "var/lib/containers/storage/overlay-containers/";
    write(storage + "aa/userdata/config.json",
          R"({"annotations":{"io.kubernetes.container.name":"api",
              "io.kubernetes.cri-o.SandboxID":"bb",
              "io.kubernetes.cri-o.Labels":"{\"app\":\"own\"}"}})");
    write(storage + "bb/userdata/config.json",
          R"({"annotations":{"io.kubernetes.container.name":"POD",
              "io.kubernetes.cri-o.Labels":"{\"app\":\"pod\",\"team\":\"x\"}"}})");
    const auto facts = names_.find("aa").facts;
    EXPECT_EQ(facts.name, "api");
    EXPECT_THAT(facts.labels, ElementsAre(Pair("app", "own"), Pair("team", "x")));
    write(storage + "cc/userdata/config.json",
          R"({"annotations":{"io.kubernetes.container.name":"api",
              "io.kubernetes.cri-o.SandboxID":"./bb"}})");
    EXPECT_FALSE(names_.find("cc").facts.labels.contains("team"));
}

}  // namespace
}  // namespace lagtrap::daemon::container_names_test
