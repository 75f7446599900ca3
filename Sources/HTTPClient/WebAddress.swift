import CCurl

/// A URL's parts, as libcurl reads them: what is asked of one before it is used.
public struct WebAddress: Hashable, Sendable {
    public let scheme: String
    /// Empty where there is none, as in `file:///path`.
    public let host: String
    public let port: String
    /// Whether it names a user or a password.
    public let hasCredentials: Bool
    public let hasFragment: Bool

    /// Nil where it is no URL.
    public init?(_ text: String) {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            return nil
        }
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(url, part, &value, UInt32(flags | CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
                let value
            else { return nil }
            defer { curl_free(value) }
            return String(cString: value)
        }
        guard let scheme = part(CURLUPART_SCHEME) else { return nil }
        self.scheme = scheme.lowercased()
        host = part(CURLUPART_HOST)?.lowercased() ?? ""
        port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT) ?? ""
        hasCredentials = part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil
        hasFragment = part(CURLUPART_FRAGMENT) != nil
    }

    /// Whether both are one server: scheme, host and port.
    public func isSameOrigin(as other: WebAddress) -> Bool {
        (scheme, host, port) == (other.scheme, other.host, other.port)
    }
}
