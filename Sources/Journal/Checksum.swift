import CPlatform

/// CRC-32C of the log. What belongs to one life of a segment is seeded with its generation, so that what an
/// earlier life left there never looks valid.
enum Checksum {
    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt32 = 0) -> UInt32 {
        hg_crc32c(seed, bytes.baseAddress, bytes.count)
    }

    static func seed(generation: UInt64) -> UInt32 {
        withUnsafeBytes(of: generation.littleEndian) { of($0) }
    }
}
