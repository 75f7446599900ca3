import Platform
import Testing

@testable import HoldgateHost

@Suite struct ConnectionsTests {
    private static let limits = Connections.Limits(
        total: 4, perOrigin: 3, topicBytes: 100, allTopicBytes: 200, unreadBytes: 1_000_000,
        allUnreadBytes: 3_000_000)

    private func connection(_ descriptor: Int32, _ user: UInt32 = 1) -> Connection {
        Connection(descriptor: descriptor, cookie: UInt64(descriptor) * 100, origin: .user(user))
    }

    private func full() -> Connections {
        var connections = Connections(Self.limits)
        for descriptor in 1...3 { #expect(connections.begin(connection(Int32(descriptor))) == nil) }
        return connections
    }

    @Test func theOldestThatSaidNothingGoesFirst() {
        var connections = full()
        connections.read(bytes: 1, frames: 1, 1)
        #expect(connections.begin(connection(4)) == connection(2))
        #expect(connections.begin(connection(5)) == connection(3))
        #expect(connections.begin(connection(6)) == connection(4))
        #expect(connections.count == 3)
    }

    @Test func whoIsHeardStaysAndTheNewOneGoes() {
        var connections = full()
        for descriptor in 1...3 { connections.read(bytes: 1, frames: 1, Int32(descriptor)) }
        #expect(connections.begin(connection(4)) == connection(4))
        // It was never in.
        connections.end(4)
        #expect(connections.count == 3)
        connections.end(2)
        #expect(connections.begin(connection(5)) == nil)
    }

    @Test func anOriginTakesNoRoomFromAnother() {
        var connections = full()
        #expect(connections.begin(connection(10, 2)) == nil)
        // All are four now: no stranger of this origin makes room.
        #expect(connections.begin(connection(11, 3)) == connection(11, 3))
        #expect(connections.begin(connection(12, 2)) == connection(10, 2))
    }

    @Test func aDescriptorThatComesAgainIsAnotherConnection() {
        var connections = full()
        connections.read(bytes: 1, frames: 1, 1)
        #expect(connections.subscribe([UInt8](repeating: 1, count: 80), 1) == nil)
        #expect(connections.begin(Connection(descriptor: 1, cookie: 7, origin: .user(1))) == nil)
        #expect(connections.count == 3)
        #expect(connections.subscribe([UInt8](repeating: 2, count: 80), 1) == nil)
    }

    @Test func whatIsGoneWithoutAWordIsSweptAway() {
        var connections = full()
        connections.sweep()
        #expect(connections.count == 0)
        #expect(connections.isFull(.user(1)) == false)
    }

    @Test func equalSubscriptionsCountOnce() {
        var connections = full()
        for _ in 0..<1000 { #expect(connections.subscribe(Array("state".utf8), 1) == nil) }
        for number in 0..<4 { #expect(connections.subscribe([UInt8(number)], 1) == nil) }
        #expect(connections.subscribe([9], 1) == connection(1))
        #expect(connections.count == 2)
    }

    @Test func whatIsUnsubscribedCountsNoMore() {
        var connections = full()
        for number in 0..<1000 {
            let topic = [UInt8](repeating: UInt8(number % 256), count: 60)
            #expect(connections.subscribe(topic, 1) == nil)
            connections.unsubscribe(topic, 1)
            // Twice takes nothing away.
            connections.unsubscribe(topic, 1)
        }
        #expect(connections.subscribe([UInt8](repeating: 1, count: 84), 1) == nil)
        #expect(connections.subscribe([], 1) == connection(1))
    }

    @Test func whoSubscribedToMostGoesWhenAllHaveTooMuch() {
        var connections = full()
        #expect(connections.subscribe([UInt8](repeating: 1, count: 64), 1) == nil)
        #expect(connections.subscribe([UInt8](repeating: 1, count: 74), 2) == nil)
        #expect(connections.subscribe([1, 2, 3], 3) == nil)
        #expect(connections.subscribe([1, 2], 3) == connection(2))
        #expect(connections.subscribe([1, 2, 3, 4], 3) == nil)
    }

    @Test func whatIsReadIsNotUnread() {
        var connections = full()
        var received: UInt64 = 0
        for _ in 0..<100 {
            received += 900_000
            connections.read(bytes: 900_000, frames: 1, 1)
            #expect(connections.check { $0.descriptor == 1 ? received : nil } == [])
        }
        // What was counted too high for each does not add up to room for more.
        #expect(connections.check { $0.descriptor == 1 ? received + 1_010_000 : nil } == [connection(1)])
    }

    @Test func aMessageThatDoesNotEndIsUnread() {
        var connections = full()
        #expect(connections.check { $0.descriptor == 2 ? 900_000 : 10 } == [])
        #expect(connections.check { $0.descriptor == 2 ? 1_100_000 : 10 } == [connection(2)])
        #expect(connections.check { $0.descriptor == 2 ? 1_100_000 : 10 } == [])
        #expect(connections.count == 2)
    }

    @Test func whoHasMostUnreadGoesWhenAllHaveTooMuch() {
        var limits = Self.limits
        limits.allUnreadBytes = 2_000_000
        var connections = Connections(limits)
        for descriptor in 1...3 { #expect(connections.begin(connection(Int32(descriptor))) == nil) }
        #expect(connections.check { 700_000 + UInt64($0.descriptor) * 1000 } == [connection(3)])
    }

    @Test func peersThatCannotBeToldApartAreNotMeasured() {
        var connections = full()
        connections.read(bytes: 10, frames: 1, nil)
        #expect(connections.check { _ in 100_000_000 } == [])
    }
}
