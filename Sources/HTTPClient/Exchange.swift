import CCurl

/// What has come of an answer so far: filled by libcurl's callbacks, on the thread that performs the request.
final class Exchange {
    /// More than any server needs; what comes after them is left out.
    private static let maxHeaders = 100

    let maxBodyBytes: Int
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    /// The body is longer than it may be; its beginning is kept.
    private(set) var isOverfull = false

    init(maxBodyBytes: Int) { self.maxBodyBytes = maxBodyBytes }

    /// False ends the transfer.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = maxBodyBytes - body.count
        body.append(contentsOf: bytes.prefix(room))
        isOverfull = bytes.count > room
        return !isOverfull
    }

    /// One line of an answer's head, its status line included.
    func takeHeader(_ line: String) {
        // Another answer begins: those before, as `100 Continue`, said nothing.
        if line.hasPrefix("HTTP/") { return headers.removeAll() }
        guard let colon = line.firstIndex(of: ":"), headers.count < Self.maxHeaders else { return }
        let value = line[line.index(after: colon)...]
        headers.append((line[..<colon].lowercased(), value.trimmingBlanks()))
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
    exchange.takeHeader(String(decoding: all, as: UTF8.self))
    return all.count
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
