#include "tools/cli/page_list.h"

namespace freshet::cli {

std::shared_ptr<ListOptions> AddListOptions(CLI::App& command) {
  auto options = std::make_shared<ListOptions>();
  command.add_option("SCOPE", options->scope,
                     "Only pages of this host, or whose URLs begin with this (default: all pages)");
  command.add_option("--crawl-id", options->crawl_id, "Only pages of this crawl id (default: all)");
  command.add_option("--limit", options->limit, "Maximum number of pages (default: all)");
  command.add_option("--page-token", options->page_token,
                     "Token that an earlier run printed; continue where that run ended");
  return options;
}

}  // namespace freshet::cli
