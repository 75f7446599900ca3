import Glibc
import Lifecycle
import Platform
import Wire
import ZeroMQ

// The script: what is tried, in order.
extension CheckRun {
    /// Whoever subscribes or commands may still say hello.
    private static let lateHelloMs: Int64 = 1500
    private static let unknown = "\"later\":{\"a\":[1,null]},"

    func greet() throws {
        try serve {
            hellos > 0 || subscriptions > 0 || host.seen.requests > 0 || host.seen.published > 0
                || host.seen.invalidCount > 0
        }
        if hellos == 0, host.seen.invalidCount == 0, exit == nil {
            try serve(ms: Self.lateHelloMs) { hellos > 0 }
        }
        hello = host.seen.hellos.first
        subscribes = subscriptions > 0
        card.name = hello?.name
        let roles: [(String, Bool)] = [
            ("attach", hello != nil), ("collect", hello?.collect != nil),
            ("serve", hello?.services.isEmpty == false), ("subscribe", subscribes),
            ("command", host.seen.requests > 0), ("publish", host.seen.published > 0),
        ]
        card.roles = roles.filter(\.1).map(\.0)
        let problem: String? =
            if let first = host.seen.firstInvalid {
                first
            } else if let exit, !(exit.isSuccess && hasWorked) {
                "it ended with \(exit)"
            } else if card.roles.isEmpty {
                "no hello, no subscription, no request, no event: is HOLDGATE_PLUGIN used?"
            } else {
                nil
            }
        let verdict: Finding.Verdict = problem != nil ? .broken : hello == nil ? .notAsked : .kept
        note(.hello, verdict, problem)
    }

    /// A command, or events on their way: a program that does that and ends with status 0 has done its work.
    private var hasWorked: Bool {
        hellos == 0 && subscriptions == 0 && (host.seen.requests > 0 || host.seen.published > 0)
    }

    func tryAttached() throws {
        try attempt(.heartbeats, if: hello != nil) {
            host.seen.longestSilenceMs = 0
            host.seen.heardMs = Clock.monotonicMs()
            try serve(ms: 5 * ScriptedHost.heartbeatMs)
            let silence = host.seen.longestSilenceMs
            return silence > 3 * ScriptedHost.heartbeatMs
                ? "silent for \(silence) ms, with heartbeats of \(ScriptedHost.heartbeatMs) ms" : nil
        }
        try attempt(.unknownMembers) {
            try host.move(to: .onHold, command: "holdOperation", extra: Self.unknown)
            try host.move(to: .operating, command: "startOperation", extra: Self.unknown)
            return collects ? try deliverNext(extra: Self.unknown) : try stays()
        }
        try attempt(.unknownTypes) {
            try host.tell(raw: "{\"type\":\"later\",\"n\":1}")
            try host.publishUnknown()
            return collects ? try deliverNext() : try stays()
        }
    }

    /// It goes on, and says hello no more often than it was asked.
    private func stays() throws -> String? {
        let before = hellos
        try serve(ms: 2 * ScriptedHost.heartbeatMs)
        return hellos > before ? "it began anew, with another hello" : nil
    }

    func tryCollector() throws {
        try attempt(.acknowledges, if: collects) { try deliverNext(1) ?? deliverNext(100) }
        try attempt(.window, if: collects) {
            // Several blocks that fill the window, all before the first ack is read.
            let window = min(hello?.collect?.windowBytes ?? 1, 1 << 20)
            for _ in 0..<8 {
                let first = host.deliveredThrough + 1
                try host.deliver(
                    first...(first + 15), type: eventType, bytesEach: max(0, window / 128 - 200))
            }
            return try awaitAck(host.deliveredThrough)
        }
        try attempt(.redelivery, if: collects) {
            // The host's cursor is behind: what was acknowledged comes once more, and something new with it.
            let last = host.deliveredThrough
            try host.tell(raw: "{\"type\":\"hello?\"}")
            let before = hellos
            guard try serve(until: { hellos > before }) else { return "no hello after hello?" }
            try host.deliver((last - 2)...last, type: eventType, redelivered: true)
            return try awaitAck(last) ?? deliverNext()
        }
    }

    func tryProvider() throws {
        let services = (hello?.services ?? []).prefix(16)
        try attempt(.requests, if: !services.isEmpty) {
            for (index, service) in services.enumerated() {
                try host.tell(
                    .request(
                        id: UInt64(index) + 1, service: service, arguments: .object([]), timeoutMs: 2000))
            }
            let ids = services.indices.map { UInt64($0) + 1 }
            try serve { ids.allSatisfy { host.seen.results[$0] != nil } }
            try serve(ms: ScriptedHost.heartbeatMs)
            for (id, service) in zip(ids, services) where host.seen.results[id] != 1 {
                let count = host.seen.results[id] ?? 0
                return "\(service) was answered \(count == 0 ? "not at all" : "\(count) times")"
            }
            let strays = host.seen.results.keys.filter { !ids.contains($0) }
            return strays.isEmpty ? nil : "a result for \(strays[0]), which was not asked"
        }
    }

    // MARK: What becomes of the host

    func tryChanges() throws {
        try attempt(.helloAgain, if: hello != nil) {
            let before = hellos
            try host.tell(.helloWanted)
            guard try serve(until: { hellos > before }) else { return "no hello after hello?" }
            return collects ? try deliverNext() : nil
        }
        try attempt(.hold) {
            try host.move(to: .holdRequested, command: "holdOperation")
            try host.move(to: .onHold, command: "drained")
            if let problem = try stays() { return problem }
            try host.move(to: .operating, command: "startOperation")
            return collects ? try deliverNext() : try stays()
        }
        try attempt(.hostRestart) {
            // Delivered, and gone before the ack could be read.
            let first = host.deliveredThrough + 1
            if collects { try host.deliver(first...(first + 2), type: eventType) }
            let cursor = host.cursor
            guard try returns(after: { host.close() }) else { return "it did not come back" }
            guard collects else { return nil }
            host.cursor = cursor
            try host.deliver(first...(first + 2), type: eventType, redelivered: true)
            return try awaitAck(first + 2) ?? deliverNext()
        }
        try attempt(.goodbye, if: hello != nil) {
            let isBack = try returns(after: {
                try host.tell(.goodbye)
                _ = try host.serve(ms: 50)
                host.close()
            })
            return try backOrEnded(isBack) ?? (collects ? deliverNext() : nil)
        }
        try attempt(.kill) {
            let before = (hellos, subscriptions)
            try host.move(to: .killed, command: "kill")
            try host.cut()
            let came = try serve { isBack(since: before.0, before.1) }
            if let problem = try backOrEnded(came) { return problem }
            host.beginLaunch()
            guard try returns(after: { host.close() }) else {
                return "it did not come back to the next launch"
            }
            try host.move(to: .operating, command: "startOperation")
            return collects ? try deliverNext() : try stays()
        }
        try attempt(.cumulativeAcks, if: collects) { host.seen.ackProblem }
    }

    /// Whether it comes back once the host has gone, and is there again.
    private func returns(after leave: () throws -> Void) throws -> Bool {
        try leave()
        try serve(ms: ScriptedHost.heartbeatMs)
        let before = (hellos, subscriptions)
        try host.open()
        return try serve { isBack(since: before.0, before.1) }
    }

    /// It is back; or it has ended well, and is started again.
    private func backOrEnded(_ isBack: Bool) throws -> String? {
        if isBack { return nil }
        guard let exit else { return "it did not come back" }
        guard exit.isSuccess else { return nil }  // `attempt` says so.
        try comeUp()
        return nil
    }

    func tryEnds() throws {
        try attemptEnd(.superseded, if: hello != nil) {
            try host.tell(.refused(WireError(.superseded, "a newer process has attached under this name")))
        }
        try attemptEnd(.stop, if: true) { signal(SIGTERM) }
    }

    private func attemptEnd(_ promise: Promise, if applies: Bool, _ body: () throws -> Void) throws {
        guard applies else { return note(promise, .notAsked, nil) }
        if exit != nil { try comeUp() }
        // Not in the middle of its own start.
        try serve(ms: ScriptedHost.heartbeatMs)
        try body()
        guard let exit = try awaitExit() else {
            signal(SIGKILL)
            _ = try awaitExit()
            return note(promise, .broken, "it goes on")
        }
        note(promise, exit.isSuccess ? .kept : .broken, exit.isSuccess ? nil : "it ended with \(exit)")
    }
}
