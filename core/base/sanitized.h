// Tells whether this program runs under a sanitizer.
#ifndef FRESHET_CORE_BASE_SANITIZED_H_
#define FRESHET_CORE_BASE_SANITIZED_H_

namespace freshet {

// True under a sanitizer. The memory use of the process is then meaningless, because sanitizers
// keep freed memory and need shadow memory. The process must then end normally, because sanitizers
// write their reports at its normal end.
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
