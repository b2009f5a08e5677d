// URLs of the crawl-frontier API, gathered by queue.
#ifndef FRESHET_SERVER_API_URLS_OF_QUEUE_H_
#define FRESHET_SERVER_API_URLS_OF_QUEUE_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/frontier_store.h"

namespace freshet {

// URLs of one queue. Value type, thread-compatible.
struct UrlsOfQueue {
  FrontierQueueId queue;
  std::string key;
  std::vector<std::string> urls;
};

// Adds a URL to the last entry if that entry is for the URL's queue, otherwise to a new entry.
inline void AddUrl(FrontierQueueId queue, std::string_view key, std::string_view url,
                   std::vector<UrlsOfQueue>* parts) {
  if (parts->empty() || parts->back().queue != queue) {
    parts->push_back({.queue = queue, .key = std::string(key), .urls = {}});
  }
  parts->back().urls.emplace_back(url);
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLS_OF_QUEUE_H_
