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
        guard shown.state != .killed, gate != .dead else {
            return refuse(request, requester, Self.notOperating(.killed), into: &effects)
        }
        let report = AppReport(
            app: app, isForeground: phase == .foreground, wallMs: now.wallMs, gated: !gate.admits)
        let ticket = persist(.entry(.app(report)), into: &effects)
        awaiting.append(ticket, .report(report, requester, id: request.id))
    }

    /// The report is on disk.
    mutating func reportWritten(
        _ report: AppReport, _ requester: Requester, _ id: String?, into effects: inout [Effect]
    ) {
        apps.take(report)
        let isTold = !report.gated && gate.admits
        if isTold { tell(report, into: &effects) }
        let members = [JSONValue.Member("published", .bool(isTold))]
        effects.append(.reply(requester, ControlReply(id: id, status: status, members: members)))
    }

    /// An opening is in force: a full restart tells where each known app is; a cancelled hold what was reported
    /// meanwhile.
    mutating func tellApps(fullRestart: Bool, into effects: inout [Effect]) {
        for report in apps.reports where fullRestart || report.gated { tell(report, into: &effects) }
        apps.settle()
    }

    private mutating func tell(_ report: AppReport, into effects: inout [Effect]) {
        let body = AppBody(
            app: report.app, phase: report.isForeground ? .foreground : .background, wallMs: report.wallMs)
        publish(.app(body), into: &effects)
        for peer in attachments.keys.sorted() { effects.append(.send(peer, .app(body))) }
    }
}
