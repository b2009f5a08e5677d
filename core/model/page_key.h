// The name of a page. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_PAGE_KEY_H_
#define FRESHET_CORE_MODEL_PAGE_KEY_H_

#include <string>
#include <utility>

namespace freshet {

// Names a page. One URL can be crawled for several purposes, each with its own crawl id
// (namespace). Both parts are canonical (core/base/url.h).
struct PageKey {
  std::string crawl_id;
  std::string url;
  bool operator==(const PageKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageKey& key) {
    return H::combine(std::move(h), key.crawl_id, key.url);
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_PAGE_KEY_H_
