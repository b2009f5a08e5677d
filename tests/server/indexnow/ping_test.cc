#include "server/indexnow/ping.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::variant<Ping, HttpResponse> Get(const std::string& query) {
  HttpRequest request;
  request.method = "GET";
  request.query = query;
  return ParsePing(request, {});
}

std::variant<Ping, HttpResponse> Post(const std::string& body, const IndexNowConfig& config = {}) {
  HttpRequest request;
  request.method = "POST";
  request.body = body;
  return ParsePing(request, config);
}

// Returns the refusal, such as "422 why"; "" = the ping was accepted.
std::string Refusal(const std::variant<Ping, HttpResponse>& parsed) {
  const auto* response = std::get_if<HttpResponse>(&parsed);
  return response == nullptr ? "" : std::to_string(response->status) + " " + *response->body;
}

std::string List(const std::string& rest) {
  return R"({"host": "a.test", "key": "0123456789", )" + rest + "}";
}

TEST(Ping, OfOnePageIsAQuery) {
  const auto parsed = Get("key=abc-12345&url=https%3A%2F%2FA.test%2Fb%3Fc=d+e&more=1");
  ASSERT_EQ(Refusal(parsed), "");
  const auto& ping = std::get<Ping>(parsed);
  EXPECT_EQ(ping.key, "abc-12345");
  EXPECT_EQ(ping.file.Url(), "https://a.test/abc-12345.txt");
  EXPECT_THAT(ping.urls, ElementsAre("https://a.test/b?c=d+e"));
}

TEST(Ping, OfManyIsJson) {
  const auto parsed = Post(List(R"("keyLocation": "http://a.test/x/k.txt", "other": [1, null],
      "urlList": ["http://a.test/x/2", "http://A.test/x/1", "http://a.test/x/2#f"])"));
  ASSERT_EQ(Refusal(parsed), "");
  const auto& ping = std::get<Ping>(parsed);
  EXPECT_EQ(ping.file.Url(), "http://a.test/x/k.txt");
  EXPECT_THAT(ping.urls, ElementsAre("http://a.test/x/1", "http://a.test/x/2"));
  EXPECT_GT(ping.bytes(), 34U);
}

TEST(Ping, WhatIsMalformedIs400) {
  EXPECT_THAT(Refusal(Get("key=12345678")), HasSubstr("400 url: is missing"));
  EXPECT_THAT(Refusal(Get("url=http://a.test/")), HasSubstr("400 key: is missing"));
  EXPECT_THAT(Refusal(Get("url=http://a.test/%4&key=12345678")), HasSubstr("400 url"));
  EXPECT_THAT(Refusal(Get("url=a&url=b")), HasSubstr("400 url: is given twice"));
  for (const std::string body :
       {"", "x", "[]", "\"a\"", "1", "{\"key\": \"\xff\"}", "{} {}", "{\"a\": {}}", "{\"a\": [[]]}",
        "{\"key\": 1}", "{\"urlList\": \"a\"}", "{\"urlList\": [1]}", "{\"urlList\": [{}]}",
        "{\"host\": [\"a\"], \"key\": \"12345678\", \"urlList\": [\"http://a/\"]}"}) {
    EXPECT_THAT(Refusal(Post(body)), HasSubstr("400 ")) << body;
  }
  EXPECT_THAT(Refusal(Post(List(R"("urlList": [])"))),
              HasSubstr("400 urlList: is missing or empty"));
  EXPECT_THAT(Refusal(Post(List(R"("urlList": ["http://a.test/"], "urlList": [])"))),
              HasSubstr("400 urlList: is given twice"));
  // Deeply nested text is refused, and is not stored anywhere.
  EXPECT_THAT(Refusal(Post("{\"urlList\": " + std::string(1 << 20, '['))), HasSubstr("400 "));
}

TEST(Ping, MoreUrlsThanAreAllowedAreRefused) {
  std::string urls;
  for (int i = 0; i < 10'000; ++i) urls += "\"http://a.test/" + std::to_string(i) + "\",";
  EXPECT_EQ(Refusal(Post(List("\"urlList\": [" + urls.substr(0, urls.size() - 1) + "]"))), "");
  EXPECT_THAT(Refusal(Post(List("\"urlList\": [" + urls + "\"http://a.test/a\"]"))),
              HasSubstr("400 urlList: has more than 10000 URLs"));
}

TEST(Ping, WhatDoesNotGoTogetherIs422) {
  for (const std::string key : {"1234567", "12345_78", "12345678%20"}) {
    EXPECT_THAT(Refusal(Get("url=http://a.test/&key=" + key)), HasSubstr("422 key")) << key;
  }
  EXPECT_THAT(Refusal(Get("url=http://a.test/&key=" + std::string(129, 'a'))),
              HasSubstr("422 key"));
  EXPECT_THAT(Refusal(Get("url=ftp://a.test/&key=12345678")), HasSubstr("422 url"));
  EXPECT_THAT(Refusal(Post(List(R"("urlList": ["http://a.test/", "http://b.test/"])"))),
              HasSubstr("422 URL 2: http://b.test/ is not of the host a.test"));
  EXPECT_THAT(Refusal(Post(List(R"("urlList": ["http://a.test/", "a"])"))), HasSubstr("422 URL 2"));
  for (const std::string location :
       {"https://b.test/k.txt", "https://a.test:22/k.txt", "https://a.test.evil/k.txt", "k.txt",
        "file:///etc/passwd", "https://u@a.test/k.txt"}) {
    EXPECT_THAT(Refusal(Post(List("\"keyLocation\": \"" + location +
                                  "\", \"urlList\": [\"http://a.test/\"]"))),
                HasSubstr("422 keyLocation"))
        << location;
  }
  EXPECT_THAT(Refusal(Post(List(R"("keyLocation": "https://a.test/b/k.txt",
                                   "urlList": ["http://a.test/c"])"))),
              HasSubstr("422 URL 1: http://a.test/c is not below /b/"));
  EXPECT_THAT(
      Refusal(Post(R"({"host": "a.test/x", "key": "12345678", "urlList": ["http://a.test/"]})")),
      HasSubstr("422 host"));
}

}  // namespace
}  // namespace freshet
