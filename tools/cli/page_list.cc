#include "tools/cli/page_list.h"

namespace freshet::cli {

std::shared_ptr<ListOptions> AddListOptions(CLI::App& command) {
  auto options = std::make_shared<ListOptions>();
  command.add_option("SCOPE", options->scope, "A host, or the start of the URLs (all pages)");
  command.add_option("--crawl-id", options->crawl_id, "Only this namespace (all)");
  command.add_option("--limit", options->limit, "Maximum number of pages (all)");
  command.add_option("--page-token", options->page_token, "Go on where an earlier run ended");
  return options;
}

}  // namespace freshet::cli
