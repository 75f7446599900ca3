import CZlib

/// Compresses bodies, one after another.
public struct Gzip: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Throws where there is no memory.
    public init() throws(HTTPError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 16 more than the largest window asks for gzip's frame. The fastest level: events are much alike.
        let status = deflateInit2_(
            stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw .settings("zlib could not start")
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    public mutating func compress(_ bytes: [UInt8]) -> [UInt8] {
        deflateReset(stream)
        let bound = Int(deflateBound(stream, UInt(bytes.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(bound)
                let status = deflate(stream, Z_FINISH)
                precondition(status == Z_STREAM_END, "deflate: \(status)")
            }
            count = bound - Int(stream.pointee.avail_out)
        }
    }
}

/// The CRC-32 of gzip and PNG.
public func crc32(of bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(CZlib.crc32(0, $0.baseAddress, UInt32($0.count))) }
}
