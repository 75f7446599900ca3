import Access
import Lifecycle
import Testing
import Wire

@testable import Engine

@Suite struct EngineAccessTests {
    private let shop = Caller(name: "shop", permissions: Permissions(.produce))
    private let consent = Caller(name: "consent", permissions: Permissions(.hold, .start))

    private func ask(_ desk: inout Desk, _ request: ControlRequest, by caller: Caller) -> ControlReply? {
        let requester = desk.requester()
        desk.act { $0.handle(request, from: requester, by: caller, now: $1, into: &$2) }
        desk.disk()
        return desk.replies[requester]
    }

    @Test func aCommandWithoutItsRoleChangesNothingAndIsInTheHistory() {
        var desk = Desk()
        let before = desk.engine.status
        let reply = ask(&desk, ControlRequest(.holdOperation(waitMs: nil, gatedEvents: nil)), by: shop)
        #expect(reply?.error?.code == .forbidden)
        #expect(reply?.error?.message == "holdOperation needs the role hold, and shop has produce")
        #expect(desk.engine.status == before && desk.engine.statistics.forbidden == 1)
        #expect(desk.records.last?.command == "forbidden" && desk.records.last?.source == "shop")
        #expect(
            desk.records.last?.facts.forbidden == Forbidden(name: "shop", command: "holdOperation", count: 1))
        #expect(desk.records.last?.seq == before.seq && desk.records.last?.state == before.state)
    }

    /// Nobody fills the disk with what is refused.
    @Test func theSameAgainIsSummedUp() {
        var desk = Desk()
        for _ in 0..<500 { _ = ask(&desk, ControlRequest(.kill), by: shop) }
        _ = ask(&desk, ControlRequest(.endLaunch(restart: false)), by: shop)
        #expect(desk.records.compactMap(\.facts.forbidden).map(\.count) == [1, 1])
        desk.pass(desk.engine.configuration.discardRecordMs)
        desk.disk()
        #expect(
            desk.records.compactMap(\.facts.forbidden).last
                == Forbidden(name: "shop", command: "kill", count: 499))
        #expect(desk.engine.statistics.forbidden == 501)
        desk.pass(desk.engine.configuration.discardRecordMs)
        desk.disk()
        #expect(desk.records.compactMap(\.facts.forbidden).count == 3, "nothing more happened")
    }

    @Test func whatTheHistoryHadNoRoomForIsInTheNextRecord() {
        var desk = Desk()
        let requester = desk.requester()
        desk.act { $0.handle(ControlRequest(.kill), from: requester, by: shop, now: $1, into: &$2) }
        desk.diskFull()
        desk.disk()
        #expect(desk.records.compactMap(\.facts.forbidden) == [])
        desk.pass(desk.engine.configuration.discardRecordMs)
        desk.disk()
        #expect(
            desk.records.compactMap(\.facts.forbidden) == [Forbidden(name: "shop", command: "kill", count: 1)]
        )
    }

    @Test func queriesThatAreForbiddenLeaveNoRecord() {
        var desk = Desk()
        let count = desk.records.count
        #expect(ask(&desk, ControlRequest(.configure(patch: "{}")), by: consent)?.error?.code == .forbidden)
        #expect(desk.records.count == count && desk.engine.statistics.forbidden == 1)
    }

    @Test(arguments: [
        ("somebody else", "consent"), ("consent", "consent"), ("consent/page", "consent/page"),
        ("consentual", "consent"), ("", "consent"), (nil, "consent"),
    ])
    func theSourceIsTheNameThatTheKeyProves(said: String?, recorded: String) {
        var desk = Desk()
        let request = ControlRequest(
            .holdOperation(waitMs: nil, gatedEvents: nil), source: said, reason: "r")
        #expect(ask(&desk, request, by: consent)?.error == nil)
        #expect(
            desk.records.contains {
                $0.command == "holdOperation" && $0.source == recorded && $0.reason == "r"
            })
    }

    @Test func theSourceIsWhatTheRequestSaysWhereNobodyIsAsked() {
        var desk = Desk()
        let request = ControlRequest(.holdOperation(waitMs: nil, gatedEvents: nil), source: "somebody else")
        #expect(ask(&desk, request, by: .anybody)?.error == nil)
        #expect(desk.records.contains { $0.source == "somebody else" })
    }

    /// A key of one name is none of another's: what was answered to one is not told to the other.
    @Test func idempotencyKeysBelongToTheName() {
        var desk = Desk()
        let other = Caller(name: "other", permissions: Permissions(.hold, .start))
        let request = ControlRequest(.startOperation(leaseMs: nil), source: "consent", key: "k")
        let first = ask(&desk, request, by: consent)
        let replay = ask(&desk, request, by: consent)
        let stranger = ask(&desk, request, by: other)
        #expect(first?.members.contains { $0.name == "replayed" } == false)
        #expect(replay?.members.contains { $0.name == "replayed" } == true)
        #expect(stranger?.members.contains { $0.name == "replayed" } == false)
    }

    private func greet(_ desk: inout Desk, _ hello: PluginMessage.Hello, by caller: Caller) -> WireError? {
        desk.act { $0.receive(.hello(hello), from: PeerID(9), by: caller, now: $1, into: &$2) }
        desk.disk()
        if case .refused(let error)? = desk.sent[PeerID(9)]?.last { return error }
        return nil
    }

    @Test func aPluginNeedsTheRoleOfWhatItDoes() {
        let collect = CollectRequest(types: ["*"], windowBytes: 1000, durable: true)
        let hellos = [
            PluginMessage.Hello(name: "p", version: "1", collect: collect),
            PluginMessage.Hello(name: "p", version: "1", services: ["s"]),
            PluginMessage.Hello(name: "p", version: "1"),
        ]
        for role in Role.allCases {
            let caller = Caller(name: "p", permissions: Permissions(role))
            let refused = hellos.map { hello -> Bool in
                var desk = Desk()
                let error = greet(&desk, hello, by: caller)
                #expect((error == nil) == (desk.engine.holder(of: "p") != nil))
                return error?.code == .forbidden
            }
            #expect(
                refused == [role != .collect, role != .serve, ![.observe, .collect, .serve].contains(role)],
                "\(role)")
        }
    }

    /// Who only listens hears no more of the host as a plugin than its subscriptions would be granted.
    @Test func aListenerMayHearWhatPluginsAreTold() {
        for (topics, isRefused) in [
            (["event.cart."], true), (["state"], true), (["app."], true), (["state", "app."], false),
        ] {
            var desk = Desk()
            let caller = Caller(
                name: "p", permissions: Permissions(roles: [.observe: .prefixes(Set(topics))]))
            let error = greet(&desk, PluginMessage.Hello(name: "p", version: "1"), by: caller)
            #expect((error?.code == .forbidden) == isRefused, "\(topics)")
        }
    }

    @Test func aNameIsTakenOverUnderItsOwnKeyAlone() {
        var desk = Desk()
        let hello = PluginMessage.Hello(
            name: "warehouse", version: "1",
            collect: CollectRequest(types: ["*"], windowBytes: 1000, durable: true))
        let warehouse = Caller(name: "warehouse", permissions: Permissions(.collect))
        desk.act { $0.receive(.hello(hello), from: PeerID(1), by: warehouse, now: $1, into: &$2) }
        desk.disk()
        let thief = Caller(name: "thief", permissions: Permissions(.collect))
        let error = greet(&desk, hello, by: thief)
        #expect(error?.message == "warehouse is not a name of thief: its plugins are thief, or thief/…")
        #expect(desk.engine.holder(of: "warehouse") == PeerID(1))
    }

    @Test func eventsNeedTheRoleTheNameAndTheType() {
        var desk = Desk()
        let types = ["cart.add", "profile.read"]
        func forbids(_ producer: String?, _ caller: Caller) -> WireError? {
            desk.engine.forbidsProducing(producer, caller) { permissions in
                types.enumerated().first { !permissions.reaches(.produce, $0.element) }
                    .map { (index: $0.offset, type: $0.element) }
            }
        }
        #expect(forbids("shop/web", shop) == nil && forbids(nil, shop) == nil)
        #expect(
            forbids("consent", consent)?.message
                == "sending events needs the role produce, and consent has hold,start")
        #expect(
            forbids("web", shop)?.message == "web is not a name of shop: its producers are shop, or shop/…")
        let cart = Caller(name: "shop", permissions: Permissions(roles: [.produce: .prefixes(["cart."])]))
        let error = forbids("shop", cart)
        #expect(
            error?.index == 1
                && error?.message == "event 1 has the type profile.read, and shop has produce:cart.")
        #expect(desk.engine.statistics.forbidden == 3)
    }

    @Test func whoeverIsCutOffIsNoLongerAttached() {
        var desk = Desk()
        desk.serve("s")
        let waiting = desk.call()
        desk.act { $0.cutOff("keys changed", now: $1, into: &$2) }
        #expect(desk.engine.peers == [])
        #expect(desk.replies[waiting]?.error?.code == .serviceUnavailable)
    }
}
