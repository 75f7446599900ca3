import class Foundation.FileManager
import func Foundation.NSTemporaryDirectory
import struct Foundation.UUID
import Access
import HoldgateClient
import HoldgateHost
import KeyFiles
import Testing
import ZeroMQ

/// A state directory of its own, and a host on free ports.
private final class Place {
    let path = NSTemporaryDirectory() + "holdgate-embedding-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var configuration: Configuration {
        var configuration = Configuration(stateDir: path)
        configuration.control = ["tcp://127.0.0.1:0"]
        configuration.stream = ["tcp://127.0.0.1:0"]
        configuration.ingest = ["tcp://127.0.0.1:0"]
        configuration.plugin = ["tcp://127.0.0.1:0"]
        configuration.logLevel = .error
        return configuration
    }
}

private func client(of host: Host) -> Holdgate {
    Holdgate(endpoint: host.endpoints.control[0], timeout: .seconds(30), source: "test")
}

private func stop(_ host: Host) {
    host.requestStop()
    #expect(host.wait() == .stopped)
}

@Suite struct EmbeddingTests {
    @Test func aFirstLaunchBeginsAsAskedFor() async throws {
        let (one, other) = (Place(), Place())
        let operating = try Host.initialize(one.configuration)
        let holding = try Host.initializeWithHoldingOperations(other.configuration)
        #expect(try await client(of: operating).state().status.state == .operating)
        #expect(try await client(of: holding).state().status.state == .onHold)
        stop(operating)
        stop(holding)
    }

    /// As the executable does.
    @Test func oneWithKeysAsksForThem() async throws {
        let place = Place()
        let keys = StateKeys(stateDir: place.path)
        try keys.make()
        let (own, admin) = (CurveKeyPair.random(), CurveKeyPair.random())
        try KeyFile(name: "host", pair: own).write(keys.host)
        try AuthorizedKeysFile.add(
            [.init(name: "admin", permissions: Permissions(.admin), identity: .key(admin.publicKey.z85))],
            to: keys.authorized)
        let file = keys.directory + "/admin.key"
        try KeyFile(name: "admin", pair: admin, hostKey: own.publicKey).write(file)
        let host = try Host.initialize(place.configuration)
        let known = Holdgate(
            endpoint: host.endpoints.control[0], timeout: .seconds(30),
            credentials: try Credentials(keyFile: file))
        #expect(try await known.state().status.state == .operating)
        let refused = await #expect(throws: HoldgateError.self) { try await known.perform(.holdOperation()) }
        #expect(refused?.code == .forbidden)
        stop(host)
    }

    @Test func anOpenAddressNeedsKeysOrTheWordThatItDoesNot() throws {
        let place = Place()
        var configuration = place.configuration
        configuration.ingest = ["tcp://0.0.0.0:0"]
        #expect(throws: StartError.self) { try Host.initialize(configuration) }
        configuration.isInsecure = true
        stop(try Host.initialize(configuration))
    }

    @Test func oneThatWasHeldComesBackHeld() async throws {
        let place = Place()
        let first = try Host.initialize(place.configuration)
        _ = try await client(of: first).holdOperation(wait: .seconds(30))
        stop(first)
        let second = try Host.initialize(place.configuration)
        #expect(try await client(of: second).state().status.state == .onHold)
        _ = try await client(of: second).startOperation()
        stop(second)
        let third = try Host.initializeWithHoldingOperations(place.configuration)
        #expect(try await client(of: third).state().status.state == .operating)
        stop(third)
    }

    @Test func oneThatWasKilledComesBackKilledUntilANewLaunch() async throws {
        let place = Place()
        let first = try Host.initialize(place.configuration)
        _ = try await client(of: first).kill()
        stop(first)
        let second = try Host.initialize(place.configuration)
        #expect(try await client(of: second).state().status.state == .killed)
        _ = try await client(of: second).endLaunch(restart: true)
        #expect(second.wait() == .restart)
        let third = try Host.initializeWithHoldingOperations(place.configuration)
        #expect(try await client(of: third).state().status.state == .onHold)
        stop(third)
    }

    /// A copy of a state directory is not opened as if it were the original, and never with its gate open.
    @Test func aRestoredStateBeginsOnHold() async throws {
        let (original, copy) = (Place(), Place())
        let first = try Host.initialize(original.configuration)
        _ = try await client(of: first).configure(#"{"a":1}"#)
        stop(first)
        try FileManager.default.copyItem(atPath: original.path, toPath: copy.path)
        var configuration = copy.configuration
        let unsure = #expect(throws: (any Error).self) {
            try Host.initializeWithHoldingOperations(configuration)
        }
        #expect(unsure.map { "\($0)".contains("was copied or restored") } == true)
        configuration.restored = true
        let refusal = #expect(throws: ConfigurationError.self) { try Host.initialize(configuration) }
        #expect(refusal?.description == "a restored launch begins on hold: it can't begin operating")
        let second = try Host.initializeWithHoldingOperations(configuration)
        let report = try await client(of: second).state()
        #expect(report.status.state == .onHold)
        #expect(report.status.launch != first.status.launch)
        #expect(report.initializedWith == "initializeWithHoldingOperations")
        #expect(try await client(of: second).configuration()["a"] == .int(1))
        stop(second)
        // The launch goes on in the place where it is now.
        let third = try Host.initialize(copy.configuration)
        #expect(third.status.launch == second.status.launch)
        #expect(third.status.state == .onHold)
        stop(third)
    }

    @Test func aRestoredStateThatWasKilledIsEmpty() async throws {
        let (original, copy) = (Place(), Place())
        let first = try Host.initialize(original.configuration)
        _ = try await client(of: first).configure(#"{"a":1}"#)
        _ = try await client(of: first).kill()
        stop(first)
        try FileManager.default.copyItem(atPath: original.path, toPath: copy.path)
        var configuration = copy.configuration
        configuration.restored = true
        let second = try Host.initializeWithHoldingOperations(configuration)
        #expect(second.status.state == .onHold)
        #expect(try await client(of: second).configuration() == .object([]))
        stop(second)
    }

    @Test func aDirectoryHasOneHost() throws {
        let place = Place()
        let host = try Host.initialize(place.configuration)
        #expect(throws: (any Error).self) { try Host.initialize(place.configuration) }
        stop(host)
        stop(try Host.initialize(place.configuration))
    }

    @Test func aWrongValueNamesItself() {
        var configuration = Place().configuration
        configuration.control = ["inproc://control"]
        let error = #expect(throws: ConfigurationError.self) { try Host.initialize(configuration) }
        #expect(error?.description.hasPrefix("control is") == true)
    }
}
