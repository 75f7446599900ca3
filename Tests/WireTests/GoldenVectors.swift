import Lifecycle

@testable import Wire

/// Each message with the exact bytes that stand for it, read and written alike.
enum Golden {
    static let launch = LaunchID("0123456789abcdef0123456789abcdef")!
    private static let launchText = #""launch":"0123456789abcdef0123456789abcdef""#
    static let status = HostStatus(state: .operating, seq: TransitionSeq(7), launch: launch)
    private static let statusText = #""state":"operating","isOperating":true,"seq":7,\#(launchText)"#
    /// 2026-01-31T12:34:56.789Z.
    private static let wallMs: Int64 = 1_769_862_896_789

    static func range(_ first: UInt64, _ count: UInt64) -> SeqRange {
        SeqRange(first: JournalSeq(first), count: count)
    }

    static let requests: [(ControlRequest, String)] = [
        (.init(.startOperation(leaseMs: nil)), #"{"v":1,"command":"startOperation"}"#),
        (
            .init(.startOperation(leaseMs: 5000), id: "7"),
            #"{"v":1,"id":7,"command":"startOperation","leaseMs":5000}"#
        ),
        (
            .init(
                .holdOperation(waitMs: 0, gatedEvents: .discard), id: #""a\"b""#, source: "cmp",
                reason: "denied",
                key: "k-1", expect: .init(launch: launch.raw, state: .operating, seq: 3)),
            #"{"v":1,"id":"a\"b","command":"holdOperation","waitMs":0,"gatedEvents":"discard","source":"cmp","#
                + #""reason":"denied","key":"k-1","expect":{\#(launchText),"state":"operating","seq":3}}"#
        ),
        (.init(.kill, id: "true", expect: .init()), #"{"v":1,"id":true,"command":"kill","expect":{}}"#),
        (.init(.initialize), #"{"v":1,"command":"initialize"}"#),
        (.init(.initializeWithHoldingOperations), #"{"v":1,"command":"initializeWithHoldingOperations"}"#),
        (.init(.endLaunch(restart: false)), #"{"v":1,"command":"endLaunch"}"#),
        (
            .init(.endLaunch(restart: true), key: "é"),
            #"{"v":1,"command":"endLaunch","restart":true,"key":"é"}"#
        ),
        (.init(.state, gate: ["a", "b"]), #"{"v":1,"command":"state","gate":["a","b"]}"#),
        (.init(.isOperating, id: "1.5"), #"{"v":1,"id":1.5,"command":"isOperating"}"#),
        (.init(.ping), #"{"v":1,"command":"ping"}"#),
        (.init(.commands), #"{"v":1,"command":"commands"}"#),
        (.init(.configuration), #"{"v":1,"command":"configuration"}"#),
        (
            .init(.configure(patch: #"{"a":{"b":null}}"#)),
            #"{"v":1,"command":"configure","set":{"a":{"b":null}}}"#
        ),
        (.init(.history(after: 0, limit: 100)), #"{"v":1,"command":"history","after":0,"limit":100}"#),
        (.init(.plugins), #"{"v":1,"command":"plugins"}"#),
        (.init(.forget(name: "crm")), #"{"v":1,"command":"forget","name":"crm"}"#),
        (.init(.deadLetters(after: 9, limit: 1)), #"{"v":1,"command":"deadLetters","after":9,"limit":1}"#),
        (.init(.requeue(seqs: [1, .max])), #"{"v":1,"command":"requeue","seqs":[1,18446744073709551615]}"#),
        (.init(.reload, id: "9"), #"{"v":1,"id":9,"command":"reload"}"#),
        (.init(.stats, source: "", reason: ""), #"{"v":1,"command":"stats","source":"","reason":""}"#),
        (
            .init(
                .request(
                    service: "emailPermission.get", arguments: .object([.init("a", .int(1))]), timeoutMs: 5000
                )),
            #"{"v":1,"command":"request","service":"emailPermission.get","arguments":{"a":1},"timeoutMs":5000}"#
        ),
        (
            .init(.plugin(name: "geofence", .restart)),
            #"{"v":1,"command":"plugin","name":"geofence","action":"restart"}"#
        ),
        (
            .init(.appLifecycle(app: "shop", .background)),
            #"{"v":1,"command":"appLifecycle","app":"shop","phase":"background"}"#
        ),
    ]

    static let replies: [(ControlReply, String)] = [
        (.init(id: nil, status: status), #"{"v":1,"id":null,"ok":true,\#(statusText)}"#),
        (
            .init(
                id: #""x""#, status: status,
                members: [
                    .init("previous", .string("onHold")), .init("changed", .bool(true)),
                    .init("pending", .int(0)),
                    .init("drain", .object([.init("total", .int(5))])),
                ]),
            #"{"v":1,"id":"x","ok":true,\#(statusText),"previous":"onHold","changed":true,"pending":0,"#
                + #""drain":{"total":5}}"#
        ),
        (
            .init(id: "3", status: status, error: WireError(.conflict, "two\nlines", retryable: true)),
            #"{"v":1,"id":3,"ok":false,\#(statusText),"error":{"code":"conflict","message":"two\nlines","#
                + #""retryable":true}}"#
        ),
        (
            .init(
                id: nil, status: status,
                error: WireError(.serviceUnavailable, "lost", isOutcomeUnknown: true)),
            #"{"v":1,"id":null,"ok":false,\#(statusText),"error":{"code":"serviceUnavailable","message":"lost","#
                + #""retryable":false,"outcome":"unknown"}}"#
        ),
        (
            .init(id: nil, status: status, members: [.init("value", .array([.null, .string("x")]))]),
            #"{"v":1,"id":null,"ok":true,\#(statusText),"value":[null,"x"]}"#
        ),
    ]

    static let ingestReplies: [(IngestReply, String)] = [
        (
            .init(
                id: "1",
                outcome: .taken(accepted: 5, gated: 2, discarded: 1, kept: true, last: JournalSeq(12)),
                status: status),
            #"{"v":1,"id":1,"ok":true,"accepted":5,"gated":2,"discarded":1,"duplicate":false,"kept":true,"#
                + #""last":12,\#(statusText)}"#
        ),
        (
            .init(
                id: nil, outcome: .taken(accepted: 0, gated: 0, discarded: 3, kept: false, last: nil),
                status: HostStatus(state: .onHold, seq: TransitionSeq(2), launch: launch)),
            #"{"v":1,"id":null,"ok":true,"accepted":0,"gated":0,"discarded":3,"duplicate":false,"kept":false,"#
                + #""state":"onHold","isOperating":false,"seq":2,\#(launchText)}"#
        ),
        (
            .init(id: nil, outcome: .duplicate(lastBatch: 41), status: status),
            #"{"v":1,"id":null,"ok":true,"accepted":0,"gated":0,"discarded":0,"duplicate":true,"#
                + #""lastBatch":41,\#(statusText)}"#
        ),
        (
            .init(
                id: nil,
                outcome: .refused(WireError(.outOfOrder, "41 came last", retryable: true), lastBatch: 41),
                status: status),
            #"{"v":1,"id":null,"ok":false,"lastBatch":41,\#(statusText),"error":{"code":"outOfOrder","#
                + #""message":"41 came last","retryable":true}}"#
        ),
        (
            .init(
                id: nil, outcome: .refused(WireError(.tooLarge, "m", index: 3), lastBatch: nil),
                status: status),
            #"{"v":1,"id":null,"ok":false,\#(statusText),"error":{"code":"tooLarge","message":"m","#
                + #""retryable":false,"index":3}}"#
        ),
    ]

    static let ingestHeaders: [(IngestHeader, String)] = [
        (.init(), #"{"v":1}"#),
        (.init(id: #""a""#), #"{"v":1,"id":"a"}"#),
        (
            .init(id: "9", producer: "shop", run: "r1", batch: .max),
            #"{"v":1,"id":9,"producer":"shop","run":"r1","batch":18446744073709551615}"#
        ),
    ]

    static let pluginMessages: [(PluginMessage, String)] = [
        (.hello(.init(name: "p", version: "1")), #"{"type":"hello","v":1,"name":"p","version":"1"}"#),
        (
            .hello(
                .init(
                    name: "crm", version: "",
                    collect: .init(types: ["a", "b.*"], windowBytes: 1, durable: false),
                    services: ["emailPermission.get"])),
            #"{"type":"hello","v":1,"name":"crm","version":"","collect":{"types":["a","b.*"],"windowBytes":1,"#
                + #""durable":false},"services":["emailPermission.get"]}"#
        ),
        (.ack(through: JournalSeq(9), rejects: []), #"{"type":"ack","through":9}"#),
        (
            .ack(
                through: JournalSeq(9),
                rejects: [.init(seq: JournalSeq(8), reason: "no"), .init(seq: JournalSeq(9), reason: "")]),
            #"{"type":"ack","through":9,"rejects":[[8,"no"],[9,""]]}"#
        ),
        (
            .result(id: 1, .success(.object([.init("a", .int(1))]))),
            #"{"type":"result","id":1,"value":{"a":1}}"#
        ),
        (.result(id: 2, .success(.null)), #"{"type":"result","id":2,"value":null}"#),
        (
            .result(id: 3, .failure(WireError(ErrorCode("noMorePages"), "the last page was read"))),
            #"{"type":"result","id":3,"error":{"code":"noMorePages","message":"the last page was read","#
                + #""retryable":false}}"#
        ),
        (
            .result(
                id: .max, .failure(WireError(.internalError, "m", retryable: true, isOutcomeUnknown: true))),
            #"{"type":"result","id":18446744073709551615,"error":{"code":"internal","message":"m","#
                + #""retryable":true,"outcome":"unknown"}}"#
        ),
        (.heartbeat, #"{"type":"heartbeat"}"#),
        (.bye, #"{"type":"bye"}"#),
    ]

    static let hostMessages: [(HostMessage, String)] = [
        (
            .welcome(status: status, run: "r", cursor: JournalSeq(4), heartbeatMs: 1000),
            #"{"type":"welcome",\#(launchText),"run":"r","state":"operating","seq":7,"cursor":4,"heartbeatMs":1000}"#
        ),
        (
            .welcome(status: status, run: "r", cursor: nil, heartbeatMs: 1),
            #"{"type":"welcome",\#(launchText),"run":"r","state":"operating","seq":7,"heartbeatMs":1}"#
        ),
        (
            .refused(WireError(.superseded, "a newer one came")),
            #"{"type":"refused","error":{"code":"superseded","message":"a newer one came","retryable":false}}"#
        ),
        (
            .error(WireError(.invalidMessage, "ack")),
            #"{"type":"error","error":{"code":"invalidMessage","message":"ack","retryable":false}}"#
        ),
        (
            .deliver(
                .init(
                    launch: launch, ranges: [range(1, 5), range(9, 1)],
                    under: [.init(range: range(1, 9), transition: TransitionSeq(2))],
                    held: [.init(range: range(9, 1), ms: 1500)], redelivered: true)),
            #"{"type":"deliver",\#(launchText),"ranges":[[1,5],[9,1]],"under":[[1,9,2]],"held":[[9,1,1500]],"#
                + #""redelivered":true}"#
        ),
        (
            .deliver(.init(launch: launch, ranges: [range(1, 1)], under: [])),
            #"{"type":"deliver",\#(launchText),"ranges":[[1,1]],"under":[],"redelivered":false}"#
        ),
        (
            .state(states[0].0, seq: TransitionSeq(3), launch: launch),
            #"{"type":"state",\#(launchText),"seq":3,"# + states[0].1.dropFirst()
        ),
        (
            .request(id: 7, service: "coupons.fetch", arguments: .object([]), timeoutMs: 250),
            #"{"type":"request","id":7,"service":"coupons.fetch","arguments":{},"timeoutMs":250}"#
        ),
        (
            .app(.init(app: "shop", phase: .foreground, wallMs: 1)),
            #"{"type":"app","app":"shop","phase":"foreground","time":"1970-01-01T00:00:00.001Z"}"#
        ),
        (.heartbeat, #"{"type":"heartbeat"}"#),
        (.goodbye, #"{"type":"goodbye"}"#),
        (.helloWanted, #"{"type":"hello?"}"#),
    ]

    static let states: [(StateBody, String)] = [
        (
            .init(
                state: .holdRequested, previous: .operating, command: "holdOperation", source: "s",
                reason: "r",
                wallMs: wallMs, pending: 12),
            #"{"state":"holdRequested","previous":"operating","command":"holdOperation","source":"s","#
                + #""reason":"r","time":"2026-01-31T12:34:56.789Z","pending":12}"#
        ),
        (
            .init(
                state: .onHold, previous: nil, command: "drainTimeout", wallMs: 0, pending: 0, undelivered: 3,
                snapshot: true
            ),
            #"{"state":"onHold","command":"drainTimeout","time":"1970-01-01T00:00:00.000Z","pending":0,"#
                + #""undelivered":3,"snapshot":true}"#
        ),
    ]

    static let streamHeaders: [(StreamHeader, String)] = [
        (.init(launch: launch, run: "r", seq: 2, prev: 1), #"{\#(launchText),"run":"r","seq":2,"prev":1}"#),
        (
            .init(launch: launch, run: "r", seq: 2, prev: nil, heldMs: 0),
            #"{\#(launchText),"run":"r","seq":2,"heldMs":0}"#
        ),
    ]

    static let drains: [(DrainBody, String)] = [
        (.init(total: 10, remaining: 0), #"{"total":10,"remaining":0}"#)
    ]

    static let apps: [(AppBody, String)] = [
        (
            .init(app: "a/b é", phase: .background, wallMs: wallMs),
            #"{"app":"a/b é","phase":"background","time":"2026-01-31T12:34:56.789Z"}"#
        )
    ]

    static let heartbeats: [(HeartbeatBody, String)] = [
        (
            .init(state: .killed, wallMs: wallMs, stateHead: 4, eventHead: .max),
            #"{"state":"killed","time":"2026-01-31T12:34:56.789Z","heads":{"state":4,"event":18446744073709551615}}"#
        )
    ]

    static let pluginBodies: [(PluginBody, String)] = [
        (.init(plugin: "crm", change: .attached), #"{"plugin":"crm","change":"attached"}"#),
        (
            .init(plugin: "crm", change: .evicted, reason: "lag"),
            #"{"plugin":"crm","change":"evicted","reason":"lag"}"#
        ),
    ]
}
