import Glibc
import HoldgateClient
import KeyFiles
import Platform
import Testing
import ZeroMQ

/// What clients prove to a host, against a ROUTER that asks for keys.
@Suite struct CredentialsTests {
    private let hostKeys = CurveKeyPair.random()
    private let keys = CurveKeyPair.random()

    /// Writes a key file for `body`, which removes it afterwards.
    private func withKeyFile(
        name: String = "shop", hostKey: CurvePublicKey?, _ body: (String) throws -> Void
    ) throws {
        let path = "/tmp/holdgate-\(SystemRandomNumberGenerator.randomText()).key"
        try KeyFile(name: name, pair: keys, hostKey: hostKey).write(path)
        defer { removeFile(path) }
        try body(path)
    }

    private func credentials(name: String = "shop", host: CurvePublicKey? = nil) throws -> Credentials {
        var made: Credentials?
        try withKeyFile(name: name, hostKey: host ?? hostKeys.publicKey) {
            made = try Credentials(keyFile: $0)
        }
        return try #require(made)
    }

    /// A host that lets in the one key, and answers what `answer` says.
    private func host(
        _ kind: Socket.Kind = .router, _ answer: @escaping @Sendable ([[UInt8]]) -> [[[UInt8]]]
    ) throws -> KeyedHost {
        try KeyedHost(kind, key: hostKeys, admits: keys.publicKey, answer: answer)
    }

    // MARK: Where they come from

    @Test func aKeyFileHasTheNameAndTheHostsKey() throws {
        try withKeyFile(hostKey: hostKeys.publicKey) { path in
            #expect(try Credentials(keyFile: path).name == "shop")
            let same = try Credentials(keyFile: path, hostKey: hostKeys.publicKey.z85)
            #expect(try Credentials(keyFile: path) == same)
            let other = try Credentials(keyFile: path, hostKey: keys.publicKey.z85)
            #expect(other != same)
        }
    }

    @Test func flagsGoBeforeTheEnvironment() throws {
        try withKeyFile(hostKey: nil) { path in
            let variables = ["HOLDGATE_KEY_FILE": path, "HOLDGATE_HOST_KEY": hostKeys.publicKey.z85]
            let given = try Credentials { variables[$0] }
            #expect(given == (try Credentials(keyFile: path, hostKey: hostKeys.publicKey.z85)))
            let flags = try Credentials(keyFile: path, hostKey: keys.publicKey.z85) { name in
                name == "HOLDGATE_KEY_FILE" ? "/none" : variables[name]
            }
            #expect(flags == (try Credentials(keyFile: path, hostKey: keys.publicKey.z85)))
            #expect(try Credentials { _ in nil } == nil)
            #expect(try Credentials { _ in "" } == nil)
        }
    }

    @Test func whatIsMissingIsSaid() throws {
        func message(_ variables: [String: String]) -> String? {
            do throws(HoldgateError) {
                _ = try Credentials { variables[$0] }
                return nil
            } catch {
                #expect(error.code == .invalidArgument)
                return error.message
            }
        }
        try withKeyFile(hostKey: nil) { path in
            #expect(message(["HOLDGATE_KEY_FILE": path])?.contains("HOLDGATE_HOST_KEY") == true)
            #expect(
                message(["HOLDGATE_KEY_FILE": path, "HOLDGATE_HOST_KEY": "short"])?.contains("Z85") == true)
            let alone = message(["HOLDGATE_HOST_KEY": hostKeys.publicKey.z85])
            #expect(alone?.contains("HOLDGATE_KEY_FILE") == true)
            #expect(message(["HOLDGATE_KEY_FILE": path + ".none"])?.contains(path + ".none") == true)
            try #require(chmod(path, 0o644) == 0)
            let open = message(["HOLDGATE_KEY_FILE": path, "HOLDGATE_HOST_KEY": hostKeys.publicKey.z85])
            #expect(open?.contains("chmod 600 \(path)") == true)
        }
    }

    @Test func namesBelongToTheKey() throws {
        let credentials = try credentials()
        #expect(credentials.named("shop") == "shop")
        #expect(credentials.named("shop/web-1") == "shop/web-1")
        #expect(credentials.named("web-1") == "shop/web-1")
        #expect(credentials.named("shopkeeper") == "shop/shopkeeper")
        let long = String(repeating: "n", count: 125)
        #expect(try self.credentials(name: long).named("web-1") == long)
    }

    @Test func nothingTellsTheSecret() throws {
        let credentials = try credentials()
        var text = "\(credentials) \(String(reflecting: credentials))"
        dump(credentials, to: &text)
        #expect(!text.contains(keys.secretKey.z85))
    }

    // MARK: Connections

    @Test func commandsProveWhoTheyAre() throws {
        let host = try host { [reply(to: $0[0], status(.operating))] }
        let holdgate = Holdgate(
            endpoint: host.endpoint, timeout: .seconds(60), credentials: try credentials())
        #expect(try holdgate.performBlocking(.ping).status.state == .operating)
        #expect(host.names == ["shop"])
    }

    @Test func aPathNeedsNoKey() throws {
        let path = "/tmp/holdgate-\(SystemRandomNumberGenerator.randomText())"
        defer { removeFile(path) }
        let host = try FakeRouter("ipc://" + path) { [reply(to: $0[0], status(.operating))] }
        let holdgate = Holdgate(
            endpoint: host.endpoint, timeout: .seconds(60), credentials: try credentials())
        #expect(try holdgate.performBlocking(.ping).status.state == .operating)
    }

    @Test func aRefusedKeyEndsInTimeAndSaysSo() throws {
        let host = try host { [reply(to: $0[0], status(.operating))] }
        let wrongHost = try credentials(host: CurveKeyPair.random().publicKey)
        let path = "/tmp/holdgate-\(SystemRandomNumberGenerator.randomText()).key"
        defer { removeFile(path) }
        try KeyFile(name: "stranger", pair: .random(), hostKey: hostKeys.publicKey).write(path)
        let unknown = try Credentials(keyFile: path)
        for (credentials, hint) in [
            (wrongHost, "may not know the key of shop"), (unknown, "may not know the key of stranger"),
        ] {
            let holdgate = Holdgate(
                endpoint: host.endpoint, timeout: .milliseconds(100), credentials: credentials)
            let error = #expect(throws: HoldgateError.self) { try holdgate.performBlocking(.ping) }
            #expect(error?.code == .noAnswer)
            #expect(error?.message.contains(hint) == true)
            let ingest = IngestConnection(endpoint: host.endpoint, credentials: credentials)
            let silence = #expect(throws: HoldgateError.self) {
                try ingest.send([], producer: "shop", run: "r", batch: 1, timeoutMs: 100)
            }
            #expect(silence?.code == .noAnswer)
            #expect(silence?.message.contains(hint) == true)
        }
        let none = Holdgate(endpoint: host.endpoint, timeout: .milliseconds(100))
        let error = #expect(throws: HoldgateError.self) { try none.performBlocking(.ping) }
        #expect(error?.message.contains("may ask for a key") == true)
        #expect(host.names == [])
    }

    @Test func producersProveWhoTheyAre() throws {
        let ingest = FakeIngest()
        let host = try host { ingest.answer($0) }
        var options = Producer.Options(name: "shop/web-1")
        options.endpoint = host.endpoint
        options.credentials = try credentials()
        let producer = try Producer(options)
        try producer.send("{}")
        try producer.closeBlocking()
        #expect(producer.report.accepted == 1)
        options.credentials = try credentials(host: keys.publicKey)
        options.giveUp = .milliseconds(50)
        let refused = try Producer(options)
        try refused.send("{}")
        let error = #expect(throws: HoldgateError.self) { try refused.closeBlocking() }
        #expect(error?.code == .noAnswer)
        #expect(error?.message.contains("may not know the key of shop") == true)
        #expect(Set(host.names) == ["shop"])
    }

    @Test func pluginsProveWhoTheyAre() throws {
        let host = try host { frames in
            guard value(frames[0])["type"] == .string("hello") else { return [] }
            let welcome = HostMessage.welcome(
                status: status(.operating), run: "r", cursor: nil, heartbeatMs: 60_000)
            return [[bytes { welcome.write(into: &$0) }]]
        }
        var configuration = Plugin.Configuration(name: "shop")
        configuration.endpoint = host.endpoint
        configuration.credentials = try credentials()
        let plugin = try Plugin(configuration)
        let ending = try plugin.run { notice in
            if case .attached = notice { plugin.stop() }
        }
        #expect(ending == .stopped)
        #expect(Set(host.names) == ["shop"])
    }

    @Test func aPluginThatNobodyAnswersIsToldWhy() throws {
        let host = try host { _ in [] }
        var configuration = Plugin.Configuration(name: "shop")
        configuration.endpoint = host.endpoint
        configuration.credentials = try credentials(host: keys.publicKey)
        let plugin = try Plugin(configuration)
        var problems: [HoldgateError] = []
        let ending = try plugin.run { notice in
            switch notice {
            case .problem(let error): problems.append(error)
            // It tries again by itself.
            case .detached: plugin.stop()
            case .attached, .state, .app: Issue.record("\(notice)")
            }
        }
        #expect(ending == .stopped)
        #expect(problems.map(\.code) == [.noAnswer])
        #expect(problems.first?.message.contains("may not know the key of shop") == true)
    }

    @Test func subscriptionsProveWhoTheyAre() throws {
        let host = try host(.xpub) { frames in
            func message(_ topic: StreamTopic, _ body: [UInt8]) -> [[UInt8]] {
                let header = StreamHeader(launch: testLaunch, run: "r", seq: 1, prev: 0)
                return [Array(topic.text.utf8), bytes { header.write(into: &$0) }, body]
            }
            // 1 and a prefix: a subscription.
            switch String(decoding: frames[0].dropFirst(), as: UTF8.self) {
            case "state":
                let body = StateBody(
                    state: .operating, previous: nil, command: "startOperation", wallMs: 0, pending: 0,
                    snapshot: true)
                return [message(.state, bytes { body.write(into: &$0) })]
            case "event.cart.":
                return [message(.event(type: "cart.filled"), Array("{}".utf8))]
            default: return []
            }
        }
        var endpoints = Endpoints()
        endpoints.stream = host.endpoint
        let states = try StateSubscription(endpoints: endpoints, credentials: try credentials())
        var heard: [LifecycleState] = []
        try states.run { change in
            heard.append(change.state)
            states.stop()
        }
        #expect(heard == [.operating])
        let events = try EventSubscription(endpoints.stream, prefix: "cart.", credentials: try credentials())
        var types: [String] = []
        try events.run { event in
            types.append(event.type)
            events.stop()
        }
        #expect(types == ["cart.filled"])
        #expect(Set(host.names) == ["shop"])
    }
}
