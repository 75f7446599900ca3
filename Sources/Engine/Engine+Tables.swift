import Lifecycle
import Wire

// What `state` and `plugins` answer; `stats` is in `Engine+Statistics`.
extension Engine {
    func stateMembers(now: Now) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("since", .string(Timestamp.text(ms: shown.sinceWallMs))),
            .init("pending", .uint(pending)),
            .init("gated", .uint(gatedEvents)),
            .init("queuedBytes", .uint(queuedBytes)),
            .init("initializedWith", .string(shown.initializedWith.rawValue)),
            .init("access", .string(configuration.access.rawValue)),
        ]
        if let drain, shown.state == .holdRequested {
            var object: [JSONValue.Member] = [
                .init("total", .uint(drain.total)), .init("remaining", .uint(pending)),
            ]
            if let deadline = drain.deadlineMs {
                let wall = now.wallMs + max(0, deadline - now.monotonicMs)
                object.append(.init("deadline", .string(Timestamp.text(ms: wall))))
            }
            members.append(.init("drain", .object(object)))
        }
        if let lease = shown.lease, let deadline = leaseDeadlineMs {
            members.append(
                .init(
                    "lease",
                    .object([
                        .init("leaseMs", .int(lease.durationMs)),
                        .init("remainingMs", .int(max(0, deadline - now.monotonicMs))),
                    ])))
        }
        return members
    }

    func pluginRows(now: Now) -> JSONValue {
        let byName = Dictionary(attachments.values.map { ($0.name, $0) }) { first, _ in first }
        let names = Set(byName.keys).union(durable.keys).union(supervised.keys).sorted()
        return .array(names.map { .object(pluginRow($0, byName[$0], now: now)) })
    }

    private func pluginRow(_ name: String, _ attachment: Attachment?, now: Now) -> [JSONValue.Member] {
        var row: [JSONValue.Member] = [.init("name", .string(name))]
        if let attachment {
            row.append(.init("version", .string(attachment.version)))
            row.append(.init("roles", .array(attachment.roles.map { .string($0) })))
            row.append(.init("since", .string(Timestamp.text(ms: attachment.sinceWallMs))))
            row.append(.init("state", .string(attachment.isSilent ? "silent" : "attached")))
            if !attachment.services.isEmpty {
                row.append(.init("services", .array(attachment.services.sorted().map { .string($0) })))
                row.append(.init("requests", .int(Int64(requests.load[attachment.peer, default: 0]))))
            }
        } else {
            if let version = supervised[name]?.version { row.append(.init("version", .string(version))) }
            row.append(.init("roles", .array(durable[name] == nil ? [] : [.string("collect")])))
            row.append(.init("state", .string("detached")))
        }
        row.append(.init("supervised", .bool(supervised[name] != nil)))
        row += supervised[name]?.members ?? []
        let window = attachment?.window
        if window != nil || durable[name] != nil {
            row.append(.init("durable", .bool(durable[name] != nil)))
        }
        if let cursor = durable[name]?.cursor ?? window?.sentThrough {
            row.append(.init("cursor", .uint(cursor.raw)))
            row.append(.init("lagEvents", .uint(remaining(after: cursor, through: committed))))
            row.append(.init("lagBytes", .uint(meter.bytes(after: cursor))))
            let oldest = meter.oldestMs(after: cursor)
            row.append(.init("lagMs", .int(oldest.map { max(0, now.wallMs - $0) } ?? 0)))
        }
        if let window {
            row.append(
                .init(
                    "window",
                    .object([
                        .init("bytes", .int(Int64(window.limitBytes))),
                        .init("inFlightBytes", .int(Int64(window.bytesInFlight))),
                        .init("inFlightMessages", .int(Int64(window.deliveries.count))),
                        .init("skipped", .uint(window.skipped)),
                    ])))
        }
        return row
    }
}
