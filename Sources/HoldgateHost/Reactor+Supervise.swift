import Engine
import Wire

// Plugins that the host started itself. The supervisor's thread does it; whoever asked waits here.
extension Reactor {
    /// Commands that may wait for the supervisor.
    static let maxSupervised = 1024

    /// Starts, stops or restarts a plugin; answered once that is so.
    func supervise(_ name: String, _ action: PluginAction, _ requester: Requester, _ reply: ControlReply) {
        var reply = reply
        guard let supervisor else {
            reply.error = WireError(
                .invalidArgument,
                "the host started no plugin \(name): only those it started can be told to \(action.rawValue)")
            return effects.append(.reply(requester, reply))
        }
        guard supervised.count < Self.maxSupervised else {
            reply.error = WireError(
                .overloaded, "too many commands wait for plugins to start or stop", retryable: true)
            return effects.append(.reply(requester, reply))
        }
        lastSupervised += 1
        supervised[lastSupervised] = (requester, reply)
        supervisor.order(.command(id: lastSupervised, name: name, action))
    }

    func take(_ note: SupervisionNote) {
        switch note {
        case .table(let plugins): engine.supervise(plugins)
        case .report(let name, let change, let reason):
            engine.reportSupervised(name, change, reason: reason, into: &effects)
        case .answer(let id, let error):
            // At a stop all were answered already.
            guard let (requester, waiting) = supervised.removeValue(forKey: id) else { return }
            var reply = waiting
            reply.status = engine.status
            reply.error = error
            effects.append(.reply(requester, reply))
        }
    }

    /// The host stops: the plugins too, and nobody is left waiting.
    func stopSupervising() {
        supervisor?.order(.shutDown)
        for (_, waiting) in supervised.sorted(by: { $0.key < $1.key }) {
            var reply = waiting.reply
            reply.error = WireError(.shuttingDown, "the host is stopping", retryable: true)
            effects.append(.reply(waiting.requester, reply))
        }
        supervised = [:]
    }
}
