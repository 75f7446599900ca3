import Lifecycle
import Testing

@testable import Wire

@Suite struct BadMessageTests {
    private func decode(_ text: String, limits: WireLimits = WireLimits()) -> DecodedRequest {
        Array(text.utf8).withUnsafeBytes {
            ControlRequest.decode($0, with: JSONParser(), limits: limits)
        }
    }

    private func expect(
        _ text: String, _ code: ErrorCode, _ part: String, id: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        let decoded = decode(text)
        #expect(decoded.id == id, "\(text)", sourceLocation: location)
        switch decoded.result {
        case .success(let request): Issue.record("\(text) is \(request)", sourceLocation: location)
        case .failure(let error):
            #expect(error.code == code, "\(text): \(error)", sourceLocation: location)
            #expect(error.message.contains(part), "\(text): \(error)", sourceLocation: location)
        }
    }

    @Test func aPluginMessageThatWouldCostTooMuch() {
        let rejects = Array(repeating: #"[1,"r"]"#, count: WireBounds.rejectCount + 1).joined(separator: ",")
        let longest = String(repeating: "t", count: WireBounds.typeBytes)
        func code(_ text: String) -> ErrorCode? {
            do {
                _ = try Codecs.plugin.value(text)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(#"{"type":"ack","through":5,"rejects":[\#(rejects)]}"#) == .tooLarge)
        #expect(code(#"{"type":"ack","through":5,"rejects":[\#(rejects.dropFirst(8))]}"#) == nil)
        for (type, expected) in [(longest, nil), (longest + "t", ErrorCode.invalidMessage)] {
            let hello = #"{"type":"hello","name":"a","version":"1","collect":{"types":["\#(type)"]}}"#
            #expect(code(hello) == expected)
        }
    }

    @Test func aRequestThatIsNoMessage() {
        for text in ["", "{", "[]", "1", "null", #"{"command":"ping"} x"#] {
            expect(text, .invalidMessage, "")
        }
        expect(#"{"command":"ping","command":"kill"}"#, .invalidMessage, #""command" is given twice"#)
        expect(
            #"{"id":1,"command":"kill","expect":{"seq":1,"seq":2}}"#, .invalidMessage,
            #""seq" is given twice"#)
        expect(#"{"id":1,"v":2,"command":"ping"}"#, .unsupportedVersion, "version 1", id: "1")
        for version in ["\"1\"", "1.0", "null", "0"] {
            expect(#"{"v":\#(version),"command":"ping"}"#, .unsupportedVersion, "version 1")
        }
    }

    @Test func anIdIsEchoedWheneverItCanBeRead() {
        expect(#"{"id":"a","command":"nothing"}"#, .unknownCommand, "nothing", id: #""a""#)
        expect(#"{"command":"nothing","id":false}"#, .unknownCommand, "nothing", id: "false")
        expect(#"{"command":"nothing","id":-1.5}"#, .unknownCommand, "nothing", id: "-1.5")
        expect(#"{"command":"nothing","id":null}"#, .unknownCommand, "nothing")
        expect(#"{"id":[],"command":"ping"}"#, .invalidArgument, "id")
        expect(#"{"id":{},"command":"ping"}"#, .invalidArgument, "id")
        let longest = String(repeating: "x", count: 126)
        #expect(decode(#"{"id":"\#(longest)","command":"ping"}"#).id == "\"\(longest)\"")
        expect(#"{"id":"x\#(longest)","command":"ping"}"#, .invalidArgument, "longer than 128")
        expect(#"{"command":5,"id":1}"#, .invalidArgument, #""command" is not a string"#, id: "1")
        expect(#"{"id":1}"#, .invalidArgument, #""command" is missing"#, id: "1")
    }

    @Test func membersThatACommandDoesNotHave() {
        expect(#"{"command":"ping","x":1}"#, .invalidArgument, #""x" is no member of ping"#)
        expect(#"{"command":"startOperation","waitMs":1}"#, .invalidArgument, "waitMs")
        expect(
            #"{"command":"hold","leaseMs":1}"#, .invalidArgument, #""leaseMs" is no member of holdOperation"#)
        expect(#"{"command":"state","key":"k"}"#, .invalidArgument, "key")
        expect(#"{"command":"state","expect":{}}"#, .invalidArgument, "expect")
        expect(
            #"{"command":"kill","expect":{"states":1}}"#, .invalidArgument,
            #""states" is no member of expect"#)
        expect(#"{"command":"request","service":"s","key":"k"}"#, .invalidArgument, "key")
        expect(#"{"command":"request","service":"s","timeout":1}"#, .invalidArgument, "timeout")
        expect(
            #"{"command":"plugin","name":"p","action":"stop","expect":{}}"#, .invalidArgument, "expect")
        expect(
            #"{"command":"appLifecycle","app":"a","phase":"background","time":""}"#, .invalidArgument,
            #""time" is no member of appLifecycle"#)
        expect(#"{"command":"Request"}"#, .unknownCommand, "Request")
        expect(#"{"command":"Kill"}"#, .unknownCommand, "Kill")
        expect("{\"command\":\"\(String(repeating: "k", count: 100))\"}", .unknownCommand, "kkkk…\"")
    }

    @Test func valuesOutOfBounds() {
        let rows: [(String, String)] = [
            (#""command":"start","leaseMs":0"#, "leaseMs"), (#""command":"start","leaseMs":-1"#, "leaseMs"),
            (#""command":"start","leaseMs":315360000001"#, "leaseMs"),
            (#""command":"start","leaseMs":1.0"#, "leaseMs"),
            (#""command":"start","leaseMs":"1""#, "leaseMs"),
            (#""command":"start","leaseMs":null"#, "leaseMs"),
            (#""command":"start","leaseMs":18446744073709551615"#, "leaseMs"),
            (#""command":"hold","waitMs":-1"#, "waitMs"), (#""command":"hold","waitMs":true"#, "waitMs"),
            (#""command":"hold","gatedEvents":"drop""#, "queue, discard, refuse"),
            (#""command":"hold","gatedEvents":1"#, "gatedEvents"),
            (#""command":"kill","key":"""#, "key"), (#""command":"kill","key":1"#, "key"),
            (#""command":"kill","key":"a\n""#, "control character"),
            (#""command":"kill","key":"\#(String(repeating: "k", count: 129))""#, "key"),
            (#""command":"kill","source":"\#(String(repeating: "k", count: 257))""#, "source"),
            (#""command":"kill","reason":"\#(String(repeating: "é", count: 513))""#, "reason"),
            (#""command":"kill","reason":{}"#, "reason"), (#""command":"kill","gate":"a""#, "gate"),
            (#""command":"kill","gate":[1]"#, "gate"), (#""command":"kill","gate":[""]"#, "gate"),
            (
                #""command":"kill","gate":[\#(Array(repeating: "\"a\"", count: 17).joined(separator: ","))]"#,
                "gate"
            ),
            (#""command":"kill","expect":[]"#, "expect"),
            (#""command":"kill","expect":{"state":"open"}"#, "state"),
            (#""command":"kill","expect":{"seq":-1}"#, "seq"),
            (#""command":"kill","expect":{"launch":1}"#, "launch"),
            (#""command":"endLaunch","restart":1"#, "restart"), (#""command":"configure""#, "set"),
            (#""command":"configure","set":[]"#, "set"), (#""command":"configure","set":null"#, "set"),
            (#""command":"history","limit":0"#, "limit"), (#""command":"history","limit":1001"#, "limit"),
            (#""command":"history","after":-1"#, "after"), (#""command":"deadLetters","limit":"1""#, "limit"),
            (#""command":"forget""#, "name"), (#""command":"forget","name":"""#, "name"),
            (#""command":"requeue""#, "seqs"), (#""command":"requeue","seqs":[]"#, "seqs"),
            (#""command":"requeue","seqs":[0]"#, "seqs"), (#""command":"requeue","seqs":[1,"2"]"#, "seqs"),
        ]
        for (members, part) in rows { expect("{\(members)}", .invalidArgument, part) }
    }

    @Test func callbacksOutOfBounds() {
        let long = String(repeating: "k", count: 257)
        let rows: [(String, String)] = [
            (#""command":"request""#, #""service" is missing"#),
            (#""command":"request","service":"""#, "service"),
            (#""command":"request","service":1"#, "service"),
            (#""command":"request","service":"a\u0000""#, "control character"),
            (#""command":"request","service":"\#(long)""#, "service"),
            (#""command":"request","service":"s","arguments":[]"#, "arguments"),
            (#""command":"request","service":"s","arguments":null"#, "arguments"),
            (#""command":"request","service":"s","arguments":"{}""#, "arguments"),
            (#""command":"request","service":"s","timeoutMs":0"#, "timeoutMs"),
            (#""command":"request","service":"s","timeoutMs":3600001"#, "timeoutMs"),
            (#""command":"request","service":"s","timeoutMs":1.5"#, "timeoutMs"),
            (#""command":"request","service":"s","timeoutMs":"5""#, "timeoutMs"),
            (#""command":"plugin""#, #""name" is missing"#),
            (#""command":"plugin","name":"p""#, #""action" is missing"#),
            (#""command":"plugin","name":"","action":"stop""#, "name"),
            (#""command":"plugin","name":"p","action":"kill""#, "start, stop, restart"),
            (#""command":"plugin","name":"p","action":1"#, "action"),
            (#""command":"appLifecycle""#, #""app" is missing"#),
            (#""command":"appLifecycle","app":"a""#, #""phase" is missing"#),
            (#""command":"appLifecycle","app":"","phase":"background""#, "app"),
            (#""command":"appLifecycle","app":"\#(long.dropLast(128))","phase":"background""#, "app"),
            (#""command":"appLifecycle","app":[],"phase":"background""#, "app"),
            (#""command":"appLifecycle","app":"a","phase":"Background""#, "foreground, background"),
            (#""command":"appLifecycle","app":"a","phase":null"#, "phase"),
        ]
        for (members, part) in rows { expect("{\(members)}", .invalidArgument, part) }
    }

    @Test func requestsThatAreTooLarge() {
        var limits = WireLimits()
        limits.maxConfigurationBytes = 7
        let fits = #"{"command":"configure","set":{ "a" : 1 }}"#
        #expect((try? decode(fits, limits: limits).result.get()) == .init(.configure(patch: #"{"a":1}"#)))
        let tooLarge = decode(#"{"command":"configure","set":{"a":12}}"#, limits: limits)
        #expect(throws: WireError(.tooLarge, "\"set\" has more than 7 bytes")) { try tooLarge.result.get() }
        limits.maxFrameBytes = fits.utf8.count - 1
        #expect(throws: WireError(.tooLarge, "the request has more than \(fits.utf8.count - 1) bytes")) {
            try decode(fits, limits: limits).result.get()
        }
    }

    @Test func whatHasADefaultOrAnAlias() throws {
        #expect(try decode(#"{"command":"start"}"#).result.get() == .init(.startOperation(leaseMs: nil)))
        let hold = try decode(#"{"command":"hold"}"#).result.get()
        #expect(hold == .init(.holdOperation(waitMs: nil, gatedEvents: nil)))
        let history = try decode(#"{"v":1,"command":"history","gate":[]}"#).result.get()
        #expect(history == .init(.history(after: 0, limit: 100)))
        let request = try decode(#"{"command":"request","service":"s"}"#).result.get()
        #expect(request == .init(.request(service: "s", arguments: .object([]), timeoutMs: 5000)))
        let patient = try decode(#"{"command":"request","service":"s","timeoutMs":3600000}"#).result.get()
        #expect(
            patient
                == .init(
                    .request(
                        service: "s", arguments: .object([]), timeoutMs: WireBounds.requestTimeoutMs)))
        let longest = try decode(#"{"command":"start","leaseMs":315360000000}"#).result.get()
        #expect(longest == .init(.startOperation(leaseMs: WireBounds.durationMs)))
    }

    @Test func oneFingerprintForOneMeaning() throws {
        let one = try decode(
            #"{"command":"hold","id":1,"key":"k","source":"a","reason":"b","waitMs":5,"expect":{"seq":1,"state":"onHold"}}"#
        ).result.get()
        let other = try decode(
            #"{ "expect" : {"state":"onHold","seq":1}, "waitMs":5, "v":1, "gate":[], "command":"holdOperation", "key":"l"}"#
        ).result.get()
        let fingerprint = #"{"v":1,"command":"holdOperation","waitMs":5,"expect":{"state":"onHold","seq":1}}"#
        #expect(one.fingerprint == fingerprint)
        #expect(other.fingerprint == fingerprint)
        let different = [
            #"{"command":"hold"}"#, #"{"command":"hold","waitMs":6,"expect":{"seq":1,"state":"onHold"}}"#,
            #"{"command":"hold","waitMs":5,"expect":{"seq":1}}"#, #"{"command":"kill"}"#,
            #"{"command":"kill","expect":{}}"#, #"{"command":"kill","gate":["a"]}"#,
            #"{"command":"hold","waitMs":5,"gatedEvents":"queue"}"#,
        ]
        let fingerprints = try different.map { try decode($0).result.get().fingerprint }
        #expect(Set(fingerprints + [fingerprint]).count == different.count + 1)
    }

    @Test func headersOfIngest() throws {
        func decode(_ text: String) -> DecodedIngestHeader {
            Array(text.utf8).withUnsafeBytes { IngestHeader.decode($0, with: JSONParser()) }
        }
        let bad: [(String, ErrorCode, String?)] = [
            ("", .invalidMessage, nil), ("[]", .invalidMessage, nil), ("{}{}", .invalidMessage, nil),
            (#"{"id":1,"v":2}"#, .unsupportedVersion, "1"),
            (#"{"id":1,"producer":"p"}"#, .invalidMessage, "1"),
            (#"{"producer":"p","run":"r"}"#, .invalidMessage, nil),
            (#"{"run":"r","batch":1}"#, .invalidMessage, nil),
            (#"{"producer":"p","run":"r","batch":-1}"#, .invalidMessage, nil),
            (#"{"producer":"p","run":"r","batch":1.0}"#, .invalidMessage, nil),
            (#"{"producer":"","run":"r","batch":1}"#, .invalidMessage, nil),
            (
                #"{"producer":"p","run":"\#(String(repeating: "r", count: 129))","batch":1}"#,
                .invalidMessage, nil
            ),
            (#"{"producer":1,"run":"r","batch":1}"#, .invalidMessage, nil),
            (#"{"a":1,"a":1}"#, .invalidMessage, nil),
            (event(), .invalidMessage, "\"1\""), (#"{"specversion":null}"#, .invalidMessage, nil),
            (#"{"id":[]}"#, .invalidMessage, nil),
        ]
        for (text, code, id) in bad {
            let decoded = decode(text)
            #expect(decoded.id == id, "\(text)")
            let error = #expect(throws: WireError.self, "\(text)") { try decoded.result.get() }
            #expect(error?.code == code, "\(text)")
        }
        let more = #"{"other":{"a":1},"batch":0,"run":"r","producer":"p"}"#
        #expect(try decode(more).result.get() == IngestHeader(producer: "p", run: "r", batch: 0))
        #expect(try decode("{}").result.get() == IngestHeader())
    }

    @Test func messagesOfPluginsThatAreRefused() {
        let bad: [(String, ErrorCode)] = [
            ("", .invalidMessage), ("[]", .invalidMessage), ("{}", .invalidMessage),
            (#"{"type":"x"}"#, .invalidMessage),
            (#"{"type":1}"#, .invalidMessage), (#"{"type":"hello"}"#, .invalidMessage),
            (#"{"type":"hello","name":"a"}"#, .invalidMessage),
            (#"{"type":"hello","v":2,"name":"a"}"#, .unsupportedVersion),
            (#"{"type":"hello","name":"a\u0000","version":"1"}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","collect":true}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","collect":{"types":[]}}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","collect":{"types":["a*b"]}}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","collect":{"windowBytes":0}}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","collect":{"durable":1}}"#, .invalidMessage),
            (#"{"type":"hello","name":"a","version":"1","services":[""]}"#, .invalidMessage),
            (#"{"type":"ack"}"#, .invalidMessage), (#"{"type":"ack","through":-1}"#, .invalidMessage),
            (#"{"type":"ack","through":5,"rejects":[[6,"r"]]}"#, .invalidArgument),
            (#"{"type":"ack","through":5,"rejects":[[0,"r"]]}"#, .invalidMessage),
            (#"{"type":"ack","through":5,"rejects":[[1]]}"#, .invalidMessage),
            (#"{"type":"ack","through":5,"rejects":[[1,2]]}"#, .invalidMessage),
            (#"{"type":"ack","through":5,"rejects":{}}"#, .invalidMessage),
            (#"{"type":"result","id":1}"#, .invalidMessage),
            (#"{"type":"result","value":1}"#, .invalidMessage),
            (#"{"type":"result","id":1,"value":1,"error":{}}"#, .invalidMessage),
            (#"{"type":"result","id":-1,"value":1}"#, .invalidMessage),
            (#"{"type":"result","id":"1","value":1}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":null}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":"no"}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":{}}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":{"code":""}}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":{"code":"c","retryable":1}}"#, .invalidMessage),
            (#"{"type":"result","id":1,"error":{"code":"c","outcome":1}}"#, .invalidMessage),
        ]
        for (text, code) in bad {
            let error = #expect(throws: WireError.self, "\(text)") { try Codecs.plugin.value(text) }
            #expect(error?.code == code, "\(text)")
        }
    }

    @Test func whatPluginsMayLeaveOutAndAdd() throws {
        let hello = #"{"type":"hello","name":"a","version":"1","collect":{"later":1},"more":[]}"#
        let expected = PluginMessage.hello(.init(name: "a", version: "1", collect: CollectRequest()))
        #expect(try Codecs.plugin.value(hello) == expected)
        #expect(try Codecs.plugin.value(#"{"type":"heartbeat","x":1}"#) == .heartbeat)
        let failed = #"{"type":"result","id":1,"error":{"code":"c","outcome":"known","more":1},"x":1}"#
        #expect(try Codecs.plugin.value(failed) == .result(id: 1, .failure(WireError(ErrorCode("c"), ""))))
        let request = #"{"type":"request","id":1,"service":"s","timeoutMs":1,"x":1}"#
        #expect(
            try Codecs.host.value(request)
                == .request(id: 1, service: "s", arguments: .object([]), timeoutMs: 1))
        #expect(try Codecs.host.value(#"{"type":"later","id":1}"#) == nil)
    }

    @Test func messagesOfTheHostThatAreRefused() {
        let launch = #""launch":"0123456789abcdef0123456789abcdef""#
        for rows in [
            "[]", "[[0,1]]", "[[1,0]]", "[[1]]", "[[1,2,3]]", "[[1,\"2\"]]", "[1]", "{}",
            "[[18446744073709551615,1]]",
        ] {
            let text = #"{"type":"deliver",\#(launch),"ranges":\#(rows)}"#
            #expect(throws: WireError.self, "\(text)") { try Codecs.host.value(text) }
        }
        for text in [
            #"{"type":"deliver","launch":"x","ranges":[[1,1]]}"#, #"{"type":"deliver","ranges":[[1,1]]}"#,
            #"{"type":"refused"}"#, #"{"type":"refused","error":1}"#,
            #"{"type":"error","error":{"message":"m"}}"#,
            #"{"type":"welcome",\#(launch),"run":"r","state":"open","seq":1,"heartbeatMs":1}"#,
            #"{"type":"state",\#(launch),"seq":1,"state":"onHold","command":"c","time":"now","pending":1}"#,
            #"{"type":"request","id":1}"#, #"{"type":"request","service":"s","timeoutMs":1}"#,
            #"{"type":"request","id":1,"service":"s","timeoutMs":-1}"#,
            #"{"type":"request","id":1,"service":"","timeoutMs":1}"#,
            #"{"type":"app","app":"a","phase":"asleep","time":"2026-01-31T12:34:56.789Z"}"#,
            #"{"type":"app","app":"a","phase":"background","time":"now"}"#,
            #"{"type":"app","phase":"background","time":"2026-01-31T12:34:56.789Z"}"#,
        ] {
            #expect(throws: WireError.self, "\(text)") { try Codecs.host.value(text) }
        }
    }
}
