#include "server/ops/console_calls.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/auth.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/time_util.h"
#include "grpcpp/client_context.h"
#include "nlohmann/json.hpp"
#include "proto/forecast.h"
#include "server/api/faults.h"
#include "server/api/inside.h"
#include "server/logs/loggers.h"
#include "server/ops/source_verdict.h"
#include "server/ports/http_query.h"

namespace freshet {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;

// How long to wait for a call. This is less than the HTTP port waits for an answer. A change of
// policy takes longer to come into force, so the console does not wait for its end.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kPolicyPatience{1};

// The outcome of a call. Value type, thread-compatible.
struct Outcome {
  grpc::Status status;
  json response;
};

grpc::Status Invalid(const std::string& why) { return GrpcStatusOf(InvalidArgument("{}", why)); }

int HttpStatusOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return 200;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return 400;
    case grpc::StatusCode::UNAUTHENTICATED:
      return 401;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::ALREADY_EXISTS:
      return 409;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case grpc::StatusCode::UNAVAILABLE:
      return 503;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return 504;
    default:
      return 500;
  }
}

std::string TextOf(const json& value) {
  return SafeJson(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

// Sets a field of a request from text.
grpc::Status SetField(const std::string& name, const std::string& text, Message* message) {
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->is_repeated())
    return Invalid(name + ": is not a parameter of this call");
  const google::protobuf::Reflection& set = *message->GetReflection();
  uint32_t number = 0;
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    set.SetString(message, field, text);
  } else if (field->cpp_type() != FieldDescriptor::CPPTYPE_UINT32) {
    return Invalid(name + ": is not a parameter of this call");
  } else if (absl::SimpleAtoi(text, &number)) {
    set.SetUInt32(message, field, number);
  } else {
    return Invalid(name + ": is not a number from 0 to 4294967295");
  }
  return grpc::Status::OK;
}

grpc::Status ReadQueryInto(const std::string& query, Message* message) {
  const StatusOr<HttpParameters> parameters = ParseQuery(query);
  if (!parameters.ok()) return Invalid(std::string(parameters.status().message()));
  for (const auto& [name, value] : *parameters) {
    if (grpc::Status status = SetField(name, value, message); !status.ok()) return status;
  }
  return grpc::Status::OK;
}

grpc::Status ReadBodyInto(const std::string& body, Message* message) {
  const json given = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!given.is_object()) return Invalid("the body is not a JSON object");
  const auto status = google::protobuf::util::JsonStringToMessage(body, message);
  if (status.ok()) return grpc::Status::OK;
  return Invalid("the body does not fit: " + std::string(status.message()));
}

template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// Calls a service on behalf of the client of `http`. `add` adds to the JSON of the response.
template <typename Service, typename Stub, typename Request, typename Response>
Outcome Call(const std::shared_ptr<grpc::Channel>& channel, const HttpRequest& http,
             Method<Stub, Request, Response> method,
             void (*add)(const Response&, json*) = nullptr) {
  Request request;
  Outcome outcome;
  outcome.status = http.method == "POST" ? ReadBodyInto(http.body, &request)
                                         : ReadQueryInto(http.query, &request);
  if (!outcome.status.ok()) return outcome;
  grpc::ClientContext call;
  ComeAs(http, &call);
  const auto patience = std::is_same_v<Request, v1::SetPolicyRequest> ? kPolicyPatience : kPatience;
  call.set_deadline(std::chrono::system_clock::now() + patience);
  Response response;
  outcome.status = ((*Service::NewStub(channel)).*method)(&call, request, &response);
  if (!outcome.status.ok()) return outcome;
  const StatusOr<std::string> text = JsonOf(response);
  outcome.response = json::parse(text.ok() ? *text : "", nullptr, /*allow_exceptions=*/false);
  if (outcome.response.is_discarded()) {
    Logger(LogModule::kOps)
        .error("console: {}: {}", response.GetTypeName(), std::string(text.status().message()));
    outcome.status = {grpc::StatusCode::INTERNAL, "the answer cannot be shown as JSON"};
    return outcome;
  }
  if (add != nullptr) add(response, &outcome.response);
  return outcome;
}

// --- Additions to responses

constexpr int kForecastPoints = 60;

// Adds a forecast for the next days. If the page is crawled as soon as its value reaches the price,
// the forecast ends at that crawl.
void AddForecast(const v1::GetPageResponse& response, json* out) {
  json forecast = json::array();
  for (const ForecastPoint& point : Forecast(response.explanation(), kForecastPoints)) {
    json entry = {{"seconds", point.seconds}, {"probability_fresh", point.probability_fresh}};
    if (std::isfinite(point.value)) entry["value"] = point.value;
    forecast.push_back(std::move(entry));
  }
  (*out)["forecast"] = std::move(forecast);
}

void AddVerdicts(const v1::GetTrustReportResponse& response, json* out) {
  (*out)["verdicts"] = json::array();
  for (const SourceVerdict& verdict : VerdictsOf(response)) {
    (*out)["verdicts"].push_back({{"source", verdict.source},
                                  {"grade", verdict.grade},
                                  {"words", verdict.words},
                                  {"signals", verdict.signals},
                                  {"precision", verdict.precision},
                                  {"precision_low", verdict.precision_low},
                                  {"precision_high", verdict.precision_high},
                                  {"recall", verdict.recall},
                                  {"quarantined_hosts", verdict.quarantined_hosts}});
  }
}

// --- The routes

using v1::AdminService;
using v1::AuthService;
using v1::PagesService;
using Relay = Outcome (*)(const std::shared_ptr<grpc::Channel>&, const HttpRequest&);

struct Entry {
  ConsoleRoute route;
  Relay relay = nullptr;
};

constexpr Entry kEntries[] = {
    {{"session"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AuthService>(channel, http, &AuthService::Stub::WhoAmI);
     }},
    {{"policies"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::GetPolicy);
     }},
    {{"hosts"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::ListHosts);
     }},
    {{"trust"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::GetTrustReport, &AddVerdicts);
     }},
    {{"sources"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::ListSources);
     }},
    {{"page"},
     [](const auto& channel, const HttpRequest& http) {
       return Call<PagesService>(channel, http, &PagesService::Stub::GetPage, &AddForecast);
     }},
    {{"rate", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::SetCrawlRate);
     }},
    {{"policy", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::SetPolicy);
     }},
    {{"pause", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::Pause);
     }},
    {{"resume", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::Resume);
     }},
    {{"host", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<AdminService>(channel, http, &AdminService::Stub::SetHostPoliteness);
     }},
    {{"recheck", true},
     [](const auto& channel, const HttpRequest& http) {
       return Call<PagesService>(channel, http, &PagesService::Stub::RecheckPages);
     }},
};

const Entry& EntryOf(const HttpRequest& request) {
  const std::string_view name = std::string_view(request.path).substr(sizeof kConsoleApi - 1);
  const bool post = request.method == "POST";
  const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& e) {
    return e.route.name == name && e.route.post == post;
  });
  CHECK(entry != std::end(kEntries), "{} is no call of the console", request.path);
  return *entry;
}

}  // namespace

std::vector<ConsoleRoute> ConsoleCallRoutes() {
  std::vector<ConsoleRoute> routes;
  for (const Entry& entry : kEntries) routes.push_back(entry.route);
  return routes;
}

StatusOr<std::string> JsonOf(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (status.ok()) return text;
  return MakeStatus(absl::StatusCode::kInternal, "{}", status.ToString());
}

HttpResponse JsonResponse(std::string text) {
  return {.type = "application/json",
          .body = std::make_shared<const std::string>(std::move(text)),
          .fields = {{"Cache-Control", "no-store"}}};
}

HttpResponse ErrorResponse(int status, std::string_view error) {
  HttpResponse response = JsonResponse(TextOf(json{{"error", error}}));
  response.status = status;
  return response;
}

ConsoleCalls::ConsoleCalls(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}

void ConsoleCalls::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  while (under_way_ > 0) over_.Wait(mutex_);
}

HttpResponse ConsoleCalls::Answer(const HttpRequest& request) {
  const Entry& entry = EntryOf(request);
  {
    const MutexLock lock(mutex_);
    if (stopped_) return ErrorResponse(503, "the server is shutting down");
    ++under_way_;
  }
  const Outcome outcome = entry.relay(channel_, request);
  {
    const MutexLock lock(mutex_);
    if (--under_way_ == 0) over_.NotifyAll();
  }
  const grpc::Status& status = outcome.status;
  const bool under_way = entry.route.name == "policy" && entry.route.post &&
                         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (under_way) {
    HttpResponse response = JsonResponse(TextOf(json{{"under_way", true}}));
    response.status = 202;
    return response;
  }
  if (!status.ok()) {
    return ErrorResponse(HttpStatusOf(status.error_code()), status.error_message());
  }
  return JsonResponse(TextOf(outcome.response));
}

}  // namespace freshet
