import HoldgateClient

/// Which apps are in the foreground since when, and what is to be told of it.
///
/// An app's session lasts from its coming to the foreground until it leaves it. Nothing is told while the gate is
/// closed. A hold ends the sessions that are open, at the moment when it closed the gate; that is told once the gate
/// is open again, and what is true then begins anew. A hold that is cancelled ends nothing.
struct SessionCore: Hashable, Sendable {
    private struct Session: Hashable {
        let id: String
        let app: String
        let startMs: Int64
    }

    private struct Told: Hashable {
        let app: String
        let phase: AppPhase
    }

    /// Since when open sessions can't be followed any more.
    private struct Closing: Hashable {
        let wallMs: Int64
        let cause: SessionEvent.EndedBy
    }

    private struct Place: Hashable {
        let launch: LaunchID
        let seq: TransitionSeq
    }

    /// As many apps as the host remembers; the one that was heard of least recently is let go.
    static let appLimit = 1024

    private let prefix: String
    private var count: UInt64 = 0
    /// Oldest first.
    private var sessions: [Session] = []
    /// What was told last, least recently told first.
    private var phases: [Told] = []
    private var closing: Closing?
    private var isOpen = false
    /// Nothing from before is told: the gate was closed then.
    private var openedMs = Int64.min
    private var place: Place?

    /// - Parameter prefix: of this process's ids alone.
    init(prefix: String) { self.prefix = prefix }

    /// The host knows the plugin, perhaps again.
    mutating func attached(_ status: HostStatus, into events: inout [SessionEvent]) {
        let before = place
        place = Place(launch: status.launch, seq: status.seq)
        isOpen = status.state == .operating
        if status.state == .killed || before?.launch != status.launch {
            // After a kill nothing of what was is told; whether there was one can't be seen from here.
            forget()
        } else if before == place {
            // The connection was away, the gate was not moved.
            if isOpen { closing = nil }
        } else if isOpen {
            endSessions(into: &events)
        }
    }

    /// The connection is gone.
    mutating func detached(wallMs: Int64) { close(wallMs: wallMs, .lost) }

    mutating func heard(
        _ body: StateBody, seq: TransitionSeq, launch: LaunchID, into events: inout [SessionEvent]
    ) {
        place = Place(launch: launch, seq: seq)
        isOpen = body.state == .operating
        switch body.state {
        case .holdRequested, .onHold: close(wallMs: body.wallMs, .hold)
        case .killed: forget()
        case .operating:
            if body.previous == .holdRequested {
                closing = nil
            } else {
                endSessions(into: &events)
                openedMs = body.wallMs
            }
        }
    }

    mutating func heard(_ report: AppBody, into events: inout [SessionEvent]) {
        guard isOpen else { return }
        let wallMs = max(report.wallMs, openedMs)
        let known = phases.firstIndex { $0.app == report.app }
        if let known, phases[known].phase == report.phase { return }
        if let known { phases.remove(at: known) }
        if phases.count == Self.appLimit {
            end(phases.removeFirst().app, wallMs: wallMs, .lost, into: &events)
        }
        phases.append(Told(app: report.app, phase: report.phase))
        switch report.phase {
        case .foreground:
            tell(.foreground, report.app, wallMs, into: &events)
            let session = Session(id: "\(prefix)-s\(count)", app: report.app, startMs: wallMs)
            sessions.append(session)
            tell(.start(session: session.id), report.app, wallMs, into: &events)
        case .background:
            tell(.background, report.app, wallMs, into: &events)
            end(report.app, wallMs: wallMs, .background, into: &events)
        }
    }

    /// The process ends.
    mutating func stop(wallMs: Int64, into events: inout [SessionEvent]) {
        close(wallMs: wallMs, .lost)
        if isOpen { endSessions(into: &events) }
    }

    private mutating func close(wallMs: Int64, _ cause: SessionEvent.EndedBy) {
        if closing == nil { closing = Closing(wallMs: wallMs, cause: cause) }
    }

    /// What was open when the gate closed ended then; what is true now is told anew.
    private mutating func endSessions(into events: inout [SessionEvent]) {
        if let closing {
            for session in sessions { end(session.app, wallMs: closing.wallMs, closing.cause, into: &events) }
        }
        forget()
    }

    private mutating func end(
        _ app: String, wallMs: Int64, _ cause: SessionEvent.EndedBy, into events: inout [SessionEvent]
    ) {
        guard let index = sessions.firstIndex(where: { $0.app == app }) else { return }
        let session = sessions.remove(at: index)
        // A clock that was set back makes no time negative.
        let durationMs = max(0, wallMs - session.startMs)
        tell(.stop(session: session.id, durationMs: durationMs, cause), app, wallMs, into: &events)
    }

    private mutating func forget() {
        sessions = []
        phases = []
        closing = nil
        openedMs = .min
    }

    private mutating func tell(
        _ kind: SessionEvent.Kind, _ app: String, _ wallMs: Int64, into events: inout [SessionEvent]
    ) {
        count += 1
        events.append(SessionEvent(kind: kind, app: app, wallMs: wallMs, id: "\(prefix)-\(count)"))
    }
}
