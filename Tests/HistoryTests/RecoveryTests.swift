import Ledger
import Lifecycle
import Testing
import Wire

@testable import Journal

@Suite struct RecoveryTests {
    typealias World = HistoryWorld

    /// What the drafts add up to, once they were written and read back.
    static func recovered(_ drafts: [HistoryDraft]) throws -> RecoveredHistory {
        let storage = MemoryStorage()
        _ = try History.open(storage: storage).append(drafts)
        var recovered = RecoveredHistory()
        _ = try History.open(storage: storage) { record throws(FormatFault) in try recovered.apply(record) }
        return recovered
    }

    static func damage(_ drafts: [HistoryDraft]) -> String? {
        do {
            _ = try recovered(drafts)
            return nil
        } catch JournalError.damaged(_, let what) {
            return what
        } catch {
            return "\(error)"
        }
    }

    static let lease = Lease(durationMs: 60_000, setAtWallMs: World.startMs + 2000)
    static let operating = [
        World.draft(1, .onHold, nil, "initializeWithHoldingOperations"),
        World.draft(2, .operating, .onHold, "startOperation", through: 4, HistoryExtras(lease: lease)),
    ]
    static let draining =
        operating + [
            World.draft(
                3, .holdRequested, .operating, "holdOperation", through: 9, source: "me", reason: "why",
                HistoryExtras(gatedEvents: .refuse, pending: 5))
        ]

    @Test func anEmptyHistoryKnowsNoLaunch() throws {
        let recovered = RecoveredHistory()
        #expect(recovered.lifecycle == nil && recovered.head == nil && recovered.last == nil)
        #expect(!recovered.mustPurge && !recovered.isEnded)
        #expect(recovered.releasedThrough(lastAccepted: JournalSeq(9)) == .zero)
    }

    @Test func whatHoldsDroppedIsKnownWhateverCameAfter() throws {
        func dropping(_ seq: UInt64, through: UInt64) -> HistoryDraft {
            World.draft(
                seq, .onHold, .onHold, "holdOperation", through: through,
                HistoryExtras(gatedEvents: .discard, discardedThrough: JournalSeq(through)))
        }
        var drafts = [
            World.draft(1, .onHold, nil, "initializeWithHoldingOperations"), dropping(1, through: 2),
            dropping(1, through: 4),
            World.draft(2, .operating, .onHold, "startOperation", through: 6),
            World.draft(3, .holdRequested, .operating, "holdOperation", through: 9),
            World.draft(4, .onHold, .holdRequested, "drained", through: 9), dropping(4, through: 12),
            World.draft(5, .operating, .onHold, "startOperation", through: 12),
        ]
        #expect(
            try Self.recovered(drafts).dropped == [
                SeqRange(first: JournalSeq(1), count: 4), SeqRange(first: JournalSeq(10), count: 3),
            ])
        drafts.append(World.draft(6, .killed, .operating, "kill", through: 12))
        #expect(try Self.recovered(drafts).dropped.isEmpty)
    }

    @Test func theLifecycleIsThatOfTheHostThatWroteIt() throws {
        var (expected, _) = Lifecycle.begin(
            launch: World.launch, cause: .initializeWithHoldingOperations, through: .zero,
            releasedThrough: .zero, wallMs: World.startMs + 1000)
        _ = expected.apply(
            .startOperation, cause: .startOperation, through: JournalSeq(4), wallMs: World.startMs + 2000)
        expected.setLease(Self.lease)
        let operating = try Self.recovered(Self.operating)
        #expect(operating.lifecycle == expected)
        #expect(operating.releasedThrough(lastAccepted: JournalSeq(6)) == JournalSeq(6))

        let hold = expected.apply(
            .holdOperation, cause: .holdOperation, through: JournalSeq(9), wallMs: World.startMs + 3000)
        expected.setHoldPolicy(.refuse)
        let draining = try Self.recovered(Self.draining)
        #expect(draining.lifecycle == expected)
        #expect(draining.lifecycle?.lease == nil && draining.lifecycle?.closedThrough == JournalSeq(9))
        #expect(draining.releasedThrough(lastAccepted: JournalSeq(12)) == JournalSeq(9))
        #expect(draining.last?.transition == hold)
        #expect(
            draining.last?.source == "me" && draining.last?.reason == "why" && draining.last?.pending == 5)

        let timeout = try Self.recovered(
            Self.draining + [
                World.draft(
                    4, .onHold, .holdRequested, "drainTimeout", through: 12, HistoryExtras(undelivered: 2))
            ])
        #expect(timeout.last?.undelivered == 2)
        #expect(timeout.lifecycle?.holdPolicy == .refuse)
        #expect(timeout.through == JournalSeq(12))
    }

    @Test func aRenewedLeaseAndANewPolicyChangeNothingElse() throws {
        let renewed = Lease(durationMs: 5, setAtWallMs: World.startMs + 2500)
        let operating = try Self.recovered(
            Self.operating + [
                World.draft(
                    2, .operating, .operating, "startOperation", through: 5, HistoryExtras(lease: renewed))
            ])
        #expect(operating.lifecycle?.lease == renewed)
        #expect(operating.lifecycle?.seq == TransitionSeq(2))

        let draining = try Self.recovered(
            Self.draining + [
                World.draft(
                    3, .holdRequested, .holdRequested, "holdOperation", through: 9,
                    HistoryExtras(gatedEvents: .discard, discarded: 3))
            ])
        #expect(draining.lifecycle?.holdPolicy == .discard)
        #expect(draining.last?.reason == "why")
    }

    @Test func killedIsPurgedAgainUntilANewLaunchBegins() throws {
        let killed =
            Self.draining + [
                World.draft(
                    4, .killed, .holdRequested, "kill", through: 9,
                    HistoryExtras(
                        discarded: 4,
                        inFlight: [
                            InFlightRanges(name: "a", ranges: [SeqRange(first: JournalSeq(7), count: 2)])
                        ]))
            ]
        #expect(try Self.recovered(killed).mustPurge)
        let ended = killed + [World.draft(4, .killed, .killed, "endLaunch", through: 9)]
        #expect(try Self.recovered(ended).mustPurge)
        #expect(try Self.recovered(ended).isEnded)
        let begun =
            ended + [
                World.draft(
                    1, .onHold, nil, "initializeWithHoldingOperations", through: 9, launch: World.other)
            ]
        #expect(try !Self.recovered(begun).mustPurge)
        #expect(try !Self.recovered(begun).isEnded)
        #expect(try Self.recovered(begun).lifecycle?.closedThrough == JournalSeq(9))
    }

    @Test func aNewLaunchLetsOutOnlyWhatWasLetOutBefore() throws {
        let begin = World.draft(
            1, .onHold, nil, "initializeWithHoldingOperations", through: 12, launch: World.other)
        #expect(try Self.recovered(Self.operating + [begin]).lifecycle?.closedThrough == JournalSeq(12))
        #expect(try Self.recovered(Self.draining + [begin]).lifecycle?.closedThrough == JournalSeq(9))
        var said = begin
        said.extra = HistoryExtras(released: JournalSeq(2)).members
        #expect(try Self.recovered(Self.draining + [said]).lifecycle?.closedThrough == JournalSeq(2))
    }

    @Test func repliesOfTheLaunchAreRememberedTheNewestOfThem() throws {
        func keyed(_ key: String, _ source: String?, _ reply: String) -> HistoryDraft {
            World.draft(
                2, .operating, .operating, "startOperation", through: 4, source: source,
                HistoryExtras(
                    remembered: RememberedReply(
                        key: key, source: source, fingerprint: "f-\(key)", reply: reply)))
        }
        let two = try Self.recovered(
            Self.operating + [
                keyed("k", "a", #"{"ok":true}"#), keyed("k", nil, #"{"ok":true,"x":[1,-2.5,"\n"]}"#),
            ]
        )
        #expect(
            two.replies == [
                RememberedReply(key: "k", source: "a", fingerprint: "f-k", reply: #"{"ok":true}"#),
                RememberedReply(
                    key: "k", source: nil, fingerprint: "f-k", reply: #"{"ok":true,"x":[1,-2.5,"\n"]}"#),
            ])

        let many = try Self.recovered(
            Self.operating + (0..<5000).map { keyed("\($0)", "a", "{}") } + [keyed("4500", "a", #"{"v":2}"#)])
        #expect(many.replies.count == 1024)
        #expect(many.replies.first?.key == "3976")
        #expect(many.replies.last?.reply == #"{"v":2}"#)
        #expect(Set(many.replies.map(\.key)).count == 1024)

        let begin = World.draft(
            1, .onHold, nil, "initializeWithHoldingOperations", through: 12, launch: World.other)
        #expect(try Self.recovered(Self.operating + [keyed("k", "a", "{}"), begin]).replies == [])
    }

    @Test func everyOtherRecordIsTakenAndChangesNothing() throws {
        let expected = try Self.recovered(Self.draining).lifecycle
        let others: [(String, String?, HistoryExtras)] = [
            ("discarded", "aged", HistoryExtras(discarded: 3)),
            ("evicted", nil, HistoryExtras(collector: "c")),
            ("forget", nil, HistoryExtras(collector: "c")),
            ("restored", nil, HistoryExtras()),
            ("reply", nil, HistoryExtras()),
            ("initialize", nil, HistoryExtras()),
            ("holdOperation", nil, HistoryExtras()),
        ]
        for (command, reason, extras) in others {
            let draft = World.draft(
                3, .holdRequested, .holdRequested, command, through: 9, reason: reason, extras)
            let recovered = try Self.recovered(Self.draining + [draft])
            #expect(recovered.lifecycle == expected, "\(command)")
            #expect(recovered.head?.n == 4)
        }
    }

    @Test func aRecordThatDoesNotFollowIsDamage() throws {
        let cases: [(HistoryDraft, String)] = [
            (
                World.draft(4, .onHold, .holdRequested, "startOperation", through: 9),
                "`startOperation` to `onHold` does not follow from `holdRequested`"
            ),
            (
                World.draft(5, .onHold, .holdRequested, "drained", through: 9),
                "`drained` to `onHold` does not follow from `holdRequested`"
            ),
            (
                World.draft(4, .operating, .onHold, "startOperation", through: 9),
                "`startOperation` to `operating` does not follow from `holdRequested`"
            ),
            (World.draft(4, .onHold, .holdRequested, "drained", through: 8), "`through` goes back"),
            (World.draft(4, .onHold, .holdRequested, "forget", through: 9), "`forget` changes no state"),
            (
                World.draft(4, .onHold, .holdRequested, "drained", through: 9, launch: World.other),
                "launch \(World.other) has not begun"
            ),
            (
                World.draft(1, .onHold, nil, "initializeWithHoldingOperations", through: 9),
                "its launch began before"
            ),
            (
                World.draft(1, .operating, nil, "startOperation", through: 9, launch: World.other),
                "no launch begins with `startOperation`"
            ),
            (
                World.draft(
                    1, .operating, nil, "initializeWithHoldingOperations", through: 9, launch: World.other),
                "a launch does not begin with `seq` 1 and `operating`"
            ),
            (
                World.draft(4, .holdRequested, .holdRequested, "holdOperation", through: 9),
                "it changes nothing, and its `state` or `seq` is not that of the record before"
            ),
            (
                World.draft(3, .holdRequested, .holdRequested, "dance", through: 9),
                "there is no command `dance`"
            ),
            (
                World.draft(3, .holdRequested, .holdRequested, "forget", through: 9), "`collector` is missing"
            ),
            (
                World.draft(
                    3, .holdRequested, .holdRequested, "startOperation", through: 9,
                    HistoryExtras(lease: Self.lease)),
                "only an open gate has a lease"
            ),
        ]
        for (draft, what) in cases {
            #expect(Self.damage(Self.draining + [draft]) == "line 5: " + what)
        }
        var gated = World.draft(4, .onHold, .holdRequested, "drained", through: 9)
        gated.gate = ["marketing"]
        #expect(
            Self.damage(Self.draining + [gated]) == "line 5: it is of a gate that this host does not serve")
        let ended = World.draft(3, .holdRequested, .holdRequested, "endLaunch", through: 9)
        let drained = World.draft(4, .onHold, .holdRequested, "drained", through: 9)
        #expect(Self.damage(Self.draining + [ended, drained]) == "line 6: its launch was ended")
        #expect(Self.damage([drained]) == "line 2: launch \(World.launch) has not begun")
    }

    @Test func extrasReadBackAsTheyWereWritten() throws {
        let extras = HistoryExtras(
            remembered: RememberedReply(key: "k", source: "s", fingerprint: "f", reply: #"{"a":1}"#),
            lease: Self.lease, gatedEvents: .discard, released: JournalSeq(3), pending: 4, undelivered: 5,
            discarded: .max,
            inFlight: [
                InFlightRanges(
                    name: "b",
                    ranges: [
                        SeqRange(first: JournalSeq(1), count: 2), SeqRange(first: JournalSeq(9), count: 1),
                    ]),
                InFlightRanges(name: "a", ranges: []),
            ], collector: "c")
        let value = try JSONValue.parse(JSONValue.object(extras.members).text)
        #expect(try HistoryExtras(try #require(value.asMembers), source: "s") == extras)
        #expect(
            value.text
                == #"{"pending":4,"undelivered":5,"leaseMs":60000,"leaseSetAt":"2026-01-02T03:04:07.678Z","#
                + #""gatedEvents":"discard","released":3,"discarded":18446744073709551615,"#
                + #""inFlight":{"b":[[1,2],[9,1]],"a":[]},"collector":"c","#
                + #""key":"k","fingerprint":"f","reply":{"a":1}}"#)
        #expect(HistoryExtras().members == [])
    }
}
