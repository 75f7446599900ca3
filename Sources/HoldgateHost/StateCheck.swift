import Engine
import Glibc
import Journal
import Ledger
import Lifecycle
import Platform
import Wire

/// What a state directory holds that no host uses, and whether a host would start from it. Nothing in it is changed.
///
/// What is wrong is said in the words in which the host refuses to start.
public struct StateCheck {
    /// Something that a host would not start from.
    public struct Problem: Hashable, Sendable {
        /// Its name in the directory; nil where it isn't one file.
        public let file: String?
        public let text: String
        /// Whether it is the journal's or the history's, which `--restored` may be for.
        public let isDamage: Bool
    }

    public let path: String
    public let origin: StateDirectory.Origin
    /// Nil: there is none, or it can't be read.
    public private(set) var journal: Inspection.Journal?
    public private(set) var history: Inspection.History?
    public private(set) var recovered = RecoveredHistory()
    public private(set) var deadLetters: (count: Int, tornBytes: UInt64)?
    /// An object.
    public private(set) var configuration: JSONValue?
    /// How many lines authorise; nil where nobody is asked for keys.
    public private(set) var authorized: Int?
    /// Of the folder `keys`, if it is there.
    public private(set) var keysMode: UInt32?
    public private(set) var problems: [Problem] = []

    /// Nothing was ever written here.
    public var isEmpty: Bool { origin == .new }
    public var isSound: Bool { problems.isEmpty }

    /// Events that wait for somebody, or for the gate.
    public var queuedEvents: UInt64 {
        guard let ledger = journal?.ledger, !recovered.mustPurge else { return 0 }
        let done = min(ledger.doneThrough, recovered.releasedThrough(lastAccepted: ledger.lastSeq))
        return behind(done, ledger)
    }

    /// How far each durable collector is, by name, and the events that it has not seen.
    public var collectors: [(name: String, cursor: JournalSeq, lagEvents: UInt64)] {
        guard let ledger = journal?.ledger else { return [] }
        return ledger.cursors.sorted { $0.key < $1.key }.map { ($0.key, $0.value, behind($0.value, ledger)) }
    }

    /// - Throws: `StateDirectoryError.locked` while a host has it, and what else keeps it from being looked at.
    public init(_ configuration: Configuration) throws {
        path = configuration.stateDir
        let directory = try StateDirectory.inspect(path)
        origin = try directory.origin()
        let storage = try PosixStorage(directory: path, isReadOnly: true)
        if origin != .new { read(storage, configuration.engine.rememberedReplies) }
        checkKeys(configuration)
        guard directory.isStillUnused else {
            throw StartError("a host has begun to use \(path) meanwhile: stop it, and check again")
        }
    }

    // MARK: The state

    private mutating func read(_ storage: any Storage, _ rememberedReplies: Int) {
        var isJournalRead = false
        attempt { (check) throws(JournalError) in
            check.journal = try Inspection.journal(storage)
            isJournalRead = true
        }
        let head = journal?.ledger.head
        attempt { (check) throws(JournalError) in
            var recovered = RecoveredHistory()
            let history = try Inspection.history(
                storage, answered: isJournalRead ? head?.n ?? 0 : nil
            ) { (record) throws(FormatFault) in try recovered.apply(record) }
            check.recovered = recovered
            try history.verify(journalHead: head)
            check.history = history
            do throws(WireError) {
                _ = try RememberedReplies(recovered.replies, limit: rememberedReplies)
            } catch {
                throw .damaged(file: "the history", what: "a remembered reply can't be read: \(error)")
            }
        }
        if isJournalRead, journal == nil, recovered.through > .zero {
            report(
                .damaged(
                    file: "the journal",
                    what: "there is none, and the history knows of events up to \(recovered.through)"))
        }
        // Of a killed launch the host purges the rest, whatever it is.
        guard !recovered.mustPurge else { return }
        attempt { (check) throws(JournalError) in try check.journal?.verifyEvents() }
        let producers = journal?.ledger.producers ?? ProducerTable(limit: 1)
        attempt { (check) throws(JournalError) in
            check.deadLetters = try Inspection.deadLetters(storage, producers: producers)
        }
        attempt { (check) throws(JournalError) in
            check.configuration = try Inspection.configuration(storage) ?? .object([])
        }
    }

    private mutating func attempt(_ body: (inout StateCheck) throws(JournalError) -> Void) {
        do throws(JournalError) { try body(&self) } catch { report(error) }
    }

    private mutating func report(_ error: JournalError) {
        switch error {
        case .damaged(let file, _):
            problems.append(Problem(file: file, text: "\(error)", isDamage: true))
        case .unknownVersion(let file, _):
            problems.append(Problem(file: file, text: "\(error)", isDamage: false))
        case .full, .syncFailed, .storage:
            problems.append(Problem(file: nil, text: "\(error)", isDamage: false))
        }
    }

    private func behind(_ cursor: JournalSeq, _ ledger: Ledger) -> UInt64 {
        let dropped = ledger.discarded.reduce(UInt64(0)) { count, range in
            count + range.last.raw - min(range.last.raw, max(range.first.raw - 1, cursor.raw))
        }
        return ledger.lastSeq.raw - min(ledger.lastSeq.raw, cursor.raw + dropped)
    }

    // MARK: Keys

    private mutating func checkKeys(_ configuration: Configuration) {
        var status = stat()
        if stat(path + "/" + StateDirectory.keysName, &status) == 0 { keysMode = status.st_mode & 0o7777 }
        do throws(StartError) {
            authorized = try AccessControl.read(configuration).keys?.authorized.entries.count
        } catch {
            problems.append(Problem(file: nil, text: error.message, isDamage: false))
        }
    }
}

extension StartError {
    /// What to do about a damaged state.
    public static let damageAdvice = """
        Put back the state as it was, or accept it as it is with `serve --restored`: that begins a new launch,
        held, with what can be read.
        """
}
