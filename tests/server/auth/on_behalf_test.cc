// Tests that a forwarded call carries the client's credentials, and that they are accepted only
// together with the key of this process.
#include "server/auth/on_behalf.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

using testing::ElementsAre;

std::optional<Credentials> Read(const std::vector<std::pair<std::string, std::string>>& metadata) {
  OnBehalfReader reader;
  for (const auto& [name, value] : metadata) {
    EXPECT_TRUE(IsOnBehalf(name)) << name;
    reader.Add(name, value);
  }
  reader.Add("x-request-id", "something else");
  return reader.Take();
}

TEST(OnBehalf, AllThatAClientHasShownComesThrough) {
  const ShownByClient client = {.authorizations = {"Bearer a-token"},
                                .certificate = true,
                                .names = {"a.test", "b.test"},
                                .address = "2001:db8::1"};
  const std::optional<Credentials> shown = Read(OnBehalfOf(client, OwnKey()));
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->token, DigestOf("a-token"));
  EXPECT_FALSE(shown->malformed);
  EXPECT_TRUE(shown->certificate);
  EXPECT_THAT(shown->names, ElementsAre("a.test", "b.test"));
  EXPECT_EQ(NetworkText(shown->network), "2001:db8::/64");

  const std::optional<Credentials> nobody = Read(OnBehalfOf({}, OwnKey()));
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->token || nobody->certificate || nobody->malformed);
  EXPECT_TRUE(nobody->network.none());

  const std::optional<Credentials> twice =
      Read(OnBehalfOf({.authorizations = {"Bearer a", "Bearer b"}}, OwnKey()));
  ASSERT_TRUE(twice);
  EXPECT_TRUE(twice->malformed);
}

TEST(OnBehalf, WithoutTheKeyNothingIsBelieved) {
  const ShownByClient client = {.authorizations = {"Bearer a-token"}, .certificate = true};
  std::string wrong = OwnKey();
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  for (const std::string& key : {std::string(), wrong, OwnKey().substr(1), OwnKey() + "x"}) {
    EXPECT_FALSE(Read(OnBehalfOf(client, key)));
    OnBehalfReader reader;
    for (const auto& [name, value] : OnBehalfOf(client, key)) reader.Add(name, value);
    EXPECT_TRUE(reader.mistaken());
  }
  OnBehalfReader none;
  none.Add("freshet-certificate", "1");
  EXPECT_FALSE(none.mistaken());
  EXPECT_FALSE(none.Take());
}

// Only this process may state that it has already checked a client, and forwarding drops this
// statement.
TEST(OnBehalf, IsLetInAlreadyWithTheKeyAlone) {
  const auto let_in = [](const std::string& key) {
    OnBehalfReader reader;
    for (const auto& [name, value] : OnBehalfOf({}, key)) reader.Add(name, value);
    EXPECT_FALSE(reader.let_in());
    const auto [name, value] = LetInAlready();
    EXPECT_TRUE(IsOnBehalf(name));
    reader.Add(name, value);
    return reader.let_in();
  };
  EXPECT_TRUE(let_in(OwnKey()));
  EXPECT_FALSE(let_in(""));
  EXPECT_FALSE(let_in(OwnKey() + "x"));
  OnBehalfReader none;
  none.Add(LetInAlready().first, LetInAlready().second);
  EXPECT_FALSE(none.let_in());
}

}  // namespace
}  // namespace freshet
