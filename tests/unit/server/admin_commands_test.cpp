#include "server/admin_commands.hpp"

#include <unistd.h>

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/accounts/authenticator.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::admin_commands_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class AdminCommands : public StoreFixture {
  protected:
    void put_account(const std::string& name, Role role, bool disabled = false) {
        ASSERT_EQ(store_->accounts().add_account({name, role, "x", 5, disabled}).value(),
                  AddOutcome::New);
    }
    // What the command prints; "wrong: ..." if it fails.
    template <typename Command>
    static std::string output_of(const Command& command, ErrorKind kind = ErrorKind::Invalid) {
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const Status done = command();
        warnings = testing::internal::GetCapturedStderr();
        std::string output = testing::internal::GetCapturedStdout();
        if (done.ok()) return output;
        EXPECT_EQ(done.error().kind, kind);
        return output + "wrong: " + done.error().message;
    }
    std::string newest_note() {
        const auto entries = store_->audit().list(1, {}, AuditPart::All).value();
        if (entries.empty()) return {};
        return entries[0].who + "|" + entries[0].action + "|" + entries[0].object + "|" +
               entries[0].detail;
    }
    std::string remove(const std::string& name, ErrorKind kind = ErrorKind::Denied) {
        return output_of([&] { return remove_user(*store_, name); }, kind);
    }
    std::string role(const std::string& name, const std::string& role,
                     ErrorKind kind = ErrorKind::Denied) {
        return output_of([&] { return change_role(*store_, name, role); }, kind);
    }
    std::string token(const NewToken& wanted) {
        return output_of([&] { return add_token(*store_, wanted); });
    }
    std::string label(const std::string& build, const std::string& name,
                      ErrorKind kind = ErrorKind::Invalid) {
        return output_of([&] { return label_build(*store_, build, name); }, kind);
    }
    // As output_of(), with this at the standard input.
    template <typename Command>
    static std::string output_with(const std::string& input, const Command& command,
                                   ErrorKind kind = ErrorKind::Invalid) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        EXPECT_EQ(::write(ends[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
        ::close(ends[1]);
        const int before = ::dup(STDIN_FILENO);
        ::dup2(ends[0], STDIN_FILENO);
        ::close(ends[0]);
        const std::string output = output_of(command, kind);
        ::dup2(before, STDIN_FILENO);
        ::close(before);
        return output;
    }
    std::string add(const std::string& name, const std::string& role, const std::string& input,
                    ErrorKind kind = ErrorKind::Invalid) {
        return output_with(
            input, [&] { return add_user(*store_, name, role); }, kind);
    }
    bool signs_in(const std::string& name, const std::string& password) {
        Authenticator authenticator(*store_);
        const auto signed_in = authenticator.sign_in(name, password, "", 5);
        EXPECT_TRUE(signed_in.ok());
        return signed_in.ok() && signed_in->has_value();
    }
    std::string team(const Team& wanted) {
        return output_of([&] { return set_team(*store_, wanted); });
    }

    static inline std::string warnings;
};

TEST_F(AdminCommands, TheLastAdminStays) {
    EXPECT_EQ(output_of([&] { return list_users(*store_); }),
              "no accounts; create one with: lagtrap-server user add NAME --role admin\n");
    put_account("a", Role::Admin);
    put_account("b", Role::Admin);
    put_account("off", Role::Admin, true);
    put_account("r", Role::Reader);
    EXPECT_EQ(output_of([&] { return list_users(*store_); }),
              "a                        admin     since 1970-01-01T00:00:00Z\n"
              "b                        admin     since 1970-01-01T00:00:00Z\n"
              "off                      admin     since 1970-01-01T00:00:00Z, disabled\n"
              "r                        reader    since 1970-01-01T00:00:00Z\n");
    EXPECT_EQ(remove("x\x1b", ErrorKind::NotFound), "wrong: no account \"x\\x1b\"");
    EXPECT_EQ(role("a", "boss", ErrorKind::Invalid),
              "wrong: role is \"boss\"; expected reader, uploader or admin");
    EXPECT_EQ(role("a", "uploader"), "a is uploader now; its sessions have ended\n");
    EXPECT_EQ(newest_note(), "command line|change role|a|uploader");
    const std::string refused = "wrong: b is the last admin; create another admin first";
    EXPECT_EQ(role("b", "reader"), refused);
    EXPECT_EQ(remove("b"), refused);
    EXPECT_EQ(role("b", "admin"), "b is admin now; its sessions have ended\n");
    // A disabled admin is not the last one.
    EXPECT_EQ(remove("off"), "removed off\n");
    EXPECT_EQ(remove("r"), "removed r\n");
    EXPECT_EQ(newest_note(), "command line|delete account|r|");
}

TEST_F(AdminCommands, AccountsAreAddedWithThePasswordFromTheInput) {
    const std::string password = "correct horse battery";
    EXPECT_EQ(add("ann", "reader", password + "\nnext line"), "added ann as reader\n");
    EXPECT_EQ(newest_note(), "command line|add account|ann|reader");
    EXPECT_EQ((*store_->accounts().find_account("ann"))->role, Role::Reader);
    EXPECT_TRUE(signs_in("ann", password));
    EXPECT_EQ(add("bob", "admin", password + "\r\n"), "added bob as admin\n");
    EXPECT_TRUE(signs_in("bob", password)) << "without the end of a line of Windows";
    EXPECT_EQ(add("eve", "uploader", password), "added eve as uploader\n");
    EXPECT_EQ(add("ann", "admin", password), "wrong: account \"ann\" already exists");
    EXPECT_EQ((*store_->accounts().find_account("ann"))->role, Role::Reader);
    EXPECT_EQ(add("x", "reader", "short\n"),
              "wrong: the password has 5 letters; at least 12 are needed");
    EXPECT_EQ(add("x", "reader", std::string(2000, 'x'), ErrorKind::TooLarge),
              "wrong: the password is too long");
    EXPECT_EQ(add("x", "boss", password),
              "wrong: role is \"boss\"; expected reader, uploader or admin");
    EXPECT_THAT(add("a b", "reader", password), StartsWith("wrong: name is \"a b\""));
    EXPECT_EQ(store_->accounts().list()->size(), 3U);
}

TEST_F(AdminCommands, APasswordIsChangedAndItsSessionsEnd) {
    const std::string before = "correct horse battery", after = "another long password";
    ASSERT_EQ(add("ann", "reader", before), "added ann as reader\n");
    EXPECT_TRUE(signs_in("ann", before));
    EXPECT_EQ(store_->accounts().sessions("ann")->size(), 1U);
    const auto change = [&](const std::string& name, const std::string& input, ErrorKind kind) {
        return output_with(
            input, [&] { return change_password(*store_, name); }, kind);
    };
    EXPECT_EQ(change("ann", after, ErrorKind::Invalid),
              "changed the password of ann; its sessions have ended\n");
    EXPECT_EQ(newest_note(), "command line|change password|ann|");
    EXPECT_TRUE(store_->accounts().sessions("ann")->empty());
    EXPECT_FALSE(signs_in("ann", before));
    EXPECT_TRUE(signs_in("ann", after));
    EXPECT_EQ(change("bob", after, ErrorKind::NotFound), "wrong: no account \"bob\"");
}

TEST_F(AdminCommands, TokensAreMadeOnceAndRevokedByIdOrName) {
    EXPECT_EQ(output_of([&] { return list_tokens(*store_); }),
              "no tokens; create one with: lagtrap-server token add NAME --scope upload\n");
    const std::string made = token({"rack", "upload", "db\x1b", "north", "1h", false});
    EXPECT_THAT(made, StartsWith("token, for its owner's token file (shown once):\n"));
    EXPECT_THAT(warnings, HasSubstr("there are no accounts yet"));
    EXPECT_EQ(newest_note(), "command line|add token|rack|upload");
    const Token stored = store_->tokens().list().value().at(0);
    EXPECT_EQ(stored.host, "db\\x1b");
    EXPECT_EQ(stored.group, "north");
    EXPECT_EQ(stored.made_by, "command line");
    EXPECT_EQ(stored.expires_realtime_ns, stored.created_realtime_ns + 3'600'000'000'000ULL);
    EXPECT_EQ(token({"rack", "read", "", "", "", false}), "wrong: token \"rack\" already exists");
    EXPECT_THAT(token({"x", "read", "", "", "soon", false}), StartsWith("wrong: --expires"));
    EXPECT_THAT(token({"x", "all", "", "", "", false}), StartsWith("wrong: scope is \"all\""));
    EXPECT_THAT(token({"a b", "read", "", "", "", false}), StartsWith("wrong: name is \"a b\""));
    put_account("a", Role::Admin);
    std::string quiet = token({"next", "read", "", "", "", true});
    EXPECT_EQ(warnings, "");
    ASSERT_THAT(quiet, EndsWith("\n"));
    quiet.pop_back();
    Authenticator authenticator(*store_);
    const auto principal = authenticator.of_token(quiet, 1).value();
    ASSERT_TRUE(principal);
    EXPECT_TRUE(principal->may(Right::Read));
    EXPECT_FALSE(principal->may(Right::Upload));
    const std::string listed = output_of([&] { return list_tokens(*store_); });
    EXPECT_THAT(listed, HasSubstr(" rack                     upload host db\\x1b group north "));
    EXPECT_THAT(listed, HasSubstr("read   host any group - expires never last used never\n"));
    Token twin = stored;
    twin.id = "twin";
    ASSERT_TRUE(store_->tokens().add_token(twin).ok());
    const auto revoke = [&](const std::string& text, ErrorKind kind = ErrorKind::Invalid) {
        return output_of([&] { return revoke_token(*store_, text); }, kind);
    };
    EXPECT_EQ(revoke("none", ErrorKind::NotFound), "wrong: no token \"none\"");
    EXPECT_EQ(revoke("rack"), "wrong: several tokens have this name; give the id (see token list)");
    EXPECT_EQ(revoke("twin"), "revoked twin\n");
    EXPECT_EQ(revoke("rack"), "revoked rack\n");
    EXPECT_EQ(newest_note(), "command line|revoke token|rack|");
    EXPECT_EQ(store_->tokens().list().value().size(), 1U);
}

TEST_F(AdminCommands, TeamsSayWhatTheirPeopleSee) {
    EXPECT_THAT(output_of([&] { return list_teams(*store_); }),
                StartsWith("no teams, so everybody sees everything; "));
    put_account("ann", Role::Reader);
    put_account("root", Role::Admin);
    EXPECT_EQ(team({"shop", {"shop.*"}, {"a.service"}, {"dev"}, {}}),
              "made team shop: event shop.*, unit a.service, group dev\n"
              "this is the first team: from now on, accounts without a team see nothing, except "
              "admins\n");
    EXPECT_EQ(newest_note(), "command line|add team|shop|event shop.*, unit a.service, group dev");
    EXPECT_EQ(team({"shop", {}, {}, {}, {}}), "changed team shop: sees nothing\n");
    EXPECT_EQ(newest_note(), "command line|change team|shop|sees nothing");
    EXPECT_EQ(team({"other", {"x"}, {}, {}, {}}), "made team other: event x\n");
    const auto join = [&](const char* name, const char* account) {
        return output_of([&] { return join_team(*store_, name, account); }, ErrorKind::NotFound);
    };
    EXPECT_EQ(join("shop", "ann"), "ann is in team shop\n");
    EXPECT_EQ(newest_note(), "command line|join team|shop|ann");
    EXPECT_EQ(join("other", "ann"), "ann is in team other\n");
    EXPECT_EQ(join("shop", "root"), "root is in team shop; as an admin, it sees everything\n");
    EXPECT_EQ(join("none", "ann"), "wrong: no team \"none\"");
    EXPECT_EQ(join("shop", "bob"), "wrong: no account \"bob\"");
    EXPECT_EQ(output_of([&] { return list_teams(*store_); }),
              "other                    event x\n    ann\n"
              "shop                     sees nothing\n    ann\n    root\n");
    const auto leave = [&](const char* name, const char* account) {
        return output_of([&] { return leave_team(*store_, name, account); }, ErrorKind::NotFound);
    };
    EXPECT_EQ(leave("other", "root"), "wrong: \"root\" is not in a team \"other\"");
    EXPECT_EQ(leave("shop", "root"), "root left team shop\n");
    EXPECT_EQ(leave("shop", "ann"), "ann left team shop\n");
    const auto remove = [&](const char* name, ErrorKind kind = ErrorKind::Invalid) {
        return output_of([&] { return remove_team(*store_, name); }, kind);
    };
    EXPECT_EQ(remove("none", ErrorKind::NotFound), "wrong: no team \"none\"");
    EXPECT_EQ(remove("other"),
              "wrong: 1 of its accounts are in no other team; add them to another team, or remove "
              "them from this one, first");
    EXPECT_EQ(leave("other", "ann"),
              "ann left team other; it is in no other team, and sees nothing\n");
    EXPECT_EQ(newest_note(), "command line|leave team|other|ann");
    EXPECT_EQ(remove("other"), "removed team other\n");
    EXPECT_EQ(remove("shop"), "removed team shop\nno teams left: everybody sees everything\n");
    EXPECT_EQ(newest_note(), "command line|delete team|shop|");
}

TEST_F(AdminCommands, BuildsAreNamedByTheirBeginning) {
    trace::RunBatch batch;
    batch.host = "alpha";
    for (const char* build : {"ab12", "ab1234", "cd56"}) {
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "open";
        run.begin_realtime_ns = 1'700'000'000'000'000'000;
        run.build_id = build;
    }
    ASSERT_TRUE(store_->batches()
                    .add_batch({std::string(64, '1'), 9, 1'700'000'000'000'000'000, "t"}, batch)
                    .ok());
    EXPECT_EQ(output_of([&] { return list_build_labels(*store_); }),
              "no build has a name; name one with: lagtrap-server label BUILD NAME\n");
    EXPECT_EQ(label("c", "v3"), "build cd56 is named v3\n");
    EXPECT_EQ(newest_note(), "command line|label build|cd56|v3");
    EXPECT_EQ(label("ab12", "v1"), "build ab12 is named v1\n");
    EXPECT_EQ(label("ab1", "v1"),
              "wrong: 2 builds begin with \"ab1\", such as ab12 and ab1234; give more digits");
    EXPECT_EQ(label("", "v1"), "wrong: expected a build id");
    EXPECT_THAT(label("x", "v1", ErrorKind::NotFound),
                StartsWith("wrong: no run has a build that begins with \"x\""));
    // A whole id of a build that has not run yet.
    EXPECT_EQ(label("0123456789abcdef", "v9"), "build 0123456789abcdef is named v9\n");
    EXPECT_THAT(label("0123456789abcde", "v9", ErrorKind::NotFound), StartsWith("wrong: no run"));
    EXPECT_THAT(label("0123456789abcdeg", "v9", ErrorKind::NotFound), StartsWith("wrong: no run"));
    EXPECT_EQ(label("c", std::string(65, 'n')),
              "wrong: expected a name of at most 64 bytes without control characters");
    EXPECT_THAT(label("c", "\x1b"), StartsWith("wrong: expected a name"));
    EXPECT_EQ(label("c", std::string(64, 'n')),
              "build cd56 is named " + std::string(64, 'n') + "\n");
    EXPECT_EQ(label("c", ""), "build cd56 no longer has a name\n");
    EXPECT_THAT(output_of([&] { return list_build_labels(*store_); }),
                HasSubstr("ab12                                     v1                   "));
}

TEST_F(AdminCommands, TheCheckComparesRowsAndData) {
    const auto check = [&] { return output_of([&] { return check_all(*store_, *blobs_); }); };
    EXPECT_EQ(check(), "0 bundles listed, 0 stored without being listed, 0 complaint(s)\n");
    auto blob = blobs_->begin();
    ASSERT_TRUE(blob.ok());
    ASSERT_TRUE(blob->write("x", 1).ok());
    const auto digest = blob->seal();
    ASSERT_TRUE(digest.ok());
    ASSERT_TRUE(blobs_->keep(*blob, *digest).ok());
    EXPECT_EQ(check(), "0 bundles listed, 1 stored without being listed, 0 complaint(s)\n");
    BundleRow row;
    row.digest = std::string(64, '3');
    ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 5}).ok());
    EXPECT_EQ(check(), "bundle " + row.digest +
                           " is listed, but its data is missing\n"
                           "1 bundles listed, 1 stored without being listed, 1 complaint(s)\n"
                           "wrong: the store is damaged");
}

}  // namespace
}  // namespace lagtrap::server::admin_commands_test
