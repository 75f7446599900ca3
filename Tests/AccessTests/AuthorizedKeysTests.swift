import Access
import Testing

@Suite struct AuthorizedKeysTests {
    static let one = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
    static let two = "3ACR!aZg8mmluuCowZ@=6uUX{tU.hb.8=M^Xd)b5"
    static let other = "X2<)o.%dGt+qe^=FYc6#)?G>t%9I+#7+3EEu/1HP"

    @Test func aFileIsReadLineByLine() throws {
        let keys = try AuthorizedKeys(
            text: """
                # whose keys are let in
                consent hold,start,revoke \(Self.one) the consent service, of  the legal team

                \tshop\tproduce:cart.\t\(Self.two)\r
                logs observe:state uid:1001
                logs observe:state gid:27 adm
                """)
        #expect(keys.entries.map(\.name) == ["consent", "shop", "logs", "logs"])
        #expect(keys.entries.map(\.comment) == ["the consent service, of  the legal team", "", "", "adm"])
        #expect(keys.name(of: .key(Self.one)) == "consent" && keys.name(of: .key(Self.two)) == "shop")
        #expect(keys.name(of: .uid(1001)) == "logs" && keys.name(of: .gid(27)) == "logs")
        #expect(keys.name(of: .uid(27)) == nil && keys.name(of: .gid(1001)) == nil)
        #expect(keys.permissions(of: "consent") == Permissions(.hold, .start, .revoke))
        #expect(keys.permissions(of: "nobody") == nil)
        #expect(try AuthorizedKeys(text: keys.entries.map(\.line).joined(separator: "\n")) == keys)
        #expect(try AuthorizedKeys(text: "").entries == [])
    }

    @Test(arguments: [
        ("shop", "line 2: a line is NAME ROLES KEY and a comment; this one ends after shop"),
        ("shop produce", "line 2: a line is NAME ROLES KEY and a comment; this one ends after produce"),
        (
            "shop produce KEY",
            "line 2: KEY is neither a public key (40 characters of Z85) nor uid:NUMBER or gid:NUMBER"
        ),
        (
            "shop produce uid:-1",
            "line 2: uid:-1 is neither a public key (40 characters of Z85) nor uid:NUMBER or gid:NUMBER"
        ),
        (
            "shop produce \(String(repeating: "#", count: 40))",
            "line 2: \(String(repeating: "#", count: 40)) is neither a public key (40 characters of Z85) nor uid:NUMBER or gid:NUMBER"
        ),
        (
            "@own admin uid:0",
            "line 2: @own is no name: 1 to 128 letters, digits, dots, underscores and hyphens are"
        ),
        (
            "a/b admin uid:0",
            "line 2: a/b is no name: 1 to 128 letters, digits, dots, underscores and hyphens are"
        ),
        (
            "shop sell uid:0",
            "line 2: there is no role sell; the roles are observe, produce, collect, serve, hold, start, revoke, admin"
        ),
        ("other produce \(one)", "line 2: \(one) stands for first already"),
        (
            "first admin \(two)",
            "line 2: first has the roles hold with another key; a name has the same with each"
        ),
    ])
    func aBadLineIsNamed(line: String, complaint: String) {
        let error = #expect(throws: AccessError.self) {
            try AuthorizedKeys(text: "first hold \(Self.one)\n\(line)\nlast hold uid:3")
        }
        #expect(error?.description == complaint)
    }

    /// So that what is in the file can be said of a live connection: only what adds leaves it alone.
    @Test func whatTakesAwayIsToldFromWhatAdds() throws {
        let before = try AuthorizedKeys(text: "a hold \(Self.one)\nb produce uid:1")
        func takesAway(_ text: String) throws -> Bool {
            before.takesAway(whenReplacedBy: try AuthorizedKeys(text: text))
        }
        #expect(try !takesAway("b produce uid:1\n# moved\na hold \(Self.one) with a comment"))
        let more = "a hold \(Self.two)\nc admin \(Self.other)"
        #expect(try !takesAway("a hold \(Self.one)\nb produce uid:1\n\(more)"))
        #expect(
            try takesAway("a hold \(Self.one)\nb produce uid:1\nc hold uid:2"),
            "a user may be in by its group, or as the host's own")
        #expect(try takesAway("a hold \(Self.one)\nb produce uid:1\nc hold gid:2"))
        #expect(try takesAway("b produce uid:1"), "a key is gone")
        #expect(try takesAway("a hold \(Self.two)\nb produce uid:1"), "a key was replaced")
        #expect(try takesAway("c hold \(Self.one)\nb produce uid:1"), "a key stands for another name")
        #expect(try takesAway("a hold \(Self.one)\nb produce:x uid:1"), "a role reaches less")
        #expect(try takesAway("a hold,start \(Self.one)\nb produce uid:1"), "what a name may do is said anew")
    }
}
