#include "tools/cli/sitemap.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <string_view>

#include "tools/cli/parse.h"

namespace freshet::cli {
namespace {

// The name without the prefix of its namespace.
std::string_view LocalName(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string_view TextOf(const pugi::xml_node& node) {
  const std::string_view text = node.child_value();
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

SitemapEntry EntryOf(const pugi::xml_node& node, uint64_t number) {
  SitemapEntry entry;
  entry.number = number;
  for (const pugi::xml_node& child : node.children()) {
    const std::string_view name = LocalName(child);
    if (name == "loc") entry.url = TextOf(child);
    if (name == "lastmod" && !TextOf(child).empty()) {
      entry.last_modified = ParseW3cDate(TextOf(child));
    }
  }
  return entry;
}

}  // namespace

absl::StatusOr<std::vector<SitemapEntry>> ParseSitemap(const std::string& xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) {
    return absl::InvalidArgumentError(
        fmt::format("no XML: {} at byte {}", parsed.description(), parsed.offset));
  }
  const pugi::xml_node root = document.document_element();
  if (LocalName(root) == "sitemapindex") {
    return absl::InvalidArgumentError("an index of sitemaps: give the sitemaps it names");
  }
  if (LocalName(root) != "urlset") {
    return absl::InvalidArgumentError(
        fmt::format("no sitemap: its root is <{}>, not <urlset>", root.name()));
  }
  std::vector<SitemapEntry> entries;
  for (const pugi::xml_node& node : root.children()) {
    if (LocalName(node) == "url") entries.push_back(EntryOf(node, entries.size() + 1));
  }
  return entries;
}

}  // namespace freshet::cli
