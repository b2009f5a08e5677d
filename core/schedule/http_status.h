// The meaning of an HTTP status for a crawl.
#ifndef FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
#define FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_

namespace freshet {

// Returns true if the crawl failed. 404 and 410 can mean that the page is gone, which the worker
// decides.
[[nodiscard]] constexpr bool IsFailure(int http_status) {
  return http_status >= 400 && http_status != 404 && http_status != 410;
}

// Returns true if the answer is about the host and not the page: the host is overloaded, or sees
// too many requests.
[[nodiscard]] constexpr bool IsThrottled(int http_status) {
  return http_status == 429 || http_status == 503;
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
