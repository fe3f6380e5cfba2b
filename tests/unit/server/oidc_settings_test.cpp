#include "server/accounts/oidc_settings.hpp"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::oidc_settings_test {
namespace {

using testing::EndsWith;

class OidcSettingsFile : public StoreFixture {
  protected:
    Result<OidcSettings> read(const std::string& text, mode_t mode = 0640) {
        path_ = directory_ / "oidc.conf";
        std::ofstream(path_) << text;
        ::chmod(path_.c_str(), mode);
        return read_oidc_settings(path_);
    }
    // What is said after the path of the file.
    std::string error_of(const std::string& text) {
        const auto settings = read(text);
        if (settings.ok()) return "";
        EXPECT_EQ(settings.error().kind, ErrorKind::Invalid);
        EXPECT_TRUE(settings.error().message.starts_with(path_.string()));
        return settings.error().message.substr(path_.string().size());
    }

    std::filesystem::path path_;
};

TEST_F(OidcSettingsFile, EachLineHasItsPlace) {
    const auto settings = read(
        "# how people sign in\r\n"
        "\n"
        "issuer https://login.example/realms/main\r\n"
        "  client_id\tlagtrap  \n"
        "client_secret s3cret with blanks\n"
        "title The company's login\n"
        "scopes openid groups\n"
        "name_claim email\n"
        "groups_claim roles\n"
        "ca_file /etc/ssl/own.pem\n"
        "reader *\n"
        "admin people who may\n"
        "uploader builders");
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    EXPECT_EQ(settings->issuer, "https://login.example/realms/main");
    EXPECT_EQ(settings->client_id, "lagtrap");
    EXPECT_EQ(settings->client_secret, "s3cret with blanks");
    EXPECT_EQ(settings->title, "The company's login");
    EXPECT_EQ(settings->scopes, "openid groups");
    EXPECT_EQ(settings->name_claim, "email");
    EXPECT_EQ(settings->groups_claim, "roles");
    EXPECT_EQ(settings->ca_file, "/etc/ssl/own.pem");
    ASSERT_EQ(settings->roles.size(), 3U);
    EXPECT_EQ(settings->roles[0].group, "*");
    EXPECT_EQ(settings->roles[0].role, Role::Reader);
    EXPECT_EQ(settings->roles[1].group, "people who may");
    EXPECT_EQ(settings->roles[1].role, Role::Admin);
    EXPECT_EQ(settings->roles[2].group, "builders");
    EXPECT_EQ(settings->roles[2].role, Role::Uploader);
}

TEST_F(OidcSettingsFile, WhatIsNotSetHasADefault) {
    const auto settings = read("issuer http://localhost:8080/x\nclient_id lagtrap\nreader staff\n");
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    EXPECT_EQ(settings->title, "localhost");
    EXPECT_EQ(settings->scopes, "openid profile email");
    EXPECT_EQ(settings->name_claim, "preferred_username");
    EXPECT_EQ(settings->groups_claim, "groups");
    EXPECT_EQ(settings->client_secret, "");
    EXPECT_EQ(settings->ca_file, "");
}

TEST_F(OidcSettingsFile, WhatIsWrongIsNamedWithItsLine) {
    const std::string names =
        "issuer, client_id, client_secret, title, scopes, name_claim, groups_claim, ca_file, "
        "admin, uploader or reader";
    const std::string start = "issuer https://a\nclient_id b\n";
    EXPECT_EQ(error_of("# x\n\nissuer\n"), ":3: expected \"NAME VALUE\", where NAME is " + names);
    EXPECT_EQ(error_of("issuer  \t \n"), ":1: expected \"NAME VALUE\", where NAME is " + names);
    EXPECT_EQ(error_of("title a\x1b[1m\n"), ":1: expected \"NAME VALUE\", where NAME is " + names);
    EXPECT_EQ(error_of("issuers a\n"), ":1: \"issuers\" is not known; expected " + names);
    EXPECT_EQ(error_of(std::string(65, 'x') + " a\n"),
              ":1: \"" + std::string(64, 'x') + "\" is not known; expected " + names);
    for (const char* half : {"issuer https://a\nreader *\n", "client_id b\nreader *\n", ""})
        EXPECT_EQ(error_of(half), ": \"issuer\" and \"client_id\" are needed") << half;
    EXPECT_EQ(error_of(start),
              ": nobody may sign in; add a line such as \"reader GROUP\", or \"reader *\" for "
              "everybody");
    for (const char* issuer :
         {"http://login.example", "https://a?x", "https://a#x", "https://a b", "login.example"})
        EXPECT_EQ(error_of("issuer " + std::string(issuer) + "\nclient_id b\nreader *\n"),
                  ": \"issuer\" is " + std::string(issuer) +
                      "; expected an address of https, such as https://login.example");
    for (const char* scopes : {"profile email", "openids", "xopenid"})
        EXPECT_EQ(error_of(start + "reader *\nscopes " + scopes + "\n"),
                  ": \"scopes\" has to name openid");
    for (const char* scopes : {"openid", "email openid", "openid email", "a openid b"})
        EXPECT_EQ(error_of(start + "reader *\nscopes " + scopes + "\n"), "") << scopes;
}

TEST_F(OidcSettingsFile, ASecretIsNotForEverybody) {
    const std::string good = "issuer https://a\nclient_id b\nreader *\n";
    EXPECT_TRUE(read(good, 0600).ok());
    EXPECT_TRUE(read(good, 0660).ok());
    for (const mode_t mode : {0604, 0602, 0601}) {
        const auto open = read(good, mode);
        ASSERT_FALSE(open.ok()) << mode;
        EXPECT_EQ(open.error().kind, ErrorKind::Denied);
        EXPECT_EQ(open.error().message,
                  path_.string() + ": every user may read this secret; chmod o= it");
    }
    const auto missing = read_oidc_settings(directory_ / "none");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_FALSE(read(good + std::string(64 * 1024, '#')).ok()) << "more than 64 KiB";
}

}  // namespace
}  // namespace lagtrap::server::oidc_settings_test
