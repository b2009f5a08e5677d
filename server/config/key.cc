#include "server/config/key.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "server/config/key_makers.h"

namespace freshet {

std::string ConfigKey::environment() const {
  if (!scalar()) return {};
  std::string variable = "FRESHET_";
  for (const char c : name) {
    variable += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

std::string_view ConfigKey::section() const {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(name).substr(0, dot);
}

const std::vector<ConfigKey>& AllKeys() {
  static const auto* const kKeys = [] {
    auto* keys = new std::vector<ConfigKey>();
    for (std::vector<ConfigKey> part :
         {ServerKeys(), DoorKeys(), CrawlKeys(), LimitKeys(), ClusterKeys()}) {
      std::move(part.begin(), part.end(), std::back_inserter(*keys));
    }
    return keys;
  }();
  return *kKeys;
}

const ConfigKey* FindKey(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<std::string_view, const ConfigKey*>();
    for (const ConfigKey& key : AllKeys()) map->emplace(key.name, &key);
    return map;
  }();
  const auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

bool IsSection(std::string_view name) {
  return std::any_of(AllKeys().begin(), AllKeys().end(),
                     [name](const ConfigKey& key) { return key.section() == name; }) &&
         !name.empty();
}

const std::vector<ConfigSection>& AllSections() {
  static const auto* const kSections = new std::vector<ConfigSection>{
      {"tls", "TLS and identities: docs/security.md. Paths name PEM files; empty means none."},
      {"politeness",
       "For hosts without settings of their own. Operators change these at run time too (`freshet "
       "politeness`, `freshet host`)."},
      {"indexnow",
       "Pings of IndexNow at `/indexnow` of the HTTP port, as signals of the source `indexnow`."},
      {"cluster", "Servers that share one log on Kafka: docs/cluster.md."},
      {"frontier", "The crawl-frontier API: docs/urlfrontier.md."},
      {"horizons", "Shorter days let a history of years be played within minutes."},
  };
  return *kSections;
}

}  // namespace freshet
