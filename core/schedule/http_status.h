// What an HTTP status alone says of a crawl.
#ifndef FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
#define FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_

namespace freshet {

// The crawl failed. 404 and 410 may mean that the page is gone, which is for the worker to say.
[[nodiscard]] constexpr bool IsFailure(int http_status) {
  return http_status >= 400 && http_status != 404 && http_status != 410;
}

// The answer is about the host more than about the page: it is fetched too often, or cannot answer
// now.
[[nodiscard]] constexpr bool IsThrottled(int http_status) {
  return http_status == 429 || http_status == 503;
}

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HTTP_STATUS_H_
