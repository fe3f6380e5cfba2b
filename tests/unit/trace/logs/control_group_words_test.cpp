#include "trace/logs/control_group_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::control_group_words_test {
namespace {

const std::string id(64, 'a');
const std::string twelve(12, 'a');

std::string container_in(const std::string& path) {
    const ContainerOfGroup found = container_of_group(path);
    return found.id + " " + found.manager;
}

TEST(ContainerOfGroup, EachManagerIsKnownByItsPaths) {
    EXPECT_EQ(container_in("/system.slice/docker-" + id + ".scope"), id + " docker");
    EXPECT_EQ(container_in("/docker/" + id), id + " docker");
    EXPECT_EQ(container_in("/docker/" + id + "/init"), id + " docker");
    EXPECT_EQ(container_in("/machine.slice/libpod-" + id + ".scope/container"), id + " podman");
    EXPECT_EQ(container_in("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope"),
              id + " containerd");
    EXPECT_EQ(container_in("/kubepods.slice/crio-" + id + ".scope"), id + " CRI-O");
    EXPECT_EQ(container_in("/kubepods/besteffort/pod1/" + id), id + " Kubernetes");
    EXPECT_EQ(container_in("/lxc.payload.web/system.slice"), "web LXC");
    EXPECT_EQ(container_in("/garden/" + id), id + " ");
}

TEST(ContainerOfGroup, OthersAreNoContainers) {
    for (const std::string& path :
         {std::string(), std::string("/"), std::string("/docker"), std::string("/lxc.monitor.web"),
          std::string("/system.slice/docker.service"), "/docker/" + id.substr(1),
          "/docker/" + id + "a", "/docker/" + id.substr(1) + "G", std::string("/lxc.payload.")})
        EXPECT_EQ(container_in(path), " ") << path;
    EXPECT_EQ(container_in("/docker/" + id + "/docker/" + std::string(64, 'b')), id + " docker")
        << "the outermost";
}

TEST(ControlGroupWords, AreTheUnitOrTheContainerOrThePath) {
    EXPECT_EQ(control_group_words("/docker/" + id), "container " + twelve + " (docker)");
    EXPECT_EQ(control_group_words("/garden/" + id), "container " + twelve);
    EXPECT_EQ(control_group_words("/lxc.payload.web"), "container web (LXC)");
    EXPECT_EQ(control_group_words("/system.slice/nginx.service"), "nginx.service");
    EXPECT_EQ(control_group_words("/user.slice/user-0.slice/session-3.scope"), "session-3.scope");
    EXPECT_EQ(control_group_words("/user.slice/user@0.service/app.slice/shop.service/sub"),
              "shop.service")
        << "the innermost";
    EXPECT_EQ(control_group_words("/user.slice"), "/user.slice");
    EXPECT_EQ(control_group_words(""), "");
}

std::string words_of(const std::string& path, const ContainerName& name) {
    const GroupWords words = group_words(path, {{id, name}, {"web", {"lxc name", "", "", ""}}});
    return words.brief + " | " + words.whole;
}

TEST(GroupWords, SayWhatIsKnownOfAContainer) {
    const std::string path = "/docker/" + id;
    const std::string whole = "container " + twelve + " (docker)";
    EXPECT_EQ(words_of(path, {"", "", "", ""}), "container " + twelve + " | " + whole);
    EXPECT_EQ(words_of(path, {"web", "", "", ""}), "container web | " + whole + ", web");
    EXPECT_EQ(words_of(path, {"", "nginx:1", "", ""}),
              "container " + twelve + " | " + whole + ", image nginx:1");
    EXPECT_EQ(words_of(path, {"web", "nginx:1", "cart", "shop"}),
              "pod shop/cart | " + whole + ", pod shop/cart, web, image nginx:1");
    EXPECT_EQ(words_of(path, {"web", "", "cart", ""}), "pod cart | " + whole + ", pod cart, web");
    EXPECT_EQ(words_of("/docker/" + std::string(64, 'b'), {"web", "", "", ""}),
              "container bbbbbbbbbbbb | container bbbbbbbbbbbb (docker)")
        << "another container";
    EXPECT_EQ(words_of("/lxc.payload.web", {}),
              "container lxc name | container web (LXC), lxc name");
}

TEST(GroupWords, OfUnitsAreBothTheUnit) {
    EXPECT_EQ(words_of("/system.slice/nginx.service", {}), "nginx.service | nginx.service");
    EXPECT_EQ(words_of("/my/group", {}), "/my/group | /my/group");
    EXPECT_EQ(words_of("/", {}), " | ");
    EXPECT_EQ(words_of("", {}), " | ");
}

}  // namespace
}  // namespace lagtrap::trace::control_group_words_test
