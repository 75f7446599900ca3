import Lifecycle
import Testing

@testable import Engine

@Suite struct CommandQueueTests {
    private func command(_ intent: Intent, _ number: Int) -> DeferredCommand {
        DeferredCommand(
            intent: intent, request: nil, requester: nil, readAfter: JournalSeq(UInt64(number)),
            readAt: Now(monotonicMs: Int64(number), wallMs: 0))
    }

    /// Against an array, through every way in and out, and past the length at which it makes itself short again.
    @Test func itIsAnArrayThatIsTakenFromInFront() {
        let intents: [Intent] = [
            .start(leaseMs: nil), .hold(.holdOperation, waitMs: nil, policy: nil), .kill, .noOp, .drained,
        ]
        var random = SystemRandomNumberGenerator()
        var queue = CommandQueue()
        var model: [DeferredCommand] = []
        for number in 0..<20_000 {
            // It grows to some thousands, and is emptied again.
            let isGrowing = number % 8000 < 4000
            switch Int.random(in: 0..<100, using: &random) {
            case 0:
                let one = command(intents.randomElement(using: &random)!, number)
                queue.prepend(one)
                model.insert(one, at: 0)
            case 1..<(isGrowing ? 90 : 20):
                let one = command(intents.randomElement(using: &random)!, number)
                queue.append(one)
                model.append(one)
            default:
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
            #expect(queue.firstClosing == model.first(where: \.intent.closes))
            #expect(queue.hasKill == model.contains { $0.intent == .kill })
            if number % 500 == 0 {
                #expect(Array(queue.all) == model)
                #expect(queue == CommandQueue(model) && queue.hashValue == CommandQueue(model).hashValue)
            }
        }
    }
}
