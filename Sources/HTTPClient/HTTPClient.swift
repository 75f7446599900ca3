// HTTP, for plugins that speak to servers: one request at a time over a connection that is kept, with bounds on time and
// on what is read, and an end at once when it is called off. The only importer of libcurl and zlib.
import CCurl
import Platform

/// A client for one server, used by one thread.
///
/// ```swift
/// var client = try HTTPClient(HTTPSettings())
/// let request = HTTPRequest(url: "https://example.org/events", headers: [], body: bytes)
/// let response = try client.perform(request, cancel: cancel)     // `cancel.signal()` from any thread ends it
/// ```
///
/// Servers' certificates are always verified. Redirects are not followed, and nothing is taken from the environment, from
/// `.netrc` or from cookies.
public struct HTTPClient: ~Copyable {
    private let easy: OpaqueHandle
    private let multi: OpaqueHandle
    private let settings: HTTPSettings
    /// Where libcurl writes what it has to say of an error.
    private let words: UnsafeMutablePointer<CChar>

    typealias OpaqueHandle = UnsafeMutableRawPointer

    /// - Throws: `.settings`, with what libcurl does not take.
    public init(_ settings: HTTPSettings) throws(HTTPError) {
        guard Self.isReady, let easy = curl_easy_init() else { throw .settings("libcurl could not start") }
        let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        do throws(HTTPError) {
            try Self.check(hg_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words))
            try Self.apply(settings, to: easy)
            guard let multi = curl_multi_init() else { throw .settings("libcurl could not start") }
            self.multi = multi
        } catch {
            curl_easy_cleanup(easy)
            words.deallocate()
            throw error
        }
        self.easy = easy
        self.words = words
        self.settings = settings
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        words.deallocate()
    }

    /// Posts `request.body`, and returns the answer once it is there completely, or what there is of the body where that
    /// is longer than `settings.maxResponseBytes`.
    ///
    /// - Parameter cancel: ends it at once while it is readable; stays as it is.
    /// - Throws: `.cancelled`; `.failed` where no whole answer came.
    public mutating func perform(
        _ request: HTTPRequest, cancel: EventFD
    ) throws(HTTPError) -> HTTPResponse {
        words[0] = 0
        let exchange = Exchange(maxBodyBytes: settings.maxResponseBytes)
        var headers = HeaderList()
        for (name, value) in request.headers { headers.append("\(name): \(value)") }
        // A body is sent without asking first: the answer to the question costs a round trip.
        headers.append("Expect:")
        let context = Unmanaged.passUnretained(exchange).toOpaque()
        try set { hg_curl_set_text($0, CURLOPT_URL, request.url) }
        try set { hg_curl_set_list($0, CURLOPT_HTTPHEADER, headers.first) }
        try set { hg_curl_set_pointer($0, CURLOPT_WRITEDATA, context) }
        try set { hg_curl_set_pointer($0, CURLOPT_HEADERDATA, context) }
        try set { hg_curl_set_offset($0, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)) }
        let outcome = request.body.withUnsafeBytes { bytes in
            Result { () throws(HTTPError) in
                // Not copied: it stays where it is until the transfer is over. An empty one has no address of its own.
                let body = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
                try set { hg_curl_set_pointer($0, CURLOPT_POSTFIELDS, body) }
                return try transfer(cancel)
            }
        }
        _ = hg_curl_set_pointer(easy, CURLOPT_POSTFIELDS, nil)
        _ = hg_curl_set_list(easy, CURLOPT_HTTPHEADER, nil)
        withExtendedLifetime(headers) {}
        withExtendedLifetime(exchange) {}
        let status = try outcome.get()
        return try answer(status, exchange)
    }

    /// Runs the handle until its transfer is over.
    private func transfer(_ cancel: EventFD) throws(HTTPError) -> CURLcode {
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
            throw .failed("libcurl is out of memory")
        }
        // Taken out before its end, a transfer is broken off, and its connection closed.
        defer { curl_multi_remove_handle(multi, easy) }
        var waits = [curl_waitfd(fd: cancel.fileDescriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)]
        while true {
            if cancel.wait(timeoutMs: 0) { throw .cancelled }
            var running: Int32 = 0
            let status = curl_multi_perform(multi, &running)
            guard status == CURLM_OK else {
                throw .failed(String(cString: curl_multi_strerror(status)))
            }
            var left: Int32 = 0
            while let message = curl_multi_info_read(multi, &left) {
                if message.pointee.msg == CURLMSG_DONE { return message.pointee.data.result }
            }
            let polled = curl_multi_poll(multi, &waits, 1, 1000, nil)
            guard polled == CURLM_OK else { throw .failed(String(cString: curl_multi_strerror(polled))) }
        }
    }

    private func answer(_ status: CURLcode, _ exchange: Exchange) throws(HTTPError) -> HTTPResponse {
        guard !exchange.isHeadOverfull else {
            throw .failed("the head of the answer has more than \(Exchange.maxHeadBytes) bytes")
        }
        let isCut = status == CURLE_WRITE_ERROR && exchange.isOverfull
        guard status == CURLE_OK || isCut else { throw .failed(describe(status)) }
        var code = 0
        guard hg_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &code) == CURLE_OK, code > 0 else {
            throw .failed("the answer has no status")
        }
        var target: UnsafePointer<CChar>?
        _ = hg_curl_get_text(easy, CURLINFO_REDIRECT_URL, &target)
        return HTTPResponse(
            status: code, headers: exchange.headers, body: exchange.body, isComplete: !isCut,
            redirect: target.map { String(cString: $0) })
    }

    private func describe(_ status: CURLcode) -> String {
        let text = String(cString: curl_easy_strerror(status))
        // What libcurl says of others has times in it, and is another text each time.
        guard status == CURLE_PEER_FAILED_VERIFICATION, words[0] != 0 else { return text }
        return "\(text): \(String(cString: words))"
    }

    private func set(_ body: (OpaqueHandle) -> CURLcode) throws(HTTPError) { try Self.check(body(easy)) }

    private static func check(_ status: CURLcode) throws(HTTPError) {
        guard status == CURLE_OK else { throw .settings(String(cString: curl_easy_strerror(status))) }
    }

    private static func apply(_ settings: HTTPSettings, to easy: OpaqueHandle) throws(HTTPError) {
        func number(_ option: CURLoption, _ value: Int) throws(HTTPError) {
            try check(hg_curl_set_long(easy, option, value))
        }
        func text(_ option: CURLoption, _ value: String?) throws(HTTPError) {
            guard let value else { return }
            try check(hg_curl_set_text(easy, option, value))
        }
        try text(CURLOPT_PROTOCOLS_STR, "http,https")
        try text(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try number(CURLOPT_FOLLOWLOCATION, 0)
        try number(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try number(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try number(CURLOPT_NOSIGNAL, 1)
        // A name that is being looked up holds nobody up who has called it off.
        try number(CURLOPT_QUICK_EXIT, 1)
        try number(CURLOPT_TCP_KEEPALIVE, 1)
        try number(CURLOPT_POST, 1)
        try number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try number(CURLOPT_SSL_VERIFYPEER, 1)
        try number(CURLOPT_SSL_VERIFYHOST, 2)
        try number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try number(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeoutMs)
        try number(CURLOPT_TIMEOUT_MS, settings.timeoutMs)
        try number(CURLOPT_LOW_SPEED_LIMIT, settings.lowSpeedBytesPerSecond)
        try number(CURLOPT_LOW_SPEED_TIME, (settings.lowSpeedMs + 999) / 1000)
        try text(CURLOPT_USERAGENT, settings.userAgent)
        try text(CURLOPT_CAINFO, settings.caFile)
        try text(CURLOPT_SSLCERT, settings.clientCertificateFile)
        try text(CURLOPT_SSLKEY, settings.clientKeyFile)
        switch settings.proxy {
        case .none: try text(CURLOPT_PROXY, "")
        case .address(let address): try text(CURLOPT_PROXY, address)
        case .environment: break
        }
        try check(hg_curl_set_sink(easy, CURLOPT_WRITEFUNCTION, takeBody))
        try check(hg_curl_set_sink(easy, CURLOPT_HEADERFUNCTION, takeHeader))
    }

    /// libcurl's own state, once a process.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
}
