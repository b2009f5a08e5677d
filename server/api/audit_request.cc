#include "server/api/audit_request.h"

#include <map>
#include <memory>
#include <utility>

#include "core/base/url.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "server/auth/identities.h"
#include "server/logs/audit_log.h"

namespace freshet {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Json = nlohmann::ordered_json;

// Writes JSON whose texts may not be UTF-8.
std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// The field with the request's URLs; nullptr = the request has no URLs.
const FieldDescriptor* UrlsOf(const Message& request) {
  const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("urls");
  const bool is_list = field != nullptr && field->is_repeated() &&
                       field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  return is_list ? field : nullptr;
}

// Makes the part that all texts share: the request without its URLs, plus the number and the digest
// of the URLs.
Json HeadOf(const Message& request, const FieldDescriptor* urls, const std::string& digest) {
  const std::unique_ptr<Message> rest(request.New());
  rest->CopyFrom(request);
  rest->GetReflection()->ClearField(rest.get(), urls);
  const std::string text = AuditText(*rest, false);
  Json head = text.empty() ? Json::object() : Json::parse(text, nullptr, false);
  if (!head.is_object()) head = Json::object();
  head["urls"] = request.GetReflection()->FieldSize(request, urls);
  head["urls_sha256"] = digest;
  return head;
}

std::vector<std::string> TextsByHost(const Message& request, const FieldDescriptor* urls) {
  std::string list;
  std::map<std::string, int> hosts;
  const int count = request.GetReflection()->FieldSize(request, urls);
  for (int i = 0; i < count; ++i) {
    const std::string url = request.GetReflection()->GetRepeatedString(request, urls, i);
    list += url + '\n';
    const StatusOr<CanonicalUrl> canonical = Canonicalise(url);
    ++hosts[canonical.ok() ? canonical->host : "no URL"];
  }
  const Json head = HeadOf(request, urls, HexOf(DigestOf(list)));
  std::vector<std::string> texts;
  Json part = head;
  part["hosts"] = Json::object();
  size_t bytes = TextOf(part).size();
  for (const auto& [host, its] : hosts) {
    const size_t more = TextOf(Json(host)).size() + std::to_string(its).size() + 2;
    if (bytes + more > kMaxAuditTextBytes && !part["hosts"].empty()) {
      texts.push_back(TextOf(part));
      part["hosts"] = Json::object();
      bytes = TextOf(part).size();
    }
    part["hosts"][host] = its;
    bytes += more;
  }
  texts.push_back(TextOf(part));
  return texts;
}

}  // namespace

std::string AuditText(const Message& message, bool whole) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = whole;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    return "unreadable";
  }
  return json == "{}" ? "" : json;
}

std::vector<std::string> AuditRequestTexts(const Message& request) {
  std::string json = AuditText(request, false);
  if (json.size() <= kMaxAuditTextBytes) return {std::move(json)};
  if (const FieldDescriptor* urls = UrlsOf(request)) return TextsByHost(request, urls);
  Json text;
  text["bytes"] = json.size();
  text["sha256"] = HexOf(DigestOf(json));
  // The audit log cuts this text to its limit.
  text["begins"] = json.substr(0, kMaxAuditTextBytes);
  return {TextOf(text)};
}

}  // namespace freshet
