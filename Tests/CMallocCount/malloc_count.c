#include "CMallocCount.h"

#include <errno.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HG_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HG_SANITIZED)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *place, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

// Initial-exec: a lookup that might itself allocate would never end.
static __thread uint64_t count __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return __libc_calloc(number, size);
}

void *realloc(void *place, size_t size) {
    count++;
    return __libc_realloc(place, size);
}

void *memalign(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **place, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *made = memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *place = made;
    return 0;
}

bool hg_malloc_is_counted(void) { return true; }
uint64_t hg_malloc_count(void) { return count; }

#else

bool hg_malloc_is_counted(void) { return false; }
uint64_t hg_malloc_count(void) { return 0; }

#endif
