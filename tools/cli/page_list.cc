#include "tools/cli/page_list.h"

namespace freshet::cli {

std::shared_ptr<ListOptions> AddListOptions(CLI::App& command) {
  auto options = std::make_shared<ListOptions>();
  command.add_option("SCOPE", options->scope, "A host, or the beginning of URLs (all pages)");
  command.add_option("--crawl-id", options->crawl_id, "Only pages of this crawl id (all)");
  command.add_option("--limit", options->limit, "Maximum number of pages (all)");
  command.add_option("--page-token", options->page_token,
                     "Token that an earlier run printed: go on where that run ended");
  return options;
}

}  // namespace freshet::cli
