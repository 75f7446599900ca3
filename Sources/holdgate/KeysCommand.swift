import Access
import Glibc
import HoldgateClient
import HoldgateHost
import Journal
import KeyFiles
import Wire
import ZeroMQ

/// `holdgate keys`: who may do what at a host. It works on the host's files, where they are, and tells a running host.
enum KeysCommand {
    static let spec = CommandSpec(
        name: "keys",
        summary: "whose keys the host lets in, and what they may do; make, list and revoke them",
        detail: """
            Run it where the host runs, as its user or as root: it reads and writes the folder `keys` of the
            state directory. The first key that is made makes the host's own, too; from its next start on the
            host then asks for keys wherever it is reached over TCP. Later changes are taken in by the running
            host at once, which is told over its control endpoint, or by SIGHUP.

            Roles: \(Role.allCases.map(\.rawValue).joined(separator: ", ")); docs/security.md says what each
            may do. observe:PREFIX and produce:PREFIX reach topics and types that begin so, and no others.

            new writes NAME.key, for whoever is to have the name: its secret, and the host's public key. With
            --public-key, --uid or --gid nothing is written but the line that authorises; --uid and --gid are
            for ipc:// paths.

            Where the host asks for keys, it is told of a change by an admin alone: --key FILE. A KEY is given
            in quotes, and after -- if it begins with a hyphen: `keys revoke -- 'KEY'`.
            """,
        flags: [
            .stateDirectory, .hostConfiguration, .control,
        ],
        actions: [
            Action(name: "list", summary: "whose keys are let in", run: list),
            Action(
                name: "new", arguments: "NAME", argumentCount: 1...1, summary: "make a key, or authorise one",
                flags: newFlags, run: new),
            Action(
                name: "revoke", arguments: "NAME|KEY", argumentCount: 1...1,
                summary: "let a name's keys, or one key, in no more", run: revoke),
            Action(name: "host", summary: "the host's own public key", run: host),
        ],
        defaultAction: "list",
        examples: [
            "holdgate keys new consent --roles hold,start,revoke",
            "holdgate keys new shop --roles produce:cart.",
            "holdgate keys new logs --roles observe:state --uid 1001", "holdgate keys",
            "holdgate keys revoke shop",
            "holdgate keys host",
        ],
        exitStatus: "1 as well when revoke has changed the files, and a host runs that could not be told.")

    private static let newFlags = [
        Flag(
            "--roles", "ROLES", "what the name may do, parted by commas",
            values: .some(of: Role.allCases.map(\.rawValue))),
        Flag("--comment", "TEXT", "more to say in the line"),
        Flag("--out", "FILE", "where the new key is written (default: NAME.key)"),
        Flag("--public-key", "KEY", "authorise this key, whose secret is elsewhere"),
        Flag("--uid", "NUMBER", "authorise this user, on paths"),
        Flag("--gid", "NUMBER", "authorise this group, on paths"),
    ]

    private static func places(_ invocation: Invocation) throws -> KeyPlaces {
        KeyPlaces(try invocation.hostConfiguration())
    }

    // MARK: Looking

    private static func list(_ invocation: Invocation) throws -> Int32 {
        let places = try places(invocation)
        return try filing(invocation) { () throws(KeyFileError) in
            let entries = try AuthorizedKeysFile.readIfThere(places.authorized)?.entries ?? []
            if invocation.isJSON {
                Report.json(
                    JSONValue.object([.init("ok", .bool(true)), .init("keys", .array(entries.map(row)))])
                        .text,
                    invocation.console)
            } else if entries.isEmpty {
                invocation.console.out(
                    "no keys at \(places.authorized): the host asks nobody who they are; `holdgate keys new` makes one\n"
                )
            } else {
                let rows = entries.map {
                    [$0.name, $0.permissions.text, $0.identity.description, $0.comment]
                }
                invocation.console.out(Table.columns(["NAME", "ROLES", "KEY", "COMMENT"], rows))
            }
        }
    }

    private static func row(_ entry: AuthorizedKeys.Entry) -> JSONValue {
        .object([
            .init("name", .string(entry.name)), .init("roles", .string(entry.permissions.text)),
            .init("key", .string(entry.identity.description)), .init("comment", .string(entry.comment)),
        ])
    }

    private static func host(_ invocation: Invocation) throws -> Int32 {
        let places = try places(invocation)
        return try filing(invocation) { () throws(KeyFileError) in
            guard let file = try KeyFile.readIfThere(places.host) else {
                throw KeyFileError("there is no \(places.host) yet: the first `holdgate keys new` makes it")
            }
            let key = file.pair.publicKey.z85
            if invocation.isJSON {
                Report.json(
                    JSONValue.object([.init("ok", .bool(true)), .init("hostKey", .string(key))]).text,
                    invocation.console)
            } else {
                invocation.console.out(key + "\n")
            }
        }
    }

    // MARK: Changing

    private static func new(_ invocation: Invocation) throws -> Int32 {
        let text = invocation.arguments[0]
        let name: String
        let permissions: Permissions
        do throws(AccessError) {
            name = try AuthorizedKeys.name(text)
            guard let roles = invocation.values["--roles"] else {
                throw AccessError("keys new needs --roles: what \(text) may do")
            }
            permissions = try Permissions(text: roles)
        } catch {
            throw UsageError("\(error)")
        }
        let comment = invocation.values["--comment"] ?? ""
        guard !comment.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw UsageError("--comment is one line of text")
        }
        let given = try givenIdentity(invocation)
        let places = try places(invocation)
        let out = invocation.values["--out"] ?? "\(name).key"
        var fact: [JSONValue.Member] = []
        let status = try filing(invocation) { () throws(KeyFileError) in
            let hostKey = try KeyFile.readOrCreate(places.host, name: "host").pair.publicKey
            let pair = CurveKeyPair.random()
            let identity = given ?? .key(pair.publicKey.z85)
            let entry = AuthorizedKeys.Entry(
                name: name, permissions: permissions, identity: identity, comment: comment)
            // A name that does not fit leaves no key behind; a key that can't be written, no line.
            try AuthorizedKeysFile.check([entry], for: places.authorized)
            if given == nil {
                try KeyFile(name: name, pair: pair, hostKey: hostKey).write(out)
                fact.append(.init("file", .string(out)))
            }
            try AuthorizedKeysFile.add([entry], to: places.authorized)
            fact += [
                .init("name", .string(name)), .init("roles", .string(permissions.text)),
                .init("key", .string(identity.description)), .init("hostKey", .string(hostKey.z85)),
            ]
        }
        guard status == 0 else { return status }
        let what =
            given == nil
            ? "\(out) holds the key of \(name), and is authorised: \(permissions.text)"
            : "\(name) is authorised: \(permissions.text)"
        return try tell(invocation, what, fact)
    }

    /// Nil: a new key.
    private static func givenIdentity(_ invocation: Invocation) throws -> AuthorizedKeys.Identity? {
        var given: [AuthorizedKeys.Identity] = []
        if let key = invocation.values["--public-key"] {
            guard let key = CurvePublicKey(z85: key) else {
                throw UsageError("--public-key \(key): not 40 characters of Z85")
            }
            given.append(.key(key.z85))
        }
        for (flag, make) in [("--uid", AuthorizedKeys.Identity.uid), ("--gid", AuthorizedKeys.Identity.gid)] {
            guard let text = invocation.values[flag] else { continue }
            guard let number = UInt32(text) else { throw UsageError("\(flag) \(text): not a number") }
            given.append(make(number))
        }
        guard given.count <= 1 else { throw UsageError("one of --public-key, --uid and --gid at a time") }
        guard given.isEmpty || invocation.values["--out"] == nil else {
            throw UsageError("--out is for a new key; nothing is written for one that is elsewhere")
        }
        return given.first
    }

    private static func revoke(_ invocation: Invocation) throws -> Int32 {
        let which = invocation.arguments[0]
        let places = try places(invocation)
        var removed: [AuthorizedKeys.Entry] = []
        let status = try filing(invocation) { () throws(KeyFileError) in
            guard try AuthorizedKeysFile.readIfThere(places.authorized) != nil else {
                throw KeyFileError(
                    "no keys are authorised at \(places.authorized): `holdgate keys new` makes the first")
            }
            removed = try AuthorizedKeysFile.remove(from: places.authorized) {
                $0.name == which || $0.identity.description == which
            }
            guard !removed.isEmpty else {
                throw KeyFileError("neither a name nor a key at \(places.authorized): \(which)")
            }
        }
        guard status == 0 else { return status }
        let what =
            removed.count == 1
            ? "a key of \(removed[0].name) is revoked" : "\(removed.count) keys are revoked"
        return try tell(invocation, what, mustBeHeard: true, [.init("revoked", .array(removed.map(row)))])
    }

    // MARK: Telling

    /// What the files say goes wrong is this command's failure.
    private static func filing(
        _ invocation: Invocation, _ body: () throws(KeyFileError) -> Void
    ) throws -> Int32 {
        do throws(KeyFileError) {
            try body()
            return 0
        } catch {
            if invocation.isJSON {
                let fault = JSONValue.object([
                    .init("code", .string("invalidArgument")), .init("message", .string("\(error)")),
                ])
                Report.json(
                    JSONValue.object([.init("ok", .bool(false)), .init("error", fault)]).text,
                    invocation.console)
            } else {
                invocation.console.err("holdgate: \(error)\n")
            }
            return 1
        }
    }

    /// The files are changed; tells the host, and says whether it has heard.
    ///
    /// - Parameter mustBeHeard: it is a failure that a running host goes on as before.
    private static func tell(
        _ invocation: Invocation, _ what: String, mustBeHeard: Bool = false, _ facts: [JSONValue.Member]
    ) throws -> Int32 {
        let (isTaken, isUntold, how) = try takeIn(invocation)
        if invocation.isJSON {
            let members =
                [.init("ok", .bool(!(isUntold && mustBeHeard)))] + facts + [
                    JSONValue.Member("taken", .bool(isTaken))
                ]
            Report.json(JSONValue.object(members).text, invocation.console)
        } else {
            invocation.console.out("\(what)\n\(how)\n")
        }
        return isUntold && mustBeHeard ? 1 : 0
    }

    private static func takeIn(
        _ invocation: Invocation
    ) throws -> (isTaken: Bool, isUntold: Bool, how: String) {
        guard try StateDirectory.seemsInUse(invocation.hostConfiguration().stateDir) else {
            return (false, false, "no host runs here: it holds from the next start")
        }
        let holdgate = try invocation.holdgate()
        do throws(HoldgateError) {
            let answer = try holdgate.performBlocking(.raw(ControlRequest(.reload)))
            guard answer.value["keys"]?.asUInt64 != nil else {
                return (
                    false, false, "the running host asks nobody for keys yet: it will from its next start"
                )
            }
            return (true, false, "the running host has taken it in")
        } catch {
            return (
                false, true,
                "the running host was not told (\(error.message)): send it SIGHUP, or give an admin's key with --key"
            )
        }
    }
}
