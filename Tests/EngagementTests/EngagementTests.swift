import Glibc
import HoldgateClient
import SQLite
import Testing

@testable import engagement

private let seed = """
    {"permissions":{"email":true},
     "categories":[{"id":"news","name":"News","enabled":true},{"id":"ads","name":"Ads","enabled":false}],
     "coupons":[
      {"id":"c-1","code":"A","title":"a","message":"m","time":"2026-03-01T12:00:00.000Z"},
      {"id":"c-2","code":"B","title":"b","message":"m","time":"2026-03-02T12:00:00.000Z",
       "expires":"2026-04-01T00:00:00.000Z","data":{"x":[1]}},
      {"id":"c-0","code":"C","title":"c","message":"m"}],
     "inbox":[
      {"id":"m-1","category":"news","title":"1","message":"m","status":"unread","time":"2026-03-01T12:00:00.000Z"},
      {"id":"m-2","category":"ads","title":"2","message":"m","status":"read","time":"2026-03-01T12:00:00.000Z"},
      {"id":"m-3","category":"news","title":"3","message":"m","status":"unread","time":"2026-03-03T12:00:00.000Z",
       "data":{"k":"v"}}]}
    """

private func fresh(_ text: String = seed, at path: String = ":memory:") throws -> Engagement {
    let store = try EngagementStore(path)
    try Seed(Array(text.utf8)).plant(in: store)
    return Engagement(store: store)
}

extension Engagement {
    fileprivate func ask(_ service: String, _ arguments: String = "{}") throws -> String {
        try answer(service, try JSONValue.parse(arguments)).get().text
    }

    fileprivate func error(_ service: String, _ arguments: String) throws -> WireError? {
        guard case .failure(let error) = answer(service, try JSONValue.parse(arguments)) else { return nil }
        return error
    }

    /// Identifiers of a page of the inbox, and its cursor and whether it is the last.
    fileprivate func page(
        _ service: String, _ arguments: String
    ) throws -> (ids: [String], cursor: String, isLast: Bool) {
        let value = try answer(service, try JSONValue.parse(arguments)).get()
        let ids = try #require(value["items"]?.asArray).map { $0["id"]?.asString ?? "" }
        return (ids, try #require(value["cursor"]?.asString), try #require(value["isLast"]?.asBool as Bool?))
    }

    fileprivate func next(_ cursor: String) throws -> (ids: [String], cursor: String, isLast: Bool) {
        try page("inbox.next", JSONValue.object([.init("cursor", .string(cursor))]).text)
    }
}

@Suite struct EngagementTests {
    @Test(arguments: ["email", "sms", "whatsApp"]) func permissionsAreWhatWasSetLast(name: String) throws {
        let engagement = try fresh()
        let granted = name == "email"
        #expect(try engagement.ask("\(name)Permission.get") == #"{"granted":\#(granted)}"#)
        for value in [true, true, false] {
            let answer = try engagement.ask("\(name)Permission.set", #"{"granted":\#(value),"other":1}"#)
            #expect(answer == #"{"granted":\#(value)}"#)
            #expect(try engagement.ask("\(name)Permission.get") == answer)
        }
    }

    @Test func couponsComeByPagesTheNewestFirst() throws {
        let engagement = try fresh()
        #expect(
            try engagement.ask("coupons.fetch", #"{"max":2}"#)
                == #"{"coupons":[{"id":"c-2","code":"B","title":"b","message":"m","expires":"2026-04-01T00:00:00.000Z","data":{"x":[1]}},{"id":"c-1","code":"A","title":"a","message":"m"}],"page":0,"max":2,"total":3}"#
        )
        #expect(
            try engagement.ask("coupons.fetch", #"{"page":1,"max":2}"#)
                == #"{"coupons":[{"id":"c-0","code":"C","title":"c","message":"m"}],"page":1,"max":2,"total":3}"#
        )
        #expect(
            try engagement.ask("coupons.fetch", #"{"page":1000000000,"max":100}"#)
                == #"{"coupons":[],"page":1000000000,"max":100,"total":3}"#)
    }

    @Test func theInboxComesByPagesTheNewestFirst() throws {
        let engagement = try fresh()
        let first = try engagement.page("inbox.fetch", #"{"pageSize":2}"#)
        #expect(first.ids == ["m-3", "m-2"] && !first.isLast)
        let second = try engagement.next(first.cursor)
        #expect(second.ids == ["m-1"] && second.isLast)
        let cursor = JSONValue.object([.init("cursor", .string(second.cursor))]).text
        #expect(try engagement.error("inbox.next", cursor)?.code == .noMorePages)
        let text = try engagement.ask("inbox.fetch", #"{"pageSize":1}"#)
        #expect(
            text.hasPrefix(
                #"{"items":[{"id":"m-3","category":"news","title":"3","message":"m","status":"unread","time":"2026-03-03T12:00:00.000Z","data":{"k":"v"}}],"cursor":"#
            ))
    }

    @Test func theInboxIsFilteredByStatusAndCategory() throws {
        let engagement = try fresh()
        func ids(_ arguments: String) throws -> [String] { try engagement.page("inbox.fetch", arguments).ids }
        #expect(try ids(#"{"status":"unread"}"#) == ["m-3", "m-1"])
        #expect(try ids(#"{"status":"read"}"#) == ["m-2"])
        #expect(try ids(#"{"status":"both","categories":["ads"]}"#) == ["m-2"])
        #expect(try ids(#"{"categories":["ads","news","none"]}"#) == ["m-3", "m-2", "m-1"])
        let none = try engagement.page("inbox.fetch", #"{"categories":["none"]}"#)
        #expect(none.ids.isEmpty && none.isLast)
        #expect(try engagement.ask("inbox.counts") == #"{"total":3,"read":1,"unread":2}"#)
        #expect(
            try engagement.ask("inbox.counts", #"{"categories":["ads"]}"#)
                == #"{"total":1,"read":1,"unread":0}"#)
        #expect(
            try engagement.ask("inbox.counts", #"{"categories":["none"]}"#)
                == #"{"total":0,"read":0,"unread":0}"#)
    }

    @Test func anEmptyInboxHasOneEmptyPage() throws {
        let engagement = try fresh("{}")
        let page = try engagement.page("inbox.fetch", "{}")
        #expect(page.ids.isEmpty && page.isLast)
        let cursor = JSONValue.object([.init("cursor", .string(page.cursor))]).text
        #expect(try engagement.error("inbox.next", cursor)?.code == .noMorePages)
    }

    @Test func whatArrivesOrChangesMeanwhileRepeatsNothingAndPushesNothingOut() throws {
        func items(_ numbers: ClosedRange<Int>, day: String) -> String {
            let items = numbers.map {
                #"{"id":"i\#($0)","category":"news","title":"","message":"","status":"unread","time":"2026-\#(day)T00:00:00.000Z"}"#
            }
            return #"{"inbox":[\#(items.joined(separator: ","))]}"#
        }
        // All of one time: the order is that of arrival.
        let engagement = try fresh(items(0...9, day: "01-01"))
        var page = try engagement.page("inbox.fetch", #"{"status":"unread","pageSize":3}"#)
        var seen = page.ids
        try Seed(Array(items(10...12, day: "02-02").utf8)).plant(in: engagement.store)
        _ = try engagement.ask("inbox.update", #"{"items":["i9","i8","i5"],"status":"read"}"#)
        while !page.isLast {
            page = try engagement.next(page.cursor)
            seen += page.ids
        }
        #expect(seen == ["i9", "i8", "i7", "i6", "i4", "i3", "i2", "i1", "i0"])
    }

    @Test func updatesAreOfAllOrNone() throws {
        let engagement = try fresh()
        let both = #"{"items":["m-1","m-2","m-1"],"status":"read"}"#
        #expect(try engagement.ask("inbox.update", both) == #"{"updated":1}"#)
        #expect(try engagement.ask("inbox.update", both) == #"{"updated":0}"#)
        let error = try engagement.error("inbox.update", #"{"items":["m-3","gone"],"status":"read"}"#)
        #expect(error == WireError(.unknownItem, #"no item "gone"; nothing was changed"#))
        #expect(try engagement.ask("inbox.counts") == #"{"total":3,"read":2,"unread":1}"#)
    }

    @Test func categoriesAreAnsweredAsTheyStandAfterwards() throws {
        let engagement = try fresh()
        let after =
            #"{"categories":[{"id":"news","name":"News","enabled":false},{"id":"ads","name":"Ads","enabled":false}]}"#
        #expect(
            try engagement.ask("categoryPreferences.set", #"{"category":"news","enabled":false}"#) == after)
        #expect(try engagement.ask("categoryPreferences.get") == after)
        let error = try engagement.error("categoryPreferences.set", #"{"category":"x","enabled":true}"#)
        #expect(error == WireError(.unknownCategory, #"no category "x""#))
    }

    @Test(arguments: [
        ("emailPermission.set", "{}"), ("smsPermission.set", #"{"granted":1}"#),
        ("coupons.fetch", #"{"page":-1}"#), ("coupons.fetch", #"{"max":0}"#),
        ("coupons.fetch", #"{"max":101}"#),
        ("coupons.fetch", #"{"page":1.5}"#), ("coupons.fetch", #"{"page":9223372036854775807}"#),
        ("inbox.fetch", #"{"status":"new"}"#), ("inbox.fetch", #"{"categories":[]}"#),
        ("inbox.fetch", #"{"categories":[1]}"#), ("inbox.fetch", #"{"categories":"news"}"#),
        ("inbox.fetch", #"{"pageSize":0}"#), ("inbox.next", "{}"), ("inbox.next", #"{"cursor":"eyJ"}"#),
        ("inbox.next", #"{"cursor":"1:both:*:10:::0"}"#), ("inbox.counts", #"{"categories":[]}"#),
        ("inbox.update", #"{"items":["m-1"]}"#), ("inbox.update", #"{"items":[],"status":"read"}"#),
        ("inbox.update", #"{"items":["m-1"],"status":"both"}"#), ("inbox.update", #"{"status":"read"}"#),
        ("categoryPreferences.set", #"{"category":"news"}"#),
        ("categoryPreferences.set", #"{"category":"","enabled":true}"#), ("inbox.counts", "[]"),
    ]) func wrongArgumentsAreNamedAndChangeNothing(service: String, arguments: String) throws {
        let engagement = try fresh()
        #expect(try engagement.error(service, arguments)?.code == .invalidArgument)
        #expect(try engagement.ask("inbox.counts") == #"{"total":3,"read":1,"unread":2}"#)
    }

    @Test func aCursorReadsBackAndFitsItsBound() throws {
        var place = InboxPlace(
            filter: .unread, categories: (0..<40).map { Int64.max - Int64($0) }, pageSize: 100)
        place.after = InboxPlace.After(timeMs: -62_167_219_200_000, row: .max)
        #expect(InboxPlace(cursor: place.cursor) == place)
        #expect(place.cursor.utf8.count <= InboxPlace.cursorBytes)
        place.categories = []
        place.isEnd = true
        #expect(InboxPlace(cursor: place.cursor) == place)
        // Not one character can be another.
        for index in place.cursor.indices {
            var bad = place.cursor
            bad.replaceSubrange(index...index, with: place.cursor[index] == "7" ? "8" : "7")
            #expect(InboxPlace(cursor: bad) == nil)
        }
    }

    @Test func whatIsInTheFileOutlivesTheProcessAndTheSeed() throws {
        let path = "/tmp/engagement-test-\(getpid())-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        do {
            let engagement = try fresh(at: path)
            _ = try engagement.ask("emailPermission.set", #"{"granted":false}"#)
            _ = try engagement.ask("inbox.update", #"{"items":["m-3"],"status":"read"}"#)
            _ = try engagement.ask("categoryPreferences.set", #"{"category":"ads","enabled":true}"#)
        }
        let again = try fresh(at: path)
        #expect(try again.ask("emailPermission.get") == #"{"granted":false}"#)
        #expect(try again.ask("inbox.counts") == #"{"total":3,"read":2,"unread":1}"#)
        #expect(try again.ask("categoryPreferences.get").contains(#""id":"ads","name":"Ads","enabled":true"#))
    }

    @Test(arguments: [
        ("[]", "it is no object"), (#"{"coupons":{}}"#, "coupons must be a list"),
        (
            #"{"categories":[{"id":"a","enabled":true,"name":"A"},{"id":"b","name":"B"}]}"#,
            "categories[1].enabled must be true or false"
        ),
        (
            #"{"inbox":[{"id":"a","category":"c","status":"read","title":"t","message":"m","time":"today"}]}"#,
            "inbox[0].time must be a time as 2026-03-01T12:00:00.000Z"
        ),
        (#"{"permissions":{"fax":true}}"#, "permissions.fax: email, sms and whatsApp are true or false"),
    ]) func aWrongSeedIsNamedAndPlantsNothing(text: String, problem: String) throws {
        let engagement = try fresh("{}")
        #expect(throws: SeedError(problem: problem)) {
            try Seed(Array(text.utf8)).plant(in: engagement.store)
        }
        #expect(try engagement.ask("categoryPreferences.get") == #"{"categories":[]}"#)
    }
}
