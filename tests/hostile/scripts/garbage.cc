// Calls every method of the API, and some that do not exist, with bytes that are not, or not quite,
// a valid message.
#include <string>
#include <vector>

#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/scheduler.pb.h"
#include "tests/hostile/raw_call.h"
#include "tests/hostile/scripts.h"

namespace freshet::hostile {
namespace {

struct Method {
  std::string path;
  // True if an empty or random message could do what only an operator should do.
  bool careful = false;
};

std::vector<Method> AllMethods() {
  std::vector<Method> methods = {{"/freshet.v1.PagesService/NoSuchMethod", false},
                                 {"/freshet.v9.Nothing/AtAll", false},
                                 {"/", false},
                                 {"/grpc.health.v1.Health/Check", false}};
  for (const google::protobuf::FileDescriptor* file :
       {v1::Page::descriptor()->file(), v1::WorkerHello::descriptor()->file(),
        v1::ReportCrawlsRequest::descriptor()->file(),
        v1::GetStatisticsRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j) {
        methods.push_back({"/" + service.full_name() + "/" + service.method(j)->name(),
                           service.name() == "AdminService" || service.name() == "PagesService"});
      }
    }
  }
  return methods;
}

// Returns a message in the wire format with random fields.
std::string HalfAMessage(Attack& attack) {
  std::string bytes;
  for (uint64_t fields = 1 + attack.Below(6); fields > 0; --fields) {
    const uint64_t field = 1 + attack.Below(12);
    const uint64_t type = attack.Below(8);
    bytes.push_back(static_cast<char>(field << 3 | type));
    if (type == 2) {
      const std::string text = attack.OneIn(2) ? HalfAMessage(attack) : attack.OddText();
      const size_t said = attack.OneIn(8) ? attack.Below(1'000'000) : text.size();
      for (size_t rest = said;; rest >>= 7) {
        bytes.push_back(static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0)));
        if (rest <= 127) break;
      }
      bytes += text;
    } else {
      bytes += attack.Bytes(10);
    }
    if (bytes.size() > 100'000) break;
  }
  return bytes;
}

}  // namespace

void Garbage(Attack& attack) {
  const std::vector<Method> methods = AllMethods();
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    const Method& method = methods[attack.Below(methods.size())];
    // For these methods, begins with a field of an invalid type, so that the bytes are never a
    // message.
    std::string bytes = method.careful ? "\x0f" : "";
    bytes += attack.OneIn(2) ? attack.Bytes(3000) : HalfAMessage(attack);
    const auto call = attack.Call();
    (void)SendBytes(channel, *call, method.path, bytes);
  }
}

}  // namespace freshet::hostile
