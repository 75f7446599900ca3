import HoldgateClient

/// `requeue`, and `dead-letters requeue`: in as many commands as the protocol's limit asks for.
enum RequeueCommand {
    static let spec = CommandSpec(
        name: "requeue", arguments: "SEQ…", argumentCount: 1...argumentLimit,
        summary: "send dead letters again",
        detail:
            "They go to the queue's end, as new events. `holdgate dead-letters requeue --all` takes all there are.",
        flags: [.control],
        examples: ["holdgate requeue 17 18"],
        exitStatus: "1 as well when not all could be queued again."
    ) { invocation in
        try run(seqs(invocation.arguments), invocation)
    }

    static let argumentLimit = 100_000

    static func seqs(_ arguments: [String]) throws -> [UInt64] {
        try arguments.map { text in
            guard let seq = UInt64(text), seq > 0 else {
                throw UsageError(
                    "\(text) is no seq: a whole number from 1, as `holdgate dead-letters` lists them")
            }
            return seq
        }
    }

    /// What became of them so far.
    private struct Progress {
        var requeued: UInt64 = 0
        /// No dead letters, or none any more.
        var missing = 0
        /// In order; those of the command under way are still among them.
        var left: ArraySlice<UInt64>
    }

    /// Returns the exit status.
    static func run(_ seqs: [UInt64], _ invocation: Invocation) throws -> Int32 {
        var progress = Progress(left: Set(seqs).sorted()[...])
        while !progress.left.isEmpty {
            let chunk = Array(progress.left.prefix(WireBounds.requeueCount))
            do throws(HoldgateError) {
                progress.missing += chunk.count - (try requeue(chunk, invocation, &progress))
            } catch {
                return stopped(progress, by: error, invocation)
            }
            progress.left = progress.left.dropFirst(chunk.count)
        }
        return report(progress, invocation)
    }

    /// Sends some until all of them are in the queue, or no dead letters: the host takes as many as one block holds.
    /// - Returns: how many were letters.
    private static func requeue(
        _ chunk: [UInt64], _ invocation: Invocation, _ progress: inout Progress
    ) throws(HoldgateError) -> Int {
        var taken: UInt64 = 0
        while taken < chunk.count {
            do throws(HoldgateError) {
                let count = try ask(chunk, invocation)
                guard count > 0 else { break }
                taken += count
                progress.requeued += count
            } catch {
                // So it answers when none of them is a letter: the rest of these are gone.
                guard error.code == .invalidArgument, error.reply != nil else { throw error }
                break
            }
        }
        return min(Int(taken), chunk.count)
    }

    private static func ask(_ chunk: [UInt64], _ invocation: Invocation) throws(HoldgateError) -> UInt64 {
        let answer: Answer
        do {
            answer = try invocation.ask(.requeue(seqs: chunk))
        } catch let error as HoldgateError {
            throw error
        } catch {
            throw HoldgateError(.invalidArgument, (error as? UsageError)?.message ?? "\(error)")
        }
        return answer.value["requeued"]?.asUInt64 ?? 0
    }

    private static func report(_ progress: Progress, _ invocation: Invocation) -> Int32 {
        // Of nothing at all that was asked for.
        let isOK = progress.requeued > 0
        if invocation.isJSON {
            Report.json(json(progress, isOK: isOK, nil), invocation.console)
        } else if !isOK {
            invocation.console.err(
                "holdgate \(invocation.title): none of these is a dead letter; `holdgate dead-letters` lists them\n"
            )
        } else {
            let missing = progress.missing == 0 ? "" : "; \(progress.missing) of the seqs are no dead letters"
            invocation.console.out("\(Report.events(progress.requeued)) queued again\(missing)\n")
        }
        return isOK ? 0 : 1
    }

    /// It went wrong on the way; says what is done and what is not.
    private static func stopped(
        _ progress: Progress, by error: HoldgateError, _ invocation: Invocation
    ) -> Int32 {
        guard progress.requeued > 0 || progress.missing > 0 else {
            return Report.failure(
                error, of: invocation.spec, isJSON: invocation.isJSON, invocation.console)
        }
        if invocation.isJSON {
            Report.json(json(progress, isOK: false, error), invocation.console)
        } else {
            let first = progress.left.first.map { "from seq \($0) on" } ?? ""
            invocation.console.err(
                """
                holdgate \(invocation.title): \(error.message)
                \(Report.events(progress.requeued)) queued again. Not known to be: \(progress.left.count), \(first). \
                Those that are still listed by `holdgate dead-letters` can be sent again.

                """)
        }
        return error.code == .noAnswer ? 3 : 1
    }

    private static func json(_ progress: Progress, isOK: Bool, _ error: HoldgateError?) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("ok", isOK)
        writer.member("requeued", progress.requeued)
        writer.member("missing", progress.missing)
        writer.member("left", progress.left.count)
        if let first = progress.left.first { writer.member("leftFrom", first) }
        if let error {
            writer.name("error")
            WireError(error.code, error.message, retryable: error.retryable).write(into: &writer)
        }
        writer.endObject()
        return writer.text
    }
}
