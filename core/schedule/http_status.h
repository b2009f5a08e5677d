// The meaning of an HTTP status alone for a crawl.
#ifndef FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
#define FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_

namespace freshet {

// Whether the crawl failed. 404 and 410 may mean that the page is gone, which the worker decides.
[[nodiscard]] constexpr bool IsFailure(int http_status) {
  return http_status >= 400 && http_status != 404 && http_status != 410;
}

// Whether the answer is about the host rather than the page: too many fetches, or it cannot answer
// now.
[[nodiscard]] constexpr bool IsThrottled(int http_status) {
  return http_status == 429 || http_status == 503;
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
