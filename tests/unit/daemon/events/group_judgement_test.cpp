#include "daemon/events/group_judgement.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::group_judgement_test {
namespace {

const std::string id(64, 'a');
const std::string docker_group = "/system.slice/docker-" + id + ".scope";
const std::string pod_group = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope";

KnownContainer shop() {
    return {{"shop", "registry.example:5000/team/shop:7", "", "", "", {{"tier", "front"}}, true},
            true};
}

GroupJudgement judge(const settings::GroupScope& scope, const std::string& path,
                     const KnownContainer& known = {}) {
    return judge_group({{}, false, {}, {}, scope}, {path},
                       [&](const std::string&) { return known; });
}

settings::GroupScope scope_of(std::string settings::GroupScope::*what, std::string text) {
    settings::GroupScope scope;
    scope.*what = std::move(text);
    return scope;
}

TEST(GroupJudgement, Units) {
    const auto unit = [](const char* text, const char* path) {
        return judge(scope_of(&settings::GroupScope::unit, text), path).in_scope;
    };
    EXPECT_TRUE(unit("postgresql@15-main.service", "/system.slice/postgresql@15-main.service"));
    EXPECT_TRUE(unit("web", "/system.slice/web.service"));
    EXPECT_TRUE(unit("web", "/system.slice/web.service/worker"));
    EXPECT_TRUE(unit("user-*.slice", "/user.slice/user-1000.slice/session-1.scope"));
    EXPECT_FALSE(unit("web", "/system.slice/web2.service"));
    EXPECT_FALSE(unit("web", "/web"));
    EXPECT_FALSE(unit("*", ""));
}

TEST(GroupJudgement, Groups) {
    const auto group = [](const char* text, const char* path) {
        return judge(scope_of(&settings::GroupScope::control_group, text), path).in_scope;
    };
    EXPECT_TRUE(group("/batch", "/batch"));
    EXPECT_TRUE(group("/batch", "/batch/a/b"));
    EXPECT_TRUE(group("/batch/*", "/batch/a/b"));
    EXPECT_FALSE(group("/batch/*", "/batch"));
    EXPECT_FALSE(group("/batch", "/batches"));
    EXPECT_TRUE(group("/", ""));
}

TEST(GroupJudgement, Containers) {
    const auto asked = [](std::string settings::GroupScope::*what, const char* text) {
        return judge(scope_of(what, text), docker_group, shop()).in_scope;
    };
    using Scope = settings::GroupScope;
    EXPECT_TRUE(asked(&Scope::container, "shop"));
    EXPECT_TRUE(asked(&Scope::container, "aaaaaaaaaaaa"));
    EXPECT_FALSE(asked(&Scope::container, "aaaa"));  // as short as a name
    EXPECT_TRUE(asked(&Scope::image, "registry.example:5000/team/shop:7"));
    EXPECT_TRUE(asked(&Scope::image, "shop"));
    EXPECT_TRUE(asked(&Scope::image, "*/shop:7"));
    EXPECT_FALSE(asked(&Scope::image, "team/shop"));
    EXPECT_TRUE(asked(&Scope::label, "tier=front"));
    EXPECT_FALSE(asked(&Scope::label, "tier=back"));
    EXPECT_FALSE(
        judge(scope_of(&Scope::container, "shop"), "/system.slice/shop.service", shop()).in_scope);
}

TEST(GroupJudgement, WhatIsNotKnownIsSaid) {
    using Scope = settings::GroupScope;
    EXPECT_EQ(judge(scope_of(&Scope::container, "shop"), docker_group).not_known, "name");
    EXPECT_EQ(judge(scope_of(&Scope::image, "shop"), docker_group).not_known, "image");
    EXPECT_EQ(judge(scope_of(&Scope::pod, "shop"), pod_group, shop()).not_known, "pod");
    // it has none
    EXPECT_EQ(judge(scope_of(&Scope::pod, "shop"), docker_group, shop()).not_known, "");
    KnownContainer without_labels = shop();
    without_labels.facts.labels.clear();
    EXPECT_EQ(judge(scope_of(&Scope::label, "tier=front"), docker_group, without_labels).not_known,
              "");
    without_labels.facts.has_labels = false;
    EXPECT_EQ(judge(scope_of(&Scope::label, "tier=front"), docker_group, without_labels).not_known,
              "labels");
}

// A group below one that belongs to user 1000.
bool judge_of_user(settings::Scope scope, const std::string& inside,
                   const KnownContainer& known = {}) {
    const std::string manager = "/user.slice/user-1000.slice/user@1000.service";
    return judge_group(scope, {manager + inside, manager.size(), 1000},
                       [&](const std::string&) { return known; })
        .in_scope;
}

TEST(GroupJudgement, AUsersOwnGroupsAreNoUnitsOfTheMachine) {
    settings::Scope scope;
    scope.groups.unit = "nginx";
    EXPECT_FALSE(judge_of_user(scope, "/app.slice/nginx.service"));
    EXPECT_FALSE(judge_of_user(scope, "/nginx.service/inside"));
    scope.groups.unit = "user@1000";
    EXPECT_TRUE(judge_of_user(scope, "/app.slice/nginx.service"))
        << "the system manager made that one";
}

TEST(GroupJudgement, AUsersUnitsCountWhereTheScopeNamesTheUser) {
    settings::Scope scope;
    scope.groups.unit = "nginx";
    scope.uid = 1000;
    EXPECT_TRUE(judge_of_user(scope, "/app.slice/nginx.service"));
    scope.uid = 1001;
    EXPECT_FALSE(judge_of_user(scope, "/app.slice/nginx.service"));
}

TEST(GroupJudgement, AUserMakesNoGroupOfTheMachinesContainers) {
    const std::string forged = "/docker-" + id + ".scope";
    settings::Scope scope;
    scope.groups.container = "shop";
    EXPECT_FALSE(judge_of_user(scope, forged, shop()));
    scope.groups.container = id;
    EXPECT_FALSE(judge_of_user(scope, forged, shop()));
    EXPECT_TRUE(judge_of_user(scope, forged)) << "a rootless container, by its id";
}

TEST(GroupJudgement, UnitsInsideOfAContainerAreTheContainers) {
    settings::GroupScope scope = scope_of(&settings::GroupScope::unit, "nginx");
    EXPECT_FALSE(judge(scope, docker_group + "/system.slice/nginx.service", shop()).in_scope);
    scope.container = "shop";
    EXPECT_TRUE(judge(scope, docker_group + "/system.slice/nginx.service", shop()).in_scope);
}

TEST(GroupJudgement, AllThatIsGivenMustHold) {
    settings::GroupScope scope;
    scope.unit = "docker-*.scope";
    scope.image = "shop";
    EXPECT_TRUE(judge(scope, docker_group, shop()).in_scope);
    scope.unit = "other.service";
    EXPECT_FALSE(judge(scope, docker_group, shop()).in_scope);
}

}  // namespace
}  // namespace lagtrap::daemon::group_judgement_test
