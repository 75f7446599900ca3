// Counts the calling thread's allocations, by standing in for malloc in the test binary. glibc alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// False under a sanitizer, which stands in for malloc itself.
bool hg_malloc_is_counted(void);

// Allocations of the calling thread since it began.
uint64_t hg_malloc_count(void);
