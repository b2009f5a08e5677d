// Tells whether this program runs under a sanitizer.
#ifndef FRESHET_CORE_BASE_SANITIZED_H_
#define FRESHET_CORE_BASE_SANITIZED_H_

namespace freshet {

// Sanitizers keep freed memory and need shadow memory, so the memory use of the process means
// nothing. Sanitizers write their reports at the normal end of the process.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_SANITIZED_H_
