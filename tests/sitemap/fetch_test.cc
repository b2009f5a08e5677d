#include "tools/sitemap/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/sitemap/public_here.h"
#include "tests/support/gzip.h"
#include "tests/support/small_site.h"

namespace freshet::sitemap {
namespace {

using testing::HasSubstr;
using Outcome = FetchResult::Outcome;

class FetchTest : public testing::Test {
 protected:
  FetchTest() : body_(*Spool::Create()) {
    options_.user_agent = "freshet/test";
    options_.is_public = IsPublicHere;
  }
  FetchResult Get(FetchRequest request) { return Fetch(request, options_, *body_); }
  std::string Body() {
    std::string text;
    const auto bytes = body_->Read();
    while (*bytes->Read(&text)) {
    }
    return text;
  }

  SmallSite site_;
  SmallSite public_site_{kPublic};
  FetchOptions options_;
  std::unique_ptr<Spool> body_;
};

TEST_F(FetchTest, SaysWhoItIsAndKeepsWhatComes) {
  std::string agent;
  std::string encoding;
  site_.PutAnswer("/a", [&](const auto& request, auto& response) {
    agent = request.get_header_value("User-Agent");
    encoding = request.get_header_value("Accept-Encoding");
    response.set_header("ETag", "\"7\"");
    response.set_header("Last-Modified", "Tue, 10 Jun 2003 04:00:00 GMT");
    response.set_content("<a/>", "text/xml");
  });
  const FetchResult result = Get({.url = site_.url() + "/a#part"});
  ASSERT_EQ(result.outcome, Outcome::kFetched) << result.why;
  EXPECT_EQ(Body(), "<a/>");
  EXPECT_EQ(result.etag, "\"7\"");
  EXPECT_EQ(result.last_modified, "Tue, 10 Jun 2003 04:00:00 GMT");
  EXPECT_EQ(agent, "freshet/test");
  EXPECT_EQ(encoding, "gzip");
  EXPECT_FALSE(result.from_public);
}

TEST_F(FetchTest, AsksWhetherADocumentHasChanged) {
  site_.Put("/a", "<a/>");
  const FetchResult first = Get({.url = site_.url() + "/a"});
  ASSERT_EQ(first.outcome, Outcome::kFetched);
  const FetchResult again = Get({.url = site_.url() + "/a", .etag = first.etag});
  EXPECT_EQ(again.outcome, Outcome::kNotModified) << again.why;
}

TEST_F(FetchTest, FollowsAFewRedirects) {
  site_.Put("/5", "<a/>");
  for (int i = 0; i < 5; ++i) {
    site_.PutRedirect("/" + std::to_string(i), "/" + std::to_string(i + 1));
  }
  EXPECT_EQ(Get({.url = site_.url() + "/0"}).url, site_.url() + "/5");
  EXPECT_EQ(Body(), "<a/>");
  site_.PutRedirect("/loop", "/loop");
  const FetchResult loop = Get({.url = site_.url() + "/loop"});
  EXPECT_EQ(loop.outcome, Outcome::kRefused);
  EXPECT_EQ(loop.why, "more than 5 redirects");
  EXPECT_TRUE(loop.too_many_redirects);
}

TEST_F(FetchTest, APublicSiteLeadsToNoPrivateAddress) {
  site_.Put("/secret", "secret");
  public_site_.PutRedirect("/a", site_.url() + "/secret");
  public_site_.PutRedirect("/name", "http://localhost:1/secret");
  for (const char* path : {"/a", "/name"}) {
    const FetchResult result = Get({.url = public_site_.url() + path});
    EXPECT_EQ(result.outcome, Outcome::kRefused);
    EXPECT_THAT(result.why, HasSubstr("which is not a public address"));
  }
  EXPECT_EQ(Get({.url = site_.url() + "/secret", .only_public = true}).outcome, Outcome::kRefused);
  EXPECT_THAT(site_.Asked(), testing::IsEmpty());
  EXPECT_EQ(Body(), "");
  // A private URL can redirect to any private URL.
  site_.PutRedirect("/a", "/secret");
  EXPECT_EQ(Get({.url = site_.url() + "/a"}).outcome, Outcome::kFetched);
  public_site_.Put("/b", "<b/>");
  const FetchResult open = Get({.url = public_site_.url() + "/b", .only_public = true});
  EXPECT_EQ(open.outcome, Outcome::kFetched) << open.why;
  EXPECT_TRUE(open.from_public);
}

// A public site stays public wherever it redirects to. Previously, it counted as private if its
// redirect was refused.
TEST_F(FetchTest, WhateverItLeadsToAPublicSiteIsPublic) {
  public_site_.PutRedirect("/loop", "/loop");
  public_site_.PutRedirect("/long", "/" + std::string(kMaxDocumentUrlBytes, 'a'));
  public_site_.PutRedirect("/other", "ftp://" + std::string(kPublic) + "/");
  public_site_.PutRedirect("/inside", site_.url() + "/");
  for (const char* path : {"/loop", "/long", "/other", "/inside"}) {
    const FetchResult result = Get({.url = public_site_.url() + path});
    EXPECT_EQ(result.outcome, Outcome::kRefused) << path;
    EXPECT_TRUE(result.from_public) << path;
    EXPECT_TRUE(result.site_public) << path;
    EXPECT_GT(result.elapsed, Duration()) << path;
  }
}

TEST_F(FetchTest, SpeaksHttpAlone) {
  site_.PutRedirect("/a", "file:///etc/passwd");
  site_.PutRedirect("/b", "http://user:word@127.0.0.1/");
  for (const std::string& url :
       {site_.url() + "/a", site_.url() + "/b", std::string("file:///etc/passwd"),
        std::string("gopher://127.0.0.1/"), std::string("http://"),
        site_.url() + "/" + std::string(2048, 'a')}) {
    const FetchResult result = Get({.url = url});
    EXPECT_EQ(result.outcome, Outcome::kRefused) << url;
    EXPECT_NE(result.why, "");
  }
  EXPECT_EQ(Body(), "");
}

TEST_F(FetchTest, SizesHaveCaps) {
  site_.PutAnswer("/large", [](const auto&, auto& response) {
    response.set_content(std::string(kMaxFetchedBytes + 1, ' '), "application/octet-stream");
  });
  const FetchResult large = Get({.url = site_.url() + "/large"});
  EXPECT_EQ(large.outcome, Outcome::kRefused);
  EXPECT_EQ(large.why, "larger than 50 MiB");
  site_.PutAnswer("/headers", [](const auto&, auto& response) {
    for (int i = 0; i < 20; ++i) response.set_header("X-A", std::string(6000, 'a'));
  });
  const FetchResult headers = Get({.url = site_.url() + "/headers"});
  EXPECT_EQ(headers.outcome, Outcome::kRefused);
  EXPECT_EQ(headers.why, "more than 64 KiB of headers");
  site_.PutAnswer("/header", [](const auto&, auto& response) {
    response.set_header("X-A", std::string(1 << 20, 'a'));
  });
  const FetchResult header = Get({.url = site_.url() + "/header"});
  EXPECT_EQ(header.outcome, Outcome::kRefused);
  EXPECT_EQ(header.why, "more than 64 KiB of headers");
  site_.PutAnswer("/tag", [](const auto&, auto& response) {
    response.set_header("ETag", std::string(kMaxValidatorBytes + 1, 'a'));
  });
  const FetchResult tag = Get({.url = site_.url() + "/tag"});
  EXPECT_EQ(tag.outcome, Outcome::kFetched);
  EXPECT_EQ(tag.etag, "");
}

// Sites can send a wrong Content-Encoding header.
TEST_F(FetchTest, AContentEncodingThatIsNoneIsPassedOver) {
  const std::string packed = Gzip("<a/>");
  struct Case {
    const char* encoding;
    std::string body;
  };
  for (const Case& one : std::vector<Case>{{"utf-8", "<a/>"},
                                           {"none", "<a/>"},
                                           {"gzip", "<a/>"},
                                           {"gzip", packed},
                                           {"gzip", packed + std::string(200'000, 'x')},
                                           {"gzip", Gzip(packed)},
                                           {"gzip, gzip", Gzip(packed)},
                                           {"binary", packed}}) {
    site_.PutAnswer("/a", [&one](const auto&, auto& response) {
      response.set_header("Content-Encoding", one.encoding);
      response.set_content(one.body, "application/octet-stream");
    });
    const FetchResult result = Get({.url = site_.url() + "/a"});
    EXPECT_EQ(result.outcome, Outcome::kFetched) << one.encoding << ": " << result.why;
    EXPECT_EQ(Body(), "<a/>") << one.encoding;
  }
}

// Previously, 8 KB with several layers of compression kept a thread busy for hours, and 5 KB took
// 600 MB.
TEST_F(FetchTest, NothingElseIsDecompressed) {
  site_.PutAnswer("/a", [](const auto& request, auto& response) {
    response.set_header(request.get_param_value("name"), request.get_param_value("value"));
    response.set_content("<a/>", "text/xml");
  });
  for (const char* encoding : {"br", "zstd", "deflate", "compress"}) {
    const FetchResult result =
        Get({.url = site_.url() + "/a?name=Content-Encoding&value=" + encoding});
    EXPECT_EQ(result.outcome, Outcome::kFailed) << encoding;
    EXPECT_THAT(result.why, HasSubstr("and was asked for by gzip"));
  }
  for (const char* encoding : {"gzip", "gzip,gzip,gzip", "zstd", "GZIP,%20identity"}) {
    const FetchResult result =
        Get({.url = site_.url() + "/a?name=Transfer-encoding&value=" + encoding});
    EXPECT_EQ(result.outcome, Outcome::kRefused) << encoding;
    EXPECT_THAT(result.why, HasSubstr("Transfer-Encoding"));
  }
}

TEST_F(FetchTest, WhatIsCompressedTwiceHasACap) {
  // The head of a gzip file with an endless name, so that no data comes out.
  const std::string endless =
      std::string("\x1f\x8b\x08\x08\0\0\0\0\0\x03", 10) + std::string(60 << 20, 'A');
  site_.PutAnswer("/a", [packed = Gzip(endless)](const auto&, auto& response) {
    response.set_header("Content-Encoding", "gzip");
    response.set_content(packed, "application/octet-stream");
  });
  EXPECT_EQ(Get({.url = site_.url() + "/a"}).outcome, Outcome::kFetched);
  std::string text;
  EXPECT_THAT(body_->Read()->Read(&text).status().ToString(), HasSubstr("compressed twice"));
}

TEST_F(FetchTest, TellsTheStatusTheCharsetAndTheTime) {
  site_.PutAnswer("/a", [](const auto&, auto& response) {
    response.set_content("<a/>", "text/xml; Charset=\"KOI8-R\"; x=y");
  });
  const FetchResult result = Get({.url = site_.url() + "/a"});
  EXPECT_EQ(result.charset, "koi8-r");
  EXPECT_EQ(result.status, 200);
  EXPECT_GT(result.elapsed, Duration());
  EXPECT_EQ(Get({.url = site_.url() + "/none"}).status, 404);
}

TEST_F(FetchTest, ASiteThatTakesItsTimeIsLeft) {
  std::promise<void> over;
  const auto wait = over.get_future().share();
  site_.PutAnswer("/slow", [wait](const auto&, auto&) { wait.wait(); });
  options_.timeout = Duration::Millis(200);
  const FetchResult slow = Get({.url = site_.url() + "/slow"});
  EXPECT_EQ(slow.outcome, Outcome::kFailed);
  EXPECT_THAT(slow.why, HasSubstr("took too long"));
  options_.timeout = Duration::Seconds(60);
  options_.cancelled = [] { return true; };
  EXPECT_EQ(Get({.url = site_.url() + "/slow"}).why, "cut short by a signal");
  over.set_value();
}

TEST_F(FetchTest, HearsWhenToComeAgain) {
  site_.PutAnswer("/busy", [](const auto& request, auto& response) {
    response.status = 503;
    response.set_header("Retry-After", request.get_param_value("s"));
  });
  const FetchResult soon = Get({.url = site_.url() + "/busy?s=120"});
  EXPECT_EQ(soon.outcome, Outcome::kFailed);
  EXPECT_EQ(soon.why, "the site answers 503, and to come again in 120 s");
  EXPECT_EQ(soon.retry_after, Duration::Seconds(120));
  EXPECT_EQ(Get({.url = site_.url() + "/busy?s=9999999"}).retry_after, kMaxRetryAfter);
  EXPECT_FALSE(Get({.url = site_.url() + "/busy?s=soon"}).retry_after);
  EXPECT_EQ(Get({.url = site_.url() + "/none"}).outcome, Outcome::kNotThere);
}

}  // namespace
}  // namespace freshet::sitemap
