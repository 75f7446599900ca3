import Platform
import Wire

/// An error of one service's methods: a case `notOperating` for a closed gate, cases of its own, and the rest.
public protocol ServiceError: Error {
    init(_ error: HoldgateError)
}

/// One request to a service, and how its value is read.
struct ServiceCall<Value: Sendable, Failure: ServiceError>: Sendable {
    let service: String
    var arguments: [JSONValue.Member] = []
    let read: @Sendable (JSONValue) throws(HoldgateError) -> Value

    func command(timeout: Duration) -> Command<Value> {
        let plain = Command<JSONValue>.request(service, arguments: .object(arguments), timeout: timeout)
        let read = read
        return Command(plain.request) { answer throws(HoldgateError) in try read(plain.read(answer)) }
    }
}

extension Holdgate {
    func ask<Value: Sendable, Failure: ServiceError>(
        _ call: ServiceCall<Value, Failure>
    ) async throws(Failure) -> Value {
        do {
            return try await perform(call.command(timeout: timeout))
        } catch {
            throw Failure(error)
        }
    }

    /// `completion` is called once, on a thread of the call's own.
    func ask<Value: Sendable, Failure: ServiceError>(
        _ call: ServiceCall<Value, Failure>,
        _ completion: @escaping @Sendable (Result<Value, Failure>) -> Void
    ) {
        do {
            _ = try Thread.spawn(name: "holdgate-call") {
                let outcome = Result { () throws(HoldgateError) in
                    try performBlocking(call.command(timeout: timeout))
                }
                completion(outcome.mapError { Failure($0) })
            }
        } catch {
            completion(.failure(Failure(HoldgateError(.unavailable, "no thread: \(error)"))))
        }
    }
}

// Reading what a provider answered: anything else than docs/services.md says is `invalidReply`.
extension JSONValue {
    func need<Value>(
        _ name: String, _ kind: String, _ read: (JSONValue) throws(HoldgateError) -> Value?
    ) throws(HoldgateError) -> Value {
        guard let member = self[name], let value = try read(member) else {
            throw HoldgateError(.invalidReply, "the provider's \"\(name)\" is not \(kind)")
        }
        return value
    }

    func string(_ name: String) throws(HoldgateError) -> String {
        try need(name, "a string") { $0.asString }
    }

    func flag(_ name: String) throws(HoldgateError) -> Bool { try need(name, "true or false") { $0.asBool } }

    func count(_ name: String) throws(HoldgateError) -> Int {
        try need(name, "a count") { value in value.asInt.flatMap { $0 >= 0 ? $0 : nil } }
    }

    func timeMs(_ name: String) throws(HoldgateError) -> Int64 {
        try need(name, "a time") { value in value.asString.flatMap { Timestamp.parse($0) } }
    }

    func list<Value>(
        _ name: String, _ read: (JSONValue) throws(HoldgateError) -> Value
    ) throws(HoldgateError) -> [Value] {
        let elements = try need(name, "a list") { $0.asArray }
        return try elements.map(read)
    }
}
