// libcurl sets and asks through variadic functions, which Swift does not call: one fixed form for each kind of value.
#ifndef HG_CURL_SHIM_H
#define HG_CURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*hg_curl_sink)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode hg_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_set_sink(CURL *handle, CURLoption option, hg_curl_sink value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode hg_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode hg_curl_get_text(CURL *handle, CURLINFO info, const char **value) {
    char *text = NULL;
    CURLcode status = curl_easy_getinfo(handle, info, &text);
    *value = text;
    return status;
}

#endif
