import Ledger
import Lifecycle
import Wire

// App lifecycle reports: told at once while operating, remembered while held, and told anew by a full restart.
extension Engine {
    mutating func takeReport(
        _ request: ControlRequest, _ requester: Requester, now: Now, into effects: inout [Effect]
    ) {
        guard case .appLifecycle(let app, let phase) = request.command else {
            preconditionFailure("no report")
        }
        if isStopping { return refuse(request, requester, Self.stoppingError, into: &effects) }
        guard shown.state != .killed else {
            return refuse(request, requester, Self.notOperating(.killed), into: &effects)
        }
        let report = AppReport(
            app: app, isForeground: phase == .foreground, wallMs: now.wallMs, gated: !gate.admits)
        guard gate == .dead else { return write(report, requester, request.id, into: &effects) }
        if unwritten != nil { return refuse(request, requester, Self.closedInMemory, into: &effects) }
        guard undecidedReports.count < Self.undecidedLimit else {
            let error = WireError(.overloaded, "too many reports wait for the disk", retryable: true)
            return refuse(request, requester, error, into: &effects)
        }
        undecidedReports.append(UndecidedReport(report: report, requester: requester, id: request.id))
    }

    private mutating func write(
        _ report: AppReport, _ requester: Requester, _ id: String?, into effects: inout [Effect]
    ) {
        let ticket = persist(.entry(.app(report)), into: &effects)
        awaiting.append(ticket, .report(report, requester, id: id))
    }

    /// The report is on disk. One that was read while the gate was open is told, like an event, even if a closing was
    /// read since: that one is not on disk yet.
    mutating func reportWritten(
        _ report: AppReport, _ requester: Requester, _ id: String?, into effects: inout [Effect]
    ) {
        let isTold = gate.admits || (!report.gated && gate != .dead)
        apps.take(
            AppReport(
                app: report.app, isForeground: report.isForeground, wallMs: report.wallMs, gated: !isTold))
        if isTold { tell(report, into: &effects) }
        let members = [JSONValue.Member("published", .bool(isTold))]
        effects.append(.reply(requester, ControlReply(id: id, status: status, members: members)))
    }

    /// A kill that was read is on disk, or has come to nothing.
    mutating func settleReports(into effects: inout [Effect]) {
        guard gate != .dead else { return }
        let waiting = undecidedReports
        undecidedReports = []
        for each in waiting { write(each.report, each.requester, each.id, into: &effects) }
    }

    mutating func refuseReports(_ error: WireError, into effects: inout [Effect]) {
        let waiting = undecidedReports
        undecidedReports = []
        for each in waiting {
            effects.append(.reply(each.requester, ControlReply(id: each.id, status: status, error: error)))
        }
    }

    /// The gate is open: a full restart tells where each known app is; a cancelled hold, or a closing that came to
    /// nothing, what was reported meanwhile.
    mutating func tellApps(into effects: inout [Effect]) {
        guard gate.admits else { return }
        for report in apps.reports where owesAllApps || report.gated { tell(report, into: &effects) }
        owesAllApps = false
        apps.settle()
    }

    private mutating func tell(_ report: AppReport, into effects: inout [Effect]) {
        let body = AppBody(
            app: report.app, phase: report.isForeground ? .foreground : .background, wallMs: report.wallMs)
        publish(.app(body), into: &effects)
        for peer in attachments.keys.sorted() { effects.append(.send(peer, .app(body))) }
        // After a crash it is not told again. Nobody waits for it.
        if report.gated { _ = persist(.entry(.app(report.told)), into: &effects) }
    }
}
