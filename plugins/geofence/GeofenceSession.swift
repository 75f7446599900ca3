import Glibc
import HoldgateClient
import Platform

/// The time under one run: an attachment and an outbox.
final class GeofenceSession: Sendable {
    /// The host went away and the process was told to end before it came back.
    private struct Interrupted: Error {}

    private let plugin: Plugin
    private let outbox: Outbox
    private let holdgate: Holdgate
    private let cancel: EventFD
    /// Used on the thread that runs the session alone.
    private nonisolated(unsafe) let file: StateFile

    init(_ options: Options, _ keeper: Keeper, _ file: StateFile) throws {
        var configuration = Plugin.Configuration(
            name: options.name, version: "1",
            collect: CollectRequest(types: [Reading.type], windowBytes: 1 << 20, durable: true))
        configuration.endpoint = options.endpoints.plugin
        configuration.credentials = options.credentials
        configuration.gatherBytes = 1 << 20
        plugin = try Plugin(configuration)
        outbox = try Outbox(
            IngestConnection(endpoint: options.endpoints.ingest, credentials: options.credentials),
            producer: options.name, run: keeper.memory.run, waiting: keeper.memory.outbox
        ) { error in GeofencePlugin.log("crossings were refused: \(error)") }
        holdgate = Holdgate(
            endpoint: options.endpoints.control, timeout: .seconds(2), credentials: options.credentials)
        cancel = try EventFD()
        self.file = file
    }

    /// Any thread.
    func stop() {
        cancel.signal()
        outbox.stop()
        plugin.stop()
    }

    func run(_ keeper: inout Keeper) throws -> Outbox.Ending {
        let outcome = Locked(Outbox.Ending.stopped)
        let sender = try Thread.spawn(name: "outbox") {
            let ending = self.outbox.send()
            outcome.withLock { $0 = ending }
            self.plugin.stop()
        }
        var failure: (any Error)?
        do {
            if try attach(&keeper) == .superseded { GeofencePlugin.log("another one has taken over") }
        } catch is Interrupted {
        } catch {
            failure = error
        }
        outbox.stop()
        sender.join()
        keeper.settle(outbox.takeSettled())
        if let failure { throw failure }
        let ending = outcome.withLock { $0 }
        if case .failed(let error) = ending { throw error }
        return ending
    }

    private func attach(_ keeper: inout Keeper) throws -> Plugin.Ending {
        // Both closures run on this thread, one at a time.
        var state = keeper
        defer { keeper = state }
        var failure: (any Error)?
        var problems: [String] = []
        let file = file
        let ending = try plugin.run { notice in
            do {
                try hear(notice, &state)
            } catch {
                failure = error
                plugin.stop()
            }
        } handler: { deliveries in
            let fences = Geofences(configuration: try ask(.configuration))
            if fences.problems != problems {
                problems = fences.problems
                for problem in problems { GeofencePlugin.log(problem) }
            }
            state.watch(fences)
            state.settle(outbox.takeSettled())
            let outcome = state.take(deliveries)
            if !outcome.batches.isEmpty {
                try file.write(state.memory.text)
                guard outbox.add(outcome.batches) else { throw Interrupted() }
            }
            return outcome.rejects
        }
        if let failure { throw failure }
        return ending
    }

    private func hear(_ notice: Plugin.Notice, _ keeper: inout Keeper) throws {
        switch notice {
        case .attached(let cursor, let status):
            let place = cursor.map { String($0.raw) } ?? "none"
            GeofencePlugin.log("attached, cursor \(place), the host is \(status.state.rawValue)")
            if status.state == .killed { return try forget(&keeper) }
            try settle(status.launch, &keeper)
            outbox.open(true)
        case .detached:
            GeofencePlugin.log("the host is away")
            outbox.open(false)
        case .state(let body, _, _):
            if body.state == .killed { try forget(&keeper) }
        case .app: break
        case .problem(let error): GeofencePlugin.log("\(error)")
        }
    }

    /// After a kill nothing is known: not who was inside, and not what was on its way.
    private func forget(_ keeper: inout Keeper) throws {
        outbox.clear()
        _ = outbox.takeSettled()
        keeper.forget()
        try file.erase()
    }

    /// A launch that this memory is not of: it goes on from the one before, unless that was killed while nobody
    /// here was listening.
    private func settle(_ launch: LaunchID, _ keeper: inout Keeper) throws {
        guard keeper.memory.launch != launch else { return }
        if let before = keeper.memory.launch, try wasKilled(since: before) { try forget(&keeper) }
        keeper.adopt(launch)
    }

    /// Whether the history has a kill in `launch` or after it; a history that doesn't know that launch is another
    /// host's, and its regions are too.
    private func wasKilled(since launch: LaunchID) throws -> Bool {
        var isKnown = false
        var after: UInt64 = 0
        while true {
            let page = try ask(.history(after: after, limit: 1000))
            guard let last = page.last else { return !isKnown }
            for record in page {
                isKnown = isKnown || record.value["launch"]?.asString == launch.raw
                if isKnown, record.value["state"]?.asString == LifecycleState.killed.rawValue { return true }
            }
            after = last.n
        }
    }

    /// Asks until the host answers: what it handed over comes again once it is back.
    private func ask<Answer>(_ command: Command<Answer>) throws -> Answer {
        while true {
            do {
                return try holdgate.performBlocking(command, cancel: cancel)
            } catch {
                if error.code == .cancelled { throw Interrupted() }
                guard error.retryable else { throw error }
                var entry = pollfd(fd: cancel.fileDescriptor, events: Int16(POLLIN), revents: 0)
                if poll(&entry, 1, 100) > 0 { throw Interrupted() }
            }
        }
    }
}
