// Makes the JSON schema of a configuration file, for editors.
#include <string_view>

#include "nlohmann/json.hpp"
#include "server/config/describe.h"
#include "yaml-cpp/yaml.h"

namespace freshet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSpanPattern = "^-?[0-9]+(\\.[0-9]+)?(us|ms|s|m|h|d)?$";
constexpr std::string_view kCapPattern = "^(0|[0-9]+/[0-9]+(\\.[0-9]+)?(us|ms|s|m|h|d)?)$";

Json Span() { return {{"type", {"string", "number"}}, {"pattern", kSpanPattern}}; }
Json Cap() {
  return {
      {"type", {"string", "integer"}}, {"pattern", kCapPattern}, {"minimum", 0}, {"maximum", 0}};
}
Json Object(Json properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}
Json List(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

Json Group() {
  return Object({{"min_delay", Span()}, {"max_in_flight", {{"type", "integer"}, {"minimum", 0}}}});
}

Json Rule() {
  Json rule = Object({{"name", {{"type", "string"}}},
                      {"hosts", List({{"type", "string"}})},
                      {"suffix", {{"type", "string"}}},
                      {"min_delay", Span()},
                      {"max_in_flight", {{"type", "integer"}, {"minimum", 0}}},
                      {"min_page_interval", Span()},
                      {"max_crawls", Cap()},
                      {"hours", {{"type", "string"}}},
                      {"group", Group()}});
  rule["required"] = {"name"};
  return rule;
}

Json Number(const ConfigKey& key, std::string_view type) {
  Json json = {{"type", type}};
  if (key.low) json["minimum"] = key.or_zero ? 0 : *key.low;
  if (key.high) json["maximum"] = *key.high;
  if (type != "integer") return json;
  for (const char* bound : {"minimum", "maximum"}) {
    if (json.contains(bound)) json[bound] = static_cast<int64_t>(json[bound].get<double>());
  }
  return json;
}

Json TypeOf(const ConfigKey& key) {
  const Json choice = {{"type", "string"}, {"enum", key.choices}};
  switch (key.type) {
    case KeyType::kFlag:
      return {{"type", "boolean"}};
    case KeyType::kInteger:
      return Number(key, "integer");
    case KeyType::kNumber:
    case KeyType::kShare:
      return Number(key, "number");
    case KeyType::kSpan:
      return Span();
    case KeyType::kChoice:
      return choice;
    case KeyType::kCap:
      return Cap();
    case KeyType::kNames:
      return List(key.choices.empty() ? Json{{"type", "string"}} : choice);
    case KeyType::kRates:
      return {{"type", "object"}, {"additionalProperties", {{"type", "number"}, {"minimum", 0}}}};
    case KeyType::kLevels:
      return {{"type", "object"}, {"additionalProperties", choice}};
    case KeyType::kTexts:
      return {{"type", "object"},
              {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    case KeyType::kRules:
      return List(Rule());
    case KeyType::kGroup:
      return Group();
    case KeyType::kHours:
    case KeyType::kText:
      break;
  }
  return {{"type", "string"}};
}

// The default value in the schema's type.
Json DefaultOf(const ConfigKey& key) {
  const std::string text = key.write(ServerConfig());
  switch (key.type) {
    case KeyType::kFlag:
    case KeyType::kInteger:
    case KeyType::kNumber:
    case KeyType::kShare:
      return Json::parse(text);
    case KeyType::kNames: {
      Json names = Json::array();
      for (const YAML::Node& name : YAML::Load(text)) names.push_back(name.Scalar());
      return names;
    }
    case KeyType::kRates:
    case KeyType::kLevels:
    case KeyType::kTexts:
      return Json::object();
    case KeyType::kRules:
      return Json::array();
    case KeyType::kGroup:
      return nullptr;
    default:
      return YAML::Load(text).Scalar();
  }
}

Json PropertyOf(const ConfigKey& key) {
  Json json = TypeOf(key);
  json["description"] = key.text;
  if (Json value = DefaultOf(key); !value.is_null()) json["default"] = std::move(value);
  return json;
}

}  // namespace

std::string ConfigSchema() {
  Json properties = Json::object();
  for (const ConfigKey& key : AllKeys()) {
    const std::string section(key.section());
    if (section.empty()) {
      properties[key.name] = PropertyOf(key);
      continue;
    }
    if (!properties.contains(section)) {
      properties[section] = Object(Json::object());
      // A section without keys is allowed too.
      properties[section]["type"] = {"object", "null"};
      for (const ConfigSection& its : AllSections()) {
        if (its.name == section) properties[section]["description"] = its.text;
      }
    }
    properties[section]["properties"][key.name.substr(section.size() + 1)] = PropertyOf(key);
  }
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Configuration of freshetd"}};
  schema.update(Object(std::move(properties)));
  return schema.dump(2) + '\n';
}

}  // namespace freshet
