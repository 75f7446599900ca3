import Engine
import Wire

// Plugins that the host started itself.
extension Reactor {
    /// Starts, stops or restarts a plugin, and answers.
    func supervise(_ name: String, _ action: PluginAction, _ requester: Requester, _ reply: ControlReply) {
        var reply = reply
        reply.error = WireError(
            .invalidArgument,
            "the host started no plugin \(name): only those it started can be told to \(action.rawValue)")
        effects.append(.reply(requester, reply))
    }
}
