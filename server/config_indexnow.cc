#include "server/config_indexnow.h"

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/url.h"
#include "server/config.h"
#include "server/config_values.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

using Reader = std::function<Status(const std::string& text)>;

Reader IntoFlag(bool* flag) {
  return [flag](const std::string& text) {
    *flag = text == "true";
    if (text == "true" || text == "false") return absl::OkStatus();
    return InvalidArgument("'{}' is not true or false", text);
  };
}

Reader IntoSpan(Duration* span) {
  return [span](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(*span, ParseSpanValue(text));
    return absl::OkStatus();
  };
}

template <typename T>
Reader IntoCount(T* count, int64_t most) {
  return [count, most](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(const int64_t number, ParseIntegerValue(text));
    if (number < 1 || number > most) {
      return InvalidArgument("{} is not within 1 and {}", number, most);
    }
    *count = static_cast<T>(number);
    return absl::OkStatus();
  };
}

std::map<std::string, Reader> ReadersOf(IndexNowConfig* config) {
  return {
      {"enabled", IntoFlag(&config->enabled)},
      {"verify_keys", IntoFlag(&config->verify_keys)},
      {"create_pages", IntoFlag(&config->create_pages)},
      {"crawl_id",
       [config](const std::string& text) {
         config->crawl_id = text;
         return absl::OkStatus();
       }},
      {"max_urls", IntoCount(&config->max_urls, limits::kMaxIndexNowUrls)},
      {"max_body_bytes",
       IntoCount(&config->max_body_bytes, int64_t{limits::kMaxIndexNowBodyBytes})},
      {"key_lifetime", IntoSpan(&config->key_lifetime)},
      {"retry_interval", IntoSpan(&config->retry_interval)},
      {"key_timeout", IntoSpan(&config->key_timeout)},
  };
}

Status CheckSpan(std::string_view key, Duration span, Duration most) {
  if (span >= Duration::Seconds(1) && span <= most) return absl::OkStatus();
  return InvalidArgument("indexnow.{}: {} s is not within 1 s and {} s", key, span.seconds(),
                         most.seconds());
}

}  // namespace

Status ReadIndexNow(const std::string& key, const YAML::Node& node, IndexNowConfig* config) {
  if (node.IsNull()) return absl::OkStatus();
  if (!node.IsMap()) return InvalidArgument("{}: is no section with keys of its own", key);
  const std::map<std::string, Reader> readers = ReadersOf(config);
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return InvalidArgument("{}: has a key that is no text", key);
    const std::string name = key + "." + entry.first.Scalar();
    if (!seen.insert(name).second) return InvalidArgument("{}: is given twice", name);
    const auto reader = readers.find(entry.first.Scalar());
    if (reader == readers.end()) return InvalidArgument("{}: unknown key", name);
    if (!entry.second.IsScalar()) return InvalidArgument("{}: is no single value", name);
    RETURN_IF_ERROR(WithKey(name, reader->second(entry.second.Scalar())));
  }
  return absl::OkStatus();
}

Status ValidateIndexNow(const IndexNowConfig& config) {
  RETURN_IF_ERROR(WithKey("indexnow", CanonicalCrawlId(config.crawl_id).status()));
  RETURN_IF_ERROR(CheckSpan("key_lifetime", config.key_lifetime, Duration::Days(366)));
  RETURN_IF_ERROR(CheckSpan("retry_interval", config.retry_interval, Duration::Days(1)));
  return CheckSpan("key_timeout", config.key_timeout, Duration::Seconds(60));
}

}  // namespace freshet
