import CCurl

/// What has come of an answer so far: filled by libcurl's callbacks, on the thread that performs the request.
final class Exchange {
    /// More than any server needs, all that comes ahead of the last answer included; libcurl has no bound of its own.
    static let maxHeadBytes = 64 << 10

    let maxBodyBytes: Int
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    /// The body is longer than it may be; its beginning is kept.
    private(set) var isOverfull = false
    private var headBytes = 0
    var isHeadOverfull: Bool { headBytes > Self.maxHeadBytes }

    init(maxBodyBytes: Int) { self.maxBodyBytes = maxBodyBytes }

    /// False ends the transfer.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = maxBodyBytes - body.count
        body.append(contentsOf: bytes.prefix(room))
        isOverfull = bytes.count > room
        return !isOverfull
    }

    /// One line of an answer's head, its status line included. False ends the transfer.
    func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headBytes += bytes.count
        guard !isHeadOverfull else { return false }
        let line = String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // Another answer begins: those before, as `100 Continue`, said nothing.
            headers.removeAll()
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...]
            headers.append((line[..<colon].lowercased(), value.trimmingBlanks()))
        }
        return true
    }
}

extension Substring {
    func trimmingBlanks() -> String {
        let blanks: Set<Character> = [" ", "\t", "\r", "\n", "\r\n"]
        let start = drop { blanks.contains($0) }
        let end = start.lastIndex { !blanks.contains($0) }
        return end.map { String(start[...$0]) } ?? ""
    }
}

/// Functions, for a closure formed at top level would belong to the main actor and trap on another thread.
func takeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
    let all = UnsafeRawBufferPointer(start: bytes, count: size * count)
    // Any other number than what there is ends the transfer.
    return exchange.takeBody(all) ? all.count : 0
}

func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
    let all = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange.takeHeader(all) ? all.count : 0
}

/// Lines for a request's head, in libcurl's form.
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    init() {}

    deinit { curl_slist_free_all(first) }

    mutating func append(_ line: String) {
        guard let list = curl_slist_append(first, line) else { fatalError("out of memory") }
        first = list
    }
}
