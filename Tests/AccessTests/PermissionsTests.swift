import Access
import Testing

@Suite struct PermissionsTests {
    @Test func rolesAreReadAndWrittenAlike() throws {
        for text in [
            "hold", "observe,produce", "observe:event.cart.,observe:state,hold,start", "produce:a,admin",
        ] {
            #expect(try Permissions(text: text).text == text)
        }
        #expect(try Permissions(text: "start,hold").text == "hold,start")
        #expect(try Permissions(text: "observe:state,observe").text == "observe", "all is more than some")
        #expect(try Permissions(text: "observe,observe:state").text == "observe")
        #expect(Permissions.all.text == "observe,produce,collect,serve,hold,start,revoke,admin")
        #expect(Permissions.none.text == "")
    }

    @Test(arguments: [
        (
            "",
            "there is no role without a name; the roles are observe, produce, collect, serve, hold, start, revoke, admin"
        ),
        (
            "hold,,start",
            "there is no role without a name; the roles are observe, produce, collect, serve, hold, start, revoke, admin"
        ),
        (
            "Hold",
            "there is no role Hold; the roles are observe, produce, collect, serve, hold, start, revoke, admin"
        ),
        ("hold:now", "hold takes no prefix; observe (of topics) and produce (of types) do"),
        ("produce:", "the prefix after produce: is empty; leave the colon out for all"),
    ])
    func whatIsNoRoleIsNamed(text: String, complaint: String) {
        let error = #expect(throws: AccessError.self) { try Permissions(text: text) }
        #expect(error?.description == complaint)
    }

    @Test func aPrefixReachesWhatBeginsWithIt() throws {
        let some = try Permissions(text: "observe:event.cart.,observe:state,produce")
        #expect(some.reaches(.observe, "event.cart.add"))
        #expect(some.reaches(.observe, "event.cart."))
        // A subscription to less text hears more.
        for wider in ["", "e", "event.", "event.cart", "stat"] {
            #expect(!some.reaches(.observe, wider), "\(wider)")
        }
        #expect(some.reaches(.produce, "") && some.reaches(.produce, "anything"))
        #expect(!some.reaches(.collect, "anything"))
    }

    /// Bytes count, as in a subscription: letters that merely look alike are others.
    @Test func prefixesAreBytes() throws {
        let composed = try Permissions(text: "observe:event.\u{e9}")
        #expect(composed.reaches(.observe, "event.\u{e9}t\u{e9}"))
        #expect(!composed.reaches(.observe, "event.e\u{301}t\u{e9}"))
    }

    @Test func aCallerOwnsItsNameAndWhatGoesOnAfterASlash() {
        let shop = Caller(name: "shop", permissions: .none)
        for name in ["shop", "shop/", "shop/web-1", "shop/a/b"] { #expect(shop.owns(name), "\(name)") }
        for name in ["", "sho", "shop2", "shop.web", "Shop", "web/shop", "shop\u{301}/a"] {
            #expect(!shop.owns(name), "\(name)")
        }
        #expect(Caller.anybody.owns("shop"))
    }
}
