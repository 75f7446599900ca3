internal import CZeroMQ
import Glibc

/// A CURVE public key, as 40 characters of Z85 ([ZeroMQ RFC 32](https://rfc.zeromq.org/spec/32/)).
public struct CurvePublicKey: Hashable, Sendable, CustomStringConvertible {
    public let z85: String

    /// Nil for what is no key: anything but 40 characters of Z85.
    public init?(z85: String) {
        guard isKey(z85) else { return nil }
        self.z85 = z85
    }

    /// As ZAP hands it over. Nil for anything but 32 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        z85 = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 41) { text in
            _ = zmq_z85_encode(text.baseAddress!, bytes, bytes.count)
            return String(cString: text.baseAddress!)
        }
    }

    public var description: String { z85 }
}

/// A CURVE secret key. Says nothing of itself in text.
public struct CurveSecretKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let z85: String

    /// Nil for what is no key: anything but 40 characters of Z85.
    public init?(z85: String) {
        guard isKey(z85) else { return nil }
        self.z85 = z85
    }

    public var description: String { "a secret key" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

public struct CurveKeyPair: Hashable, Sendable {
    public let publicKey: CurvePublicKey
    public let secretKey: CurveSecretKey

    /// The pair that a secret key belongs to.
    public init(secretKey: CurveSecretKey) {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 41) { text in
            let result = zmq_curve_public(text.baseAddress!, secretKey.z85)
            precondition(result == 0, "zmq_curve_public: errno \(zmq_errno())")
            return String(cString: text.baseAddress!)
        }
        publicKey = CurvePublicKey(z85: text)!
        self.secretKey = secretKey
    }

    /// A new one, from the system's random numbers.
    public static func random() -> CurveKeyPair {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 82) { text in
            let secret = text.baseAddress! + 41
            let result = zmq_curve_keypair(text.baseAddress!, secret)
            precondition(result == 0, "zmq_curve_keypair: errno \(zmq_errno())")
            return CurveKeyPair(secretKey: CurveSecretKey(z85: String(cString: secret))!)
        }
    }
}

private func isKey(_ text: String) -> Bool {
    guard text.utf8.count == 40, !text.utf8.contains(0) else { return false }
    var bytes = [UInt8](repeating: 0, count: 32)
    return zmq_z85_decode(&bytes, text) != nil
}
