import CPlatform
import Testing

@Suite struct ChecksumTests {
    @Test(
        arguments: [
            (Array("123456789".utf8), 0xE306_9283),
            ([], 0),
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            ([UInt8](0..<32), 0x46DD_794E),
            ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
        ] as [([UInt8], UInt32)]) func knownVectorsHold(bytes: [UInt8], checksum: UInt32)
    {
        #expect(hg_crc32c(0, bytes, bytes.count) == checksum)
        #expect(hg_crc32c_portable(0, bytes, bytes.count) == checksum)
    }

    @Test func theInstructionAndTheTablesAgreeAtEveryLengthAndAlignment() {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<400).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let seed = UInt32.random(in: .min ... .max, using: &random)
        bytes.withUnsafeBytes { bytes in
            for start in 0..<16 {
                for count in 0...(bytes.count - start) {
                    let at = bytes.baseAddress! + start
                    let fast = hg_crc32c(seed, at, count)
                    if fast != hg_crc32c_portable(seed, at, count) {
                        Issue.record("seed \(seed), start \(start), count \(count), bytes \(Array(bytes))")
                    }
                }
            }
        }
    }

    @Test func aChecksumGoesOnFromThatOfTheBytesBefore() {
        let bytes = [UInt8]("the gate is closed, the journal is open".utf8)
        let whole = hg_crc32c(0, bytes, bytes.count)
        for cut in 0...bytes.count {
            let (head, tail) = (Array(bytes[..<cut]), Array(bytes[cut...]))
            #expect(hg_crc32c(hg_crc32c(0, head, head.count), tail, tail.count) == whole)
        }
    }
}
