import Lifecycle
import Wire

public struct Coupon: Hashable, Sendable, Identifiable {
    public let id: String
    /// What is typed in or shown at the till.
    public let code: String
    public let title: String
    public let message: String
    /// Milliseconds since 1970; nil: it doesn't expire.
    public let expiresMs: Int64?
    /// Whatever else belongs to it, an object.
    public let data: JSONValue?

    init(_ value: JSONValue) throws(HoldgateError) {
        id = try value.string("id")
        code = try value.string("code")
        title = try value.string("title")
        message = try value.string("message")
        expiresMs = (value["expires"] ?? .null).isNull ? nil : try value.timeMs("expires")
        data = value["data"]
    }
}

/// One page of the coupons, the newest first.
public struct CouponPage: Hashable, Sendable {
    /// Empty on a page past the end.
    public let coupons: [Coupon]
    /// From 0.
    public let page: Int
    /// How many a page has.
    public let max: Int
    /// Over all pages.
    public let total: Int

    init(_ value: JSONValue) throws(HoldgateError) {
        coupons = try value.list("coupons") { coupon throws(HoldgateError) in try Coupon(coupon) }
        page = try value.count("page")
        max = try value.count("max")
        total = try value.count("total")
    }
}

/// Why coupons could not be fetched.
public enum FetchCouponError: ServiceError, Hashable, Sendable {
    /// The gate is closed.
    case notOperating(NotOperatingError)
    case failed(HoldgateError)

    public init(_ error: HoldgateError) {
        self = error.notOperating.map { .notOperating($0) } ?? .failed(error)
    }
}

extension Holdgate {
    /// - Parameters:
    ///   - page: from 0.
    ///   - max: how many a page has, 1 to 100.
    public func fetchCoupons(page: Int = 0, max: Int = 10) async throws(FetchCouponError) -> CouponPage {
        try await ask(Self.coupons(page, max))
    }

    /// As the `async` one; `completion` is called on a thread of its own.
    public func fetchCoupons(
        page: Int = 0, max: Int = 10,
        _ completion: @escaping @Sendable (Result<CouponPage, FetchCouponError>) -> Void
    ) {
        ask(Self.coupons(page, max), completion)
    }

    private static func coupons(_ page: Int, _ max: Int) -> ServiceCall<CouponPage, FetchCouponError> {
        let arguments = [JSONValue.Member("page", .int(Int64(page))), .init("max", .int(Int64(max)))]
        return ServiceCall(service: "coupons.fetch", arguments: arguments) { value throws(HoldgateError) in
            try CouponPage(value)
        }
    }
}
