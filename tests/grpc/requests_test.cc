// Tests requests that no generated client sends: bytes that are not a message, and missing or too
// many messages. Each is answered with a status that gives the reason, and takes no more memory
// than its bytes.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "server/api/faults.h"
#include "server/auth/methods.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr const char* kNoMessage = "\x12\x7f";
const char* const kMethods[] = {"AdminService/GetCrawlRate",
                                "AdminService/SetCrawlRate",
                                "AdminService/GetFleet",
                                "AdminService/DrainNode",
                                "AdminService/GetPolicy",
                                "AdminService/SetPolicy",
                                "AdminService/GetHost",
                                "AdminService/Pause",
                                "AdminService/SetHostPoliteness",
                                "AdminService/Resume",
                                "AdminService/RunEpoch",
                                "AdminService/CreateCheckpoint",
                                "AdminService/CompactStore",
                                "AdminService/GetStatistics",
                                "AdminService/GetTrustReport",
                                "AdminService/RegisterSource",
                                "AdminService/ListSources",
                                "AdminService/ListCrawls",
                                "AdminService/SetCrawl",
                                "AdminService/DeleteCrawl",
                                "AdminService/ReportShadow",
                                "AdminService/ListHosts",
                                "AdminService/DeleteHost",
                                "PagesService/RemovePages",
                                "AdminService/UnregisterSource",
                                "AdminService/GetPolitenessDefaults",
                                "AdminService/SetPolitenessDefaults",
                                "PagesService/GetPage",
                                "PagesService/RecheckPages",
                                "PagesService/ListPages",
                                "PagesService/ExportPages",
                                "SchedulerService/Next"};

TEST(Requests, ThatAreNoMessageAreInvalidArguments) {
  TestServer server;
  for (const std::string method : kMethods) {
    const grpc::Status status = CallRaw(server, "/freshet.v1." + method, kNoMessage);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("the message is not a valid freshet.v1."))
        << method;
  }
}

// An empty message can ask for a pause or a checkpoint. If the message is missing, nothing may
// happen.
TEST(Requests, ThatHaveNotComeAreNotEmpty) {
  TestServer server;
  for (const std::string method : kMethods) {
    const grpc::Status status = CallWithoutMessage(server, "/freshet.v1." + method);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << method << ": " << status.error_message();
    EXPECT_EQ(status.error_message(), "the call has no message") << method;
  }
  for (const std::string method : {"SetActive", "DeleteCrawl", "DeleteQueue", "BlockQueueUntil",
                                   "SetDelay", "SetLogLevel", "SetCrawlLimit"}) {
    EXPECT_EQ(CallWithoutMessage(server, "/urlfrontier.URLFrontier/" + method).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << method;
  }
  EXPECT_FALSE(server.Statistics().schedule().paused());
  EXPECT_EQ(CallRaw(server, "/freshet.v1.AdminService/Pause", "").error_code(),
            grpc::StatusCode::OK);
  EXPECT_TRUE(server.Statistics().schedule().paused());
}

TEST(Requests, NameTheFieldOfATextThatIsNotUtf8) {
  TestServer server;
  const auto expect = [&](const std::string& method, const std::string& bytes,
                          const std::string& message) {
    const grpc::Status status = CallRaw(server, "/freshet.v1." + method, bytes);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_EQ(status.error_message(), message) << method;
  };
  expect("PagesService/GetPage", "\x0a\x02\xff\xff", "url: is not valid UTF-8");
  expect("PagesService/ListPages", "\x0a\x03\x12\x01\xff", "host: is not valid UTF-8");
  expect("AdminService/Pause", "\x0a\x01\xff", "reason: is not valid UTF-8");
  expect("SchedulerService/Next", "\x1a\x01\xff", "worker: is not valid UTF-8");
}

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;

// Sets each text in `part` and its inner messages to `text`, one after the other, and each time
// calls `use` with `whole`.
void WithEachText(const std::string& text, int depth, Message* whole, Message* part,
                  const std::function<void(const Message&)>& use) {
  const google::protobuf::Reflection& set = *part->GetReflection();
  for (int i = 0; i < part->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = part->GetDescriptor()->field(i);
    const bool message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_map() || (message && depth == 0)) continue;
    if (message) {
      Message* inner =
          field->is_repeated() ? set.AddMessage(part, field) : set.MutableMessage(part, field);
      WithEachText(text, depth - 1, whole, inner, use);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      field->is_repeated() ? set.AddString(part, field, text) : set.SetString(part, field, text);
      use(*whole);
    }
    set.ClearField(part, field);
  }
}

// A status that quotes the text would exceed gRPC's limit, and the client would not learn the
// reason.
TEST(Requests, AreRefusedWithoutQuotingAllThatTheySay) {
  TestServer server([](ServerConfig* config) { config->frontier_enabled = true; });
  // The second text looks like the name of a field.
  const std::vector<std::string> texts = {std::string(60'000, '\'') + "\u00e4",
                                          std::string(60'000, 'a') + ": b"};
  std::vector<std::string> refused;
  for (const MethodRule& rule : AllMethods()) {
    std::string name(rule.path.substr(1));
    std::replace(name.begin(), name.end(), '/', '.');
    const MethodDescriptor* method = DescriptorPool::generated_pool()->FindMethodByName(name);
    if (method == nullptr || method->client_streaming() || method->server_streaming()) continue;
    // This call would make later tests write more log lines.
    if (rule.path.ends_with("URLFrontier/SetLogLevel")) continue;
    const std::unique_ptr<Message> request(
        MessageFactory::generated_factory()->GetPrototype(method->input_type())->New());
    for (const std::string& text : texts) {
      WithEachText(text, 3, request.get(), request.get(), [&](const Message& message) {
        const std::string path(rule.path);
        const grpc::Status status = CallRaw(server, path, message.SerializeAsString());
        EXPECT_LE(status.error_message().size(), kMaxCallMessageBytes + 3) << path;
        EXPECT_THAT(status.error_message(), Not(HasSubstr("metadata"))) << path;
        if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) refused.push_back(path);
      });
    }
  }
  const auto refusals = [&refused](const char* method) {
    return std::count(refused.begin(), refused.end(), method);
  };
  EXPECT_EQ(refusals("/freshet.v1.AdminService/SetPolicy"), 2);
  EXPECT_EQ(refusals("/freshet.v1.AdminService/SetLogLevel"), 4);
  EXPECT_EQ(refusals("/freshet.v1.PagesService/GetPage"), 4);
}

// One bad URL among good ones is refused alone, as on a stream.
TEST(Requests, RefuseTheItemWhoseTextIsNotUtf8) {
  TestServer server;
  server.UpsertMany(2);
  v1::RecheckPagesRequest request;
  request.add_urls(TestServer::Url(0));
  request.add_urls("http://\xff.test/");
  request.add_urls(TestServer::Url(1));
  std::string answer;
  const grpc::Status status = CallRaw(server, "/freshet.v1.PagesService/RecheckPages",
                                      request.SerializePartialAsString(), &answer);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::RecheckPagesResponse response;
  ASSERT_TRUE(response.ParseFromString(answer));
  EXPECT_EQ(response.ack().item_count(), 3u);
  EXPECT_THAT(Described(response.ack()), testing::ElementsAre("1 REFUSED INVALID_ARGUMENT urls: is "
                                                              "not valid UTF-8"));
}

TEST(Requests, OfTooManyItemsAreAcknowledgedWithTheirSequence) {
  TestServer server;
  std::string bytes = "\x08\x07";
  for (int i = 0; i < 8'000'000; ++i) bytes.append("\x12\x00", 2);
  RawStream stream(server, "/freshet.v1.PagesService/UpsertPages");
  const v1::BatchAck ack = stream.Exchange<v1::UpsertPagesResponse>(bytes).ack();
  EXPECT_EQ(ack.sequence(), 7u);
  EXPECT_EQ(ack.item_count(), 8'000'000u);
  EXPECT_EQ(ack.error().field(), "pages");
  EXPECT_EQ(ack.error().reason(), "8000000 items, at most 1000 are allowed in a message");
  // The stream continues.
  EXPECT_EQ(stream.Exchange<v1::UpsertPagesResponse>("\x08\x09").ack().sequence(), 9u);
}

TEST(Requests, OfAWorkerWithTooManyResultsAreAcknowledgedWithTheirSequence) {
  TestServer server;
  RawStream stream(server, "/freshet.v1.SchedulerService/Crawl");
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  EXPECT_EQ(stream.Exchange<v1::CrawlResponse>(hello.SerializeAsString()).notice().kind(),
            v1::NOTICE_KIND_WELCOME);
  v1::CrawlRequest request;
  request.mutable_results()->set_sequence(5);
  for (int i = 0; i < 1001; ++i) request.mutable_results()->add_results();
  const auto answer = stream.Exchange<v1::CrawlResponse>(request.SerializeAsString());
  EXPECT_EQ(answer.result_ack().sequence(), 5u);
  EXPECT_EQ(answer.result_ack().item_count(), 1001u);
  EXPECT_EQ(answer.result_ack().error().field(), "results");
}

grpc::Status UpsertCompressed(TestServer& server, size_t url_bytes, grpc_compression_algorithm how,
                              v1::BatchAck* ack) {
  grpc::ClientContext call;
  call.set_compression_algorithm(how);
  const auto stream = server.pages->UpsertPages(&call);
  v1::UpsertPagesRequest request;
  request.set_sequence(3);
  request.add_pages()->set_url("http://a.test/" + std::string(url_bytes, 'a'));
  v1::UpsertPagesResponse response;
  (void)(stream->Write(request) && stream->Read(&response));
  *ack = response.ack();
  stream->WritesDone();
  return stream->Finish();
}

TEST(CompressedRequests, AreTakenAsFarAsTheyMayBeLarge) {
  TestServer server;
  v1::BatchAck ack;
  EXPECT_TRUE(UpsertCompressed(server, 2000, GRPC_COMPRESS_GZIP, &ack).ok());
  EXPECT_EQ(ack.statuses_size(), 0) << ack.DebugString();
  EXPECT_EQ(ack.sequence(), 3u);
  // Unary calls can be compressed, too.
  grpc::ClientContext call;
  call.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::GetPageRequest request;
  request.set_url("http://a.test/" + std::string(2000, 'a'));
  v1::GetPageResponse page;
  EXPECT_TRUE(server.pages->GetPage(&call, request, &page).ok());
  // The compressed message has a hundredth of this size.
  EXPECT_TRUE(UpsertCompressed(server, 20 << 20, GRPC_COMPRESS_GZIP, &ack).ok());
  EXPECT_EQ(ack.error().reason(), "the message has 20971546 bytes, at most 16777216 are allowed");
  EXPECT_EQ(UpsertCompressed(server, 2000, GRPC_COMPRESS_DEFLATE, &ack).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace freshet
